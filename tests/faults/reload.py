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


def program_reload(server, lines, status=0):
    """What `lodestore reload` prints for these exports."""
    program = os.path.join(os.path.dirname(server.program), "..", "offload", "cli", "lodestore")
    server.write(lines)
    done = subprocess.run([program, "reload", "--status-socket", server.status], timeout=60,
                          capture_output=True, text=True, check=False)
    check(done.returncode == status, "lodestore reload ends with %d" % status, str(done))
    return done.stdout


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    a, b, c = (os.path.join(top, name) for name in "abc")
    for folder in (a, b, c):
        os.makedirs(folder, exist_ok=True)
    stay, go = "%s *(rw,no_root_squash)" % a, "%s *(rw,no_root_squash)" % b
    late = "%s *(rw,no_root_squash,mountpoint)" % c
    server = Server(program, port, [stay, go])
    server.config = os.path.join(server.folder, "conf")
    open(server.config, "w").close()
    server.more = ["--config", server.config]
    server.start()
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
    program_reload(server, [stay, "%s *(rw,no_root_sqaush)" % b], status=1)
    told = program_reload(server, [stay.replace("rw", "ro"), go, "%s *(ro)" % c])
    check(told == "changed      %s\nadded        %s\n" % (a, c),
          "lodestore reload tells what changed", told)
    check(program_reload(server, [stay.replace("rw", "ro"), go]) == "removed      %s\n" % c,
          "and what went")
    with open(server.config, "w") as config:
        config.write("[nfsd]\nworkers = 3\n[offload]\ncopy_jobs = 3\n")
    told = program_reload(server, [stay.replace("rw", "ro"), go])
    check("as they were" in told and "nfsd.workers: it counts after" in told and
          "restart lodestore-nfsd lodestore-offloadd" in told,
          "and which settings wait for a restart", told)
    with open(server.config, "w") as config:
        config.write("[nfsd]\nwrokers = 3\n")
    program_reload(server, [stay.replace("rw", "ro"), go], status=1)
    check("conf:2: " in server.log_text() and "workers" in server.log_text(),
          "a mistake in the settings is told with its line")
    open(server.config, "w").close()
    nfs.getattr(root_b).ok()
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
