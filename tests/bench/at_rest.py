# SPDX-License-Identifier: Apache-2.0
"""What a server costs that nobody works with: its memory, and the time until it answers."""
import os
import socket
import time

import nfs_null
import sandbox
import servers

IDLE_CONNECTIONS = 100
MANY_EXPORTS = 1000
STARTS = 5
FIRST_ANSWER_S_MAX = 120
POLL_S = 0.0005


def idle_memory_kib(make, exports):
    """VmRSS with 100 connections that have each made one call."""
    server = make(exports, "idle").start()
    connections = []
    for _ in range(IDLE_CONNECTIONS):
        connection = socket.create_connection((sandbox.ADDRESS, server.nfs_port), timeout=10)
        connection.sendall(nfs_null.CALL)
        connection.recv(64)
        connections.append(connection)
    time.sleep(1)
    kib = _resident_kib(server.pid)
    for connection in connections:
        connection.close()
    server.stop()
    return kib


def first_answers_ms(kind, make, folder):
    """From the start of the program to its first NULL reply, with 1,000 exports; start by start."""
    exports = [os.path.join(folder, f"many-{number:04d}") for number in range(MANY_EXPORTS)]
    for export in exports:
        os.makedirs(export, exist_ok=True)
    times = []
    for number in range(STARTS if kind == "lodestore" else 1):
        server = make(exports, f"many{number}")
        if kind == "ganesha":
            server.portmapper = servers.start_rpcbind()
        began = time.monotonic()
        server.launch()
        if not nfs_null.wait_until_answered(sandbox.ADDRESS, server.nfs_port, FIRST_ANSWER_S_MAX,
                                            POLL_S):
            raise sandbox.SandboxError(f"no answer; its log:\n{server.log_tail()}")
        times.append((time.monotonic() - began) * 1000)
        server.stop()
    return times


def _resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
