#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""freeze.py NFSD PORT OUTER OTHER [SECONDS] - a file system whose disk does not answer (it is an
image on OUTER, which is frozen, for so long at least) holds up its own calls and nobody else's;
once the disk answers they are all carried out."""
import os
import subprocess
import sys
import time

from faults import Server, check, nfs3

CALLS, ROUNDS, CLIENTS = 100, 20, 4


def longest(actions):
    """The longest of some rounds of calls, in seconds."""
    worst = 0
    for number in range(ROUNDS):
        began = time.monotonic()
        actions(number)
        worst = max(worst, time.monotonic() - began)
    return worst


def mount_image(outer):
    image, inner = os.path.join(outer, "image"), os.path.join(outer, "inner")
    os.makedirs(inner)
    with open(image, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 320 << 20)
    # Not ext4: its journal holds up writes of other files while it waits for the disk.
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, inner], check=True)
    return inner


def beside(server, roots, others, lock):
    """While the first export's disk does not answer."""
    worst = longest(lambda n: others[n % CLIENTS].create(roots[1], b"new-%d" % n).ok())
    check(worst < 2, "names are made on another file system meanwhile", "%.2f s" % worst)
    worst = longest(lambda n: others[n % CLIENTS].getattr(roots[0]).ok())
    check(worst < 0.5, "the stuck one's heartbeat is answered", "%.3f s" % worst)
    worst = longest(lambda n: others[n % CLIENTS].write(lock, 0, b"l" * 84, nfs3.FILE_SYNC).ok())
    check(worst < 2, "a lock on another one is refreshed", "%.2f s" % worst)


def main():
    program, port, outer, other = sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]
    seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    exports = [mount_image(outer), os.path.join(other, "freeze")]
    os.makedirs(exports[1])
    server = Server(program, port, ["%s *(rw,no_root_squash)" % path for path in exports]).start()
    roots = [server.mount(path).ok().fh for path in exports]
    held, *others = (server.nfs() for _ in range(1 + CLIENTS))  # some share the first's worker
    lock = held.new_file(roots[1], b"lock")
    files = [held.new_file(roots[0], b"written-%d" % i) for i in range(CALLS)]
    subprocess.run(["fsfreeze", "--freeze", outer], check=True)
    try:
        waiting = [held.start("WRITE", file=file, offset=0, data=bytes(4096)) for file in files]
        waiting += [held.start("CREATE", dir=roots[0], name=b"held-%d" % i) for i in range(CALLS)]
        time.sleep(0.5)
        began = time.monotonic()
        beside(server, roots, others, lock)
        while time.monotonic() < began + seconds:
            beside(server, roots, others, lock)
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", outer], check=True)
    for call in waiting:
        held.wait(call).ok()
    check(True, "and once its disk answers all calls are carried out")
    check(server.stop()[1] == 0, "it ends well")
    subprocess.run(["umount", exports[0]], check=True)


main()
