#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""upgrade_client.py HOST EXPORT - a client with a file open, which reads and writes by its handle
until standard input says something; a connection that ends is made again.

It says "working" once it is. Exit status 0: no call had an error, no block was lost, and calls were
answered by a server started after "working" (its write verifier is another).
"""
import os
import select
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import mount3  # noqa: E402
import nfs3  # noqa: E402
import rpc  # noqa: E402

CRED = rpc.auth_sys(0, 0, ())
BLOCK_BYTES = 4096
BLOCKS = 256
PATIENCE_S = 60


def connect(host):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return nfs3.Nfs3(rpc.TcpConnection(host, 2049), CRED)
        except rpc.ConnectionLost:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def turn(nfs, handle, number):
    """A block written and read back; the server's write verifier."""
    block = number.to_bytes(8, "big") * (BLOCK_BYTES // 8)
    offset = number % BLOCKS * BLOCK_BYTES
    written = nfs.write(handle, offset, block, nfs3.FILE_SYNC).ok()
    read = nfs.read(handle, offset, BLOCK_BYTES).ok()
    if read.data != block:
        sys.exit("block %d is not what was written" % number)
    return written.verf


def main():
    host, export = sys.argv[1], sys.argv[2]
    mount = mount3.Mount(rpc.TcpConnection(host, 2049), CRED)
    nfs = connect(host)
    handle = nfs.new_file(mount.mnt(export.encode()).ok().fh, b"upgrade.vmdk")
    verifiers = {turn(nfs, handle, 0)}
    print("working", flush=True)
    number, last = 1, 0
    while number < last + BLOCKS or not last:
        if not last and select.select([sys.stdin], [], [], 0)[0]:
            last = number
        try:
            verifiers.add(turn(nfs, handle, number))
            number += 1
        except rpc.ConnectionLost:
            nfs = connect(host)
        time.sleep(0.001)
    print("%d blocks, %d servers" % (number, len(verifiers)))
    sys.exit(0 if len(verifiers) > 1 else "no other server answered")


main()
