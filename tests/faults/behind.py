#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""behind.py NFSD PORT DIR CLOCK - files and directories are removed on the server itself, behind
its back: what is named in a removed directory is STALE, and the sweep lets go of what is gone, also
when the clock is set back. CLOCK is a library that does that to the server's clock."""
import os
import sys
import time

from faults import Server, check, nfs3

TRIES = 5
SWEEP_S_MAX = 10  # SWEEP_INTERVAL_S of nfsd/main.c is 2


def held(server, path):
    """Does the server hold a removed file or directory open?"""
    for name in os.listdir("/proc/%d/fd" % server.process.pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (server.process.pid, name)) == path + " (deleted)":
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


def in_a_removed_directory(server, nfs, root, export, call):
    """The reply, and whether the server still held the directory when it was asked."""
    gone = nfs.new_dir(root, b"gone")
    nfs.new_file(gone, b"name")  # so that it is open for changes
    nfs.remove(gone, b"name").ok()
    path = os.path.join(export, "gone")
    os.rmdir(path)
    was_held = held(server, path)
    return call(gone), was_held


def names_in_a_removed_directory(server, export):
    nfs = server.nfs()
    root = server.mount(export).ok().fh
    calls = {
        "LOOKUP": lambda gone: nfs.lookup(gone, b"name"),
        "LOOKUP of ..": lambda gone: nfs.lookup(gone, b".."),
        "CREATE": lambda gone: nfs.create(gone, b"name", nfs3.GUARDED),
        "CREATE EXCLUSIVE": lambda gone: nfs.create_exclusive(gone, b"name", b"verifier"),
        "MKDIR": lambda gone: nfs.mkdir(gone, b"name"),
        "SYMLINK": lambda gone: nfs.symlink(gone, b"name", b"target"),
        "REMOVE": lambda gone: nfs.remove(gone, b"name"),
        "RMDIR": lambda gone: nfs.rmdir(gone, b"name"),
        "RENAME": lambda gone: nfs.rename(gone, b"name", root, b"name"),
    }
    for name, call in calls.items():
        for _ in range(TRIES):  # a sweep may come between
            reply, was_held = in_a_removed_directory(server, nfs, root, export, call)
            reply.fails(nfs3.NFS3ERR_STALE)
            if was_held:
                break
        check(was_held, "%s in a removed directory that is still held is STALE" % name)


def swept(server, export):
    """A removed file is let go of; gives the seconds it took."""
    nfs = server.nfs()
    path = os.path.join(export, "removed")
    nfs.new_file(server.mount(export).ok().fh, b"removed", b"data")
    os.unlink(path)
    begin = time.monotonic()
    check(held(server, path), "a file that was removed behind the server's back is held at first")
    while held(server, path) and time.monotonic() < begin + 2 * SWEEP_S_MAX:
        time.sleep(0.1)
    return time.monotonic() - begin


def main():
    program, port, export, clock = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    server = Server(program, port, ["%s *(rw,no_root_squash)" % export],
                    ["env", "LD_PRELOAD=" + clock]).start()
    names_in_a_removed_directory(server, export)
    seconds = swept(server, export)
    check(seconds < SWEEP_S_MAX, "and let go of within %d s though the clock was set back"
          % SWEEP_S_MAX, "%.1f s" % seconds)
    check(server.stop()[1] == 0, "it ends well")


main()
