# SPDX-License-Identifier: Apache-2.0
"""A Linux kernel client: random I/O on one file, and folders with thousands of names."""
import os
import secrets

import pytest

LIMIT_S = 240


def random_io(volume, guest, operations, options=""):
    _, name = volume.scratch("random")
    seed = secrets.randbits(48)
    print(guest.launch_mounted(volume.server, volume.export,
                               f"fsx_like '{name}/file' -s {seed} -n {operations}",
                               options).succeed(LIMIT_S))


@pytest.mark.one_volume
def test_20000_random_operations(volume, guest):
    random_io(volume, guest, 20000)


def test_2000_random_operations_in_small_transfers(volume, guest):
    """rsize and wsize that no page or file boundary agrees with."""
    random_io(volume, guest, 2000, "rsize=4096,wsize=4096,actimeo=0")


@pytest.mark.one_volume
def test_random_operations_written_through(volume, guest):
    """-o sync: every write is FILE_SYNC; nconnect: over several connections."""
    random_io(volume, guest, 2000, "sync,nconnect=4")


def test_directory_storm(volume, guest):
    path, name = volume.scratch("storm")
    job = guest.launch_mounted(volume.server, volume.export,
                               f"cd '{name}'\npython3 $GUEST/guest_storm.py 1500")
    assert "all as expected" in job.succeed(LIMIT_S)
    assert os.listdir(path) == []


def test_times_modes_and_links(volume, guest):
    """What a client sets is what the host sees."""
    path, name = volume.scratch("attributes")
    guest.launch_mounted(volume.server, volume.export, f"""
        cd '{name}'
        umask 022
        echo content > file
        chmod 2741 file
        chown 1234:4321 file
        chmod 2741 file
        touch -d '2001-02-03 04:05:06.789' file
        ln file second-name
        ln -s '/some where/else' link
        mkfifo pipe
        mknod device c 1 3
        mkdir -m 1777 folder
        [ "$(cat file)" = content ]
        """).succeed(LIMIT_S)
    status = os.stat(os.path.join(path, "file"))
    assert oct(status.st_mode) == oct(0o102741)
    assert (status.st_uid, status.st_gid) == (1234, 4321)
    assert status.st_mtime_ns // 1_000_000 == 981173106789
    assert status.st_nlink == 2
    assert os.readlink(os.path.join(path, "link")) == "/some where/else"
    assert oct(os.stat(os.path.join(path, "pipe")).st_mode) == oct(0o010644)
    assert os.stat(os.path.join(path, "device")).st_rdev == os.makedev(1, 3)
    assert oct(os.stat(os.path.join(path, "folder")).st_mode) == oct(0o041777)


def test_open_file_survives_unlink(volume, guest):
    """The client renames an open file that is unlinked to .nfs...; it goes at the last close."""
    path, name = volume.scratch("unlinked")
    guest.launch_mounted(volume.server, volume.export, f"""
        cd '{name}'
        exec 5<>open
        echo before >&5
        rm open
        [ ! -e open ]
        echo after >&5
        [ "$(cat /proc/self/fd/5)" = "$(printf 'before\\nafter')" ]
        ls -a | grep -q '^[.]nfs'
        exec 5>&-
        """).succeed(LIMIT_S)
    assert os.listdir(path) == []
