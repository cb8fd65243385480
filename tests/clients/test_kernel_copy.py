# SPDX-License-Identifier: Apache-2.0
"""A Linux kernel client copies trees and large files in and out; the host compares them."""
import os
import shutil
import time

import pytest

import content
import sandbox

COPY_S = 400  # so long only on a machine with much else to do
KILLS = 3
SPARSE_AROUND_BYTES = 1 << 20


def copied_out(guest, tree, folder_times=True):
    """What differs from the tree in the archive that the guest has made of its copy."""
    target = sandbox.folder("content", "out")
    sandbox.command(["tar", "-xpf", guest.path("out.tar"), "-C", target])
    os.unlink(guest.path("out.tar"))
    differences = content.tree_differences(tree, os.path.join(target, "in"), folder_times)
    shutil.rmtree(target)
    return differences[:10]


def test_tree_in_and_out(volume, guest, tree):
    path, name = volume.scratch("tree")
    guest.launch_mounted(volume.server, volume.export,
                         f"cp -a {tree} '{name}/in'").succeed(COPY_S)
    assert not content.tree_differences(tree, os.path.join(path, "in"))[:10]

    # A new mount knows nothing of what was written, so this reads it all from the server.
    guest.launch_mounted(volume.server, volume.export,
                         f"tar -C '{name}' -cf $GUEST/out.tar in").succeed(COPY_S)
    assert not copied_out(guest, tree)

    guest.launch_mounted(volume.server, volume.export, f"rm -r '{name}/in'").succeed(COPY_S)
    assert os.listdir(path) == []


@pytest.mark.one_volume
def test_sparse_file_of_4_gib(volume, guest):
    path, name = volume.scratch("sparse")
    folder = sandbox.folder("content")
    source, stored = os.path.join(folder, "sparse"), os.path.join(path, "in")
    content.make_sparse(source)
    # Into the guest as an archive that knows the holes: the folder shared with it shows none.
    sandbox.command(["tar", "-C", folder, "--sparse", "-cf", guest.path("sparse.tar"), "sparse"])
    guest.launch_mounted(volume.server, volume.export, f"""
        tar -C /tmp -xf $GUEST/sparse.tar
        cp --sparse=always /tmp/sparse '{name}/in'
        rm /tmp/sparse $GUEST/sparse.tar
        """).succeed(COPY_S)
    assert content.first_difference(source, stored) is None
    assert os.stat(stored).st_blocks * 512 < content.SPARSE_BYTES // 4, "holes were filled"

    # Out come the data and what lies around it: user-mode Linux takes minutes for 4 GiB of zeros.
    with open(guest.path("ranges"), "w", encoding="ascii") as ranges:
        ranges.writelines(f"{offset} {length}\n" for offset, length in
                          content.data_ranges(source, SPARSE_AROUND_BYTES))
    guest.launch_mounted(
        volume.server, volume.export,
        f"python3 $GUEST/guest_copy_ranges.py $GUEST/ranges '{name}/in' $GUEST/out"
    ).succeed(COPY_S)
    difference = content.first_difference(source, guest.path("out"))
    for file in (guest.path("out"), stored, source):
        os.unlink(file)
    assert difference is None


def test_tree_copy_survives_kill_9(volume, guest, tree):
    """A hard mount waits for the server to come back, and every handle is still good.

    The folders and symbolic links are there before: an MKDIR or SYMLINK whose reply was lost is
    sent again, and who has forgotten the first one must answer NFS3ERR_EXIST (RFC 1813 section
    4.9). Files are created EXCLUSIVE, which is made for this (section 3.3.8).
    """
    path, name = volume.scratch("killed")
    server = volume.server
    job = guest.launch_mounted(server, volume.export, f"""
        mkdir '{name}/in'
        cd {tree}
        find . ! -type f -print0 | tar --null --no-recursion -T - -cf - |
            tar -C $MNT/'{name}/in' -xf -
        : > $GUEST/folders-made
        find . -type f -print0 | xargs -0 cp -a --parents -t $MNT/'{name}/in'
        tar -C $MNT/'{name}' -cf $GUEST/out.tar in
        """)
    sandbox.wait_for(lambda: job.finished() or os.path.exists(guest.path("folders-made")), COPY_S,
                     "the folders are made")
    for kill in range(1, KILLS + 1):
        share = files_in(tree) * kill // (KILLS + 1)
        sandbox.wait_for(lambda: job.finished() or files_in(path) >= share, COPY_S,
                         f"{share} files are copied", pause=0.15)
        assert not job.finished(), f"the copy ended before kill {kill}:\n{job.output()}"
        server.kill()
        time.sleep(0.3)
        server.start()
    job.succeed(COPY_S)
    assert not content.tree_differences(tree, os.path.join(path, "in"), folder_times=False)[:10]
    assert not copied_out(guest, tree, folder_times=False)
    os.unlink(guest.path("folders-made"))


def files_in(path):
    return sum(len(files) for _, _, files in os.walk(path))
