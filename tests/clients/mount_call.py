#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mount_call.py ADDRESS PORT FOLDER - one MNT call of MOUNT version 3, and no UMNT after it."""
import socket
import struct
import sys


def string(value):
    data = value.encode()
    return struct.pack(">L", len(data)) + data + b"\0" * (-len(data) % 4)


def mount(address, port, folder):
    """The mountstat3 of the answer."""
    credential = struct.pack(">L", 0) + string("client") + struct.pack(">LLL", 0, 0, 0)
    call = (struct.pack(">LLLLLL", 1, 0, 2, 100005, 3, 1)
            + struct.pack(">LL", 1, len(credential)) + credential + struct.pack(">LL", 0, 0)
            + string(folder))
    with socket.create_connection((address, port), timeout=10) as connection:
        connection.sendall(struct.pack(">L", 0x80000000 | len(call)) + call)
        reply = connection.recv(4096)
    return struct.unpack(">L", reply[28:32])[0]


if __name__ == "__main__":
    status = mount(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    sys.exit(f"MNT {sys.argv[3]}: status {status}" if status else 0)
