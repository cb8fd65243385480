# SPDX-License-Identifier: Apache-2.0
"""A Linux kernel client copies trees and large files in and out; the host compares them."""
import os
import shutil
import time

import pytest

import content
import sandbox

COPY_S = 240
KILLS = 3


def copied_out(guest, tree):
    """What differs from the tree in the archive that the guest has made of its copy."""
    target = sandbox.folder("content", "out")
    sandbox.command(["tar", "-xpf", guest.path("out.tar"), "-C", target])
    os.unlink(guest.path("out.tar"))
    differences = content.tree_differences(tree, os.path.join(target, "in"))
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
    source = os.path.join(sandbox.folder("content"), "sparse")
    content.make_sparse(source)
    guest.launch_mounted(volume.server, volume.export,
                         f"cp --sparse=always {source} '{name}/in'").succeed(COPY_S)
    stored = os.path.join(path, "in")
    assert content.first_difference(source, stored) is None
    assert os.stat(stored).st_blocks * 512 < content.SPARSE_BYTES // 4, "holes were filled"

    job = guest.launch_mounted(volume.server, volume.export,
                               f"cp --sparse=always '{name}/in' $GUEST/out")
    job.succeed(COPY_S)
    difference = content.first_difference(source, guest.path("out"))
    for file in (guest.path("out"), stored, source):
        os.unlink(file)
    assert difference is None


def test_tree_copy_survives_kill_9(volume, guest, tree):
    """A hard mount waits for the server to come back, and every handle is still good."""
    path, name = volume.scratch("killed")
    server = volume.server
    job = guest.launch_mounted(server, volume.export, f"cp -a {tree} '{name}/in'\n"
                               f"tar -C '{name}' -cf $GUEST/out.tar in")
    folders_in_tree = sum(1 for _ in os.walk(tree))
    for kill in range(1, KILLS + 1):
        share = folders_in_tree * kill // (KILLS + 1)
        sandbox.wait_for(lambda: job.finished() or sum(1 for _ in os.walk(path)) >= share, COPY_S,
                         f"{share} folders are copied")
        assert not job.finished(), f"the copy ended before kill {kill}:\n{job.output()}"
        server.kill()
        time.sleep(0.3)
        server.start()
    job.succeed(COPY_S)
    assert not content.tree_differences(tree, os.path.join(path, "in"))[:10]
    assert not copied_out(guest, tree)
