# SPDX-License-Identifier: Apache-2.0
"""The tools of libnfs, a client in user space with an XDR of its own."""
import os
import random

import pytest

import content
import sandbox

SIZES = (0, 1, 4095, 4096, 4097, 1 << 20, (9 << 20) + 17)


def url(volume, path=""):
    server = volume.server
    return (f"nfs://{sandbox.ADDRESS}{volume.export}{path}"
            f"?nfsport={server.nfs_port}&mountport={server.mount_port}&uid=0&gid=0")


@pytest.mark.parametrize("size_bytes", SIZES)
def test_nfs_cp_in_and_out(volume, run_client, size_bytes):
    path, name = volume.scratch("cp")
    source = os.path.join(sandbox.folder("content"), f"random-{size_bytes}")
    with open(source, "wb") as out:
        out.write(random.Random(size_bytes).randbytes(size_bytes))
    run_client("nfs-cp", source, url(volume, f"/{name}/in"))
    assert content.first_difference(source, os.path.join(path, "in")) is None
    back = source + ".back"
    run_client("nfs-cp", url(volume, f"/{name}/in"), back)
    assert content.first_difference(source, back) is None
    os.unlink(back)


def test_nfs_cat(volume, run_client):
    path, name = volume.scratch("cat")
    data = random.Random(7).randbytes(300_001)
    with open(os.path.join(path, "file"), "wb") as out:
        out.write(data)
    assert run_client("nfs-cat", url(volume, f"/{name}/file"), text=False) == data


def test_nfs_ls(volume, run_client):
    """Type, mode, links, owner, size and name of each entry, and all of 700 names."""
    path, name = volume.scratch("ls")
    for number in range(700):
        with open(os.path.join(path, f"file-{number:03d}"), "wb") as out:
            out.write(b"x" * number)
    os.mkdir(os.path.join(path, "folder"), 0o750)
    os.symlink("file-000", os.path.join(path, "link"))
    os.chmod(os.path.join(path, "file-007"), 0o4711)
    os.chown(os.path.join(path, "file-008"), 1001, 1002)
    lines = {line.split()[-1]: line.split()
             for line in run_client("nfs-ls", url(volume, f"/{name}")).splitlines()}
    files = {entry for entry in lines if entry.startswith("file-")}
    assert files == {f"file-{number:03d}" for number in range(700)}
    assert [int(lines[entry][4]) for entry in sorted(files)] == list(range(700))
    assert lines["folder"][0].startswith("drwxr-x---")
    assert lines["link"][0].startswith("l")
    assert lines["file-008"][2:4] == ["1001", "1002"]


def test_nfs_ls_recursive(volume, run_client):
    path, name = volume.scratch("recursive")
    os.makedirs(os.path.join(path, "one/two/three"))
    with open(os.path.join(path, "one/two/three/leaf"), "wb"):
        pass
    listed = run_client("nfs-ls", "-R", url(volume, f"/{name}"))
    for entry in ("one", "two", "three", "leaf"):
        assert entry in listed


def test_missing_file_is_refused(volume, run_client):
    _, name = volume.scratch("missing")
    with pytest.raises(AssertionError, match="status"):
        run_client("nfs-cat", url(volume, f"/{name}/nothing"))
