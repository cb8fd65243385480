#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""restart_client.py PORT LOG - a connection and a NULL call each millisecond until LOG has the
line "it comes back": nobody may be refused. What a killed server had accepted is asked again."""
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../conformance"))

import nfs3  # noqa: E402
import rpc  # noqa: E402

PATIENCE_S = 120


def ask(port):
    """False: the connection broke."""
    try:
        connection = rpc.TcpConnection("127.0.0.1", port, timeout=30)
        nfs3.Nfs3(connection, rpc.auth_sys(0, 0)).null()
        connection.close()
    except (rpc.ConnectionLost, ConnectionResetError, BrokenPipeError):
        return False
    return True


def main():
    port, log = int(sys.argv[1]), sys.argv[2]
    calls = refused = broken = 0
    worst_s, end = 0.0, time.monotonic() + PATIENCE_S
    while "it comes back" not in open(log, encoding="utf-8").read() and time.monotonic() < end:
        began = time.monotonic()
        try:
            broken += not ask(port)
        except (ConnectionRefusedError, socket.timeout) as error:
            refused += 1
            print(error)
        calls += 1
        worst_s = max(worst_s, time.monotonic() - began)
        time.sleep(0.001)
    print(f"{calls} calls over restarts and a kill: {refused} refused, {broken} broken off, the"
          f" longest took {worst_s * 1000:.0f} ms")
    return 1 if refused or calls < 100 else 0


sys.exit(main())
