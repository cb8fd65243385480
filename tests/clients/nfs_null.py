#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nfs_null.py ADDRESS PORT SECONDS - wait until an NFSv3 server answers the NULL procedure."""
import socket
import struct
import sys
import time

CALL = struct.pack(">LLLLLLLLLLL", 0x80000000 | 40, 0x6c6f6465, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
ACCEPTED = struct.pack(">LLLLLLL", 0x80000000 | 24, 0x6c6f6465, 1, 0, 0, 0, 0)


def answers(address, port, seconds=2.0):
    """True if the server accepted one NULL call."""
    try:
        with socket.create_connection((address, port), timeout=seconds) as connection:
            connection.sendall(CALL)
            reply = b""
            while len(reply) < len(ACCEPTED):
                part = connection.recv(64)
                if not part:
                    return False
                reply += part
            return reply == ACCEPTED
    except OSError:
        return False


def wait_until_answered(address, port, seconds, pause=0.02):
    """True as soon as the server answers, False if it does not in time."""
    deadline = time.monotonic() + seconds
    while not answers(address, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


if __name__ == "__main__":
    sys.exit(not wait_until_answered(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
