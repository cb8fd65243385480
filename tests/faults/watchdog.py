#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watchdog.py NFSD PORT DIR - the service manager is told that the server lives, also while it is
asked to reload more often than that."""
import os
import signal
import socket
import sys
import time

from faults import Server, check

PING_S = 5  # WATCHDOG_INTERVAL_S of nfsd/main.c; the unit allows some times that
WATCHED_S = 2 * PING_S + 2
RELOAD_S = 0.4


def main():
    program, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    server = Server(program, port, ["%s *(rw)" % folder])
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(os.path.join(server.folder, "notify"))
    manager.settimeout(RELOAD_S)
    os.environ["NOTIFY_SOCKET"] = manager.getsockname()
    server.start()

    said, end = [], time.monotonic() + WATCHED_S
    next_reload = time.monotonic()
    while time.monotonic() < end:
        if time.monotonic() >= next_reload:
            server.process.send_signal(signal.SIGHUP)
            next_reload = time.monotonic() + RELOAD_S
        try:
            said.append(manager.recv(4096))
        except socket.timeout:
            pass
    reloads, pings = said.count(b"RELOADING=1"), said.count(b"WATCHDOG=1")
    check(reloads >= 5, "the server was told to reload again and again", str(reloads))
    check(pings >= WATCHED_S // PING_S, "and told its manager every %d s that it lives" % PING_S,
          "%d times in %d s" % (pings, WATCHED_S))
    check(server.stop()[1] == 0, "it ends well")


main()
