#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stop_under_load.py NFSD PORT EXPORT - SIGTERM while clients write: it ends within 5 s, every call
that was carried out is answered, and what was acknowledged is there afterwards."""
import sys
import threading
import time

from faults import Server, check, nfs3, rpc

CLIENTS, DEPTH, BLOCK = 4, 16, 4096


def pump(server, handle, acknowledged, lost):
    """Keep DEPTH stable writes in flight; note which blocks were acknowledged."""
    nfs = server.nfs()
    waiting, number = [], 0
    try:
        while True:
            while len(waiting) < DEPTH:
                data = b"%08d" % number * (BLOCK // 8)
                waiting.append((number, nfs.start("WRITE", file=handle, offset=number * BLOCK,
                                                  data=data, stable=nfs3.FILE_SYNC)))
                number += 1
            block, call = waiting.pop(0)
            nfs.wait(call).ok()
            acknowledged.append(block)
    except rpc.ConnectionLost as gone:
        lost.append(str(gone))


def main():
    program, port, export = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    server = Server(program, port, ["%s *(rw,no_root_squash)" % export]).start()
    root = server.mount(export).ok().fh
    nfs = server.nfs()
    handles = [nfs.new_file(root, b"stop-%d" % i) for i in range(CLIENTS)]
    acknowledged, lost = [[] for _ in handles], []
    threads = [threading.Thread(target=pump, args=(server, handle, done, lost))
               for handle, done in zip(handles, acknowledged)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    seconds, status = server.stop()
    for thread in threads:
        thread.join(10)
    check(seconds < 5, "under load it ends within 5 s of SIGTERM", "%.1f s" % seconds)
    check(status == 0, "with status 0", str(status))
    check(all(acknowledged), "every client had writes acknowledged before")
    check(len(lost) == CLIENTS and not any("reset" in text for text in lost),
          "every connection was closed, none reset", str(lost))

    server.start()
    nfs = server.nfs()
    for handle, blocks in zip(handles, acknowledged):
        for block in blocks:
            data = nfs.read(handle, block * BLOCK, BLOCK).ok().data
            if data != b"%08d" % block * (BLOCK // 8):
                check(False, "acknowledged block %d is there" % block)
    check(True, "%d acknowledged blocks are there after the restart"
          % sum(len(blocks) for blocks in acknowledged))
    check(server.stop()[1] == 0, "it ends well")


main()
