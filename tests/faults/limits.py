#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py NFSD PORT DIR - iops=, mbps= and their total_ kind hold, over several connections and
workers, while others are not slowed; calls that wait for their turn do not outlive their
connection, hold up a stop, or miss a reload."""
import os
import sys
import threading
import time

from faults import CRED, Server, check, nfs3, rpc

SECONDS, CONNECTIONS, DEPTH = 3, 4, 8
LIMITED, OTHER = "127.0.0.2", "127.0.0.3"
REST = "127.0.0.0/8(rw,no_root_squash)"


class Client:
    """One address' connections, each with calls kept in flight."""

    def __init__(self, server, address):
        self.server, self.address = server, address

    def nfs(self):
        return nfs3.Nfs3(rpc.TcpConnection("127.0.0.1", self.server.port, timeout=30,
                                           source_address=self.address), CRED)

    def _pump(self, until, start, waits):
        nfs = self.nfs()
        waiting = []
        while True:
            while len(waiting) < DEPTH:
                waiting.append((time.monotonic(), start(nfs)))
            began, call = waiting.pop(0)
            nfs.wait(call).ok()
            if time.monotonic() >= until:
                break
            waits.append(time.monotonic() - began)
        nfs.connection.close()

    def pump(self, start, seconds=SECONDS, connections=CONNECTIONS):
        """In the background; the list of waits is complete once done() was called."""
        self.waits = []
        until = time.monotonic() + seconds
        self.threads = [threading.Thread(target=self._pump, args=(until, start, self.waits))
                        for _ in range(connections)]
        for thread in self.threads:
            thread.start()
        return self

    def done(self):
        for thread in self.threads:
            thread.join(60)
        return len(self.waits)


def reading(handle, count=4096):
    return lambda nfs: nfs.start("READ", file=handle, offset=0, count=count)


def near(count, expected):
    return abs(count - expected) <= expected / 10


def check_iops(server, handle):
    limited, other = Client(server, LIMITED), Client(server, OTHER)
    alone = other.pump(reading(handle), 1, 1).done()
    limited.pump(reading(handle))
    other.pump(reading(handle), SECONDS, 1)
    time.sleep(0.5)
    nfs, worst = limited.nfs(), 0
    for _ in range(10):
        began = time.monotonic()
        nfs.getattr(handle).ok()
        nfs.write(handle, 0, b"l" * 84, nfs3.FILE_SYNC).ok()
        worst = max(worst, time.monotonic() - began)
    count, beside = limited.done(), other.done()
    check(near(count, 100 * SECONDS),
          "iops=100: 100 reads a second within a tenth, by four connections",
          "%d in %d s" % (count, SECONDS))
    check(worst < 0.5, "a heartbeat and a lock file's refresh do not wait", "%.3f s" % worst)
    check(beside / SECONDS > alone / 3 and max(other.waits) < 1,
          "an unlimited client is not slowed",
          "%d/s beside, %d/s alone, longest %.3f s" % (beside / SECONDS, alone, max(other.waits)))


def check_same_connection(server, handle):
    nfs = Client(server, LIMITED).nfs()
    waiting = [nfs.start("READ", file=handle, offset=0, count=4096) for _ in range(100)]
    began = time.monotonic()
    nfs.getattr(handle).ok()
    seconds = time.monotonic() - began
    check(seconds < 0.4, "nor do they behind calls of the same connection", "%.3f s" % seconds)
    for call in waiting:
        nfs.wait(call).ok()


def check_mbps(server, handle):
    block = b"m" * (64 << 10)
    count = Client(server, LIMITED).pump(
        lambda nfs: nfs.start("WRITE", file=handle, offset=0, data=block,
                              stable=nfs3.UNSTABLE)).done()
    check(near(count, 4 * 16 * SECONDS), "mbps=4: 4 MiB written a second within a tenth",
          "%d blocks of 64 KiB in %d s" % (count, SECONDS))


def check_total(server, handle):
    clients = [Client(server, LIMITED), Client(server, OTHER)]
    for client in clients:
        client.pump(reading(handle))
    counts = [client.done() for client in clients]
    check(near(sum(counts), 100 * SECONDS), "total_iops=100: two clients read 100 times a second",
          str(counts))
    check(min(counts) > 100 * SECONDS / 3, "and each gets its share", str(counts))


def check_lost(server, handle):
    nfs = Client(server, LIMITED).nfs()
    for _ in range(200):
        nfs.start("READ", file=handle, offset=0, count=4096)
    time.sleep(0.3)
    nfs.connection.close()
    time.sleep(0.3)
    began = time.monotonic()
    Client(server, LIMITED).nfs().read(handle, 0, 4096).ok()
    seconds = time.monotonic() - began
    check(seconds < 2, "calls that waited on a lost connection are not carried out",
          "the next one waits %.1f s" % seconds)


def check_reload(server, handle, export):
    nfs = Client(server, LIMITED).nfs()
    waiting = [nfs.start("READ", file=handle, offset=0, count=4096) for _ in range(100)]
    time.sleep(0.3)
    server.reload(["%s %s(rw,iops=1e6)" % (export, LIMITED)], "stay as they were")
    check("%s:1: '1e6' is no limit for iops" % server.exports in server.log_text(),
          "a bad limit is told with file, line and what to write")
    began = time.monotonic()
    server.reload(["%s %s" % (export, REST)], "serving 1 export")
    for call in waiting:
        nfs.wait(call).ok()
    check(time.monotonic() - began < 2, "a reload without the limit lets everything go at once",
          "%.1f s" % (time.monotonic() - began))


def check_stop(server, handle):
    nfs = Client(server, LIMITED).nfs()
    waiting = [nfs.start("READ", file=handle, offset=0, count=4096) for _ in range(100)]
    time.sleep(0.3)
    seconds, status = server.stop()
    check(seconds < 4 and status == 0, "calls that wait do not hold up a stop",
          "%.1f s, status %d" % (seconds, status))
    answers = [nfs.wait(call).status for call in waiting]
    check(set(answers) == {nfs3.NFS3_OK, nfs3.NFS3ERR_JUKEBOX} and answers.count(0) < 20,
          "and are told to try again", str({status: answers.count(status) for status in answers}))


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    export = os.path.join(top, "limits")
    os.makedirs(export, exist_ok=True)

    def lines(options):
        return ["%s %s(rw,no_root_squash,%s) %s" % (export, LIMITED, options, REST)]

    server = Server(program, port, lines("iops=100")).start()
    root = server.mount(export).ok().fh
    handle = server.nfs().new_file(root, b"data")
    server.nfs().write(handle, 0, bytes(8192)).ok()
    check_iops(server, handle)
    check_same_connection(server, handle)
    server.reload(lines("mbps=4"), "serving 1 export")
    check_mbps(server, handle)
    server.reload(lines("total_iops=100"), "serving 1 export")
    check_total(server, handle)
    server.reload(lines("iops=5"), "serving 1 export")
    check_lost(server, handle)
    check_reload(server, handle, export)
    server.reload(lines("iops=5"), "serving 1 export")
    check_stop(server, handle)


main()
