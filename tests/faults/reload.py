#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reload.py NFSD PORT DIR - SIGHUP while a client works: other exports are not disturbed, a removed
one is stale, a bad file changes nothing, a mount point that was empty is served once it is not."""
import os
import subprocess
import sys
import threading

from faults import Server, check, nfs3


def pump(server, handle, stop, counts):
    nfs = server.nfs()
    while not stop.is_set():
        reply = nfs.write(handle, 0, b"x" * 4096, nfs3.UNSTABLE)
        counts[reply.status] = counts.get(reply.status, 0) + 1


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    a, b, c = (os.path.join(top, name) for name in "abc")
    for folder in (a, b, c):
        os.makedirs(folder, exist_ok=True)
    stay, go = "%s *(rw,no_root_squash)" % a, "%s *(rw,no_root_squash)" % b
    late = "%s *(rw,no_root_squash,mountpoint)" % c
    server = Server(program, port, [stay, go]).start()
    root_a, root_b = server.mount(a).ok().fh, server.mount(b).ok().fh
    nfs = server.nfs()
    handle = nfs.new_file(root_a, b"busy")
    stop, counts = threading.Event(), {}
    thread = threading.Thread(target=pump, args=(server, handle, stop, counts))
    thread.start()

    for _ in range(5):
        server.reload([stay], "serving 1 export")
        nfs.getattr(root_b).fails(nfs3.NFS3ERR_STALE)
        server.reload([stay, go], "serving 2 exports")
        nfs.getattr(root_b).ok()
    check(True, "a removed export is stale, and valid again when it comes back")
    server.reload([stay, "%s *(rw,no_root_sqaush)" % b], "stay as they were")
    check("%s:2:" % server.exports in server.log_text() and "no_root_squash" in server.log_text(),
          "a bad file is told with its line and what to write")
    nfs.getattr(root_b).ok()
    check(True, "and changes nothing")
    server.reload([stay.replace("rw", "ro"), go], "serving 2 exports")
    nfs.write(handle, 0, b"y", nfs3.UNSTABLE).fails(nfs3.NFS3ERR_ROFS)
    check(True, "options count from the reload on, for open connections too")

    server.reload([stay, go, late], "2 of 3 exports")
    server.mount(c).fails(2)
    check("nothing is mounted on" in server.log_text(), "an empty mount point is refused, and why")
    subprocess.run(["mount", "-t", "tmpfs", "late", c], check=True)
    root_c = server.mount(c).ok().fh
    nfs.new_file(root_c, b"x")
    check(os.path.exists(os.path.join(c, "x")), "it is served once something is mounted there")

    stop.set()
    thread.join(10)
    counts.pop(nfs3.NFS3ERR_ROFS, None)
    check(set(counts) == {nfs3.NFS3_OK}, "the client beside it never heard of it", str(counts))
    check(server.stop()[1] == 0, "it ends well")


main()
