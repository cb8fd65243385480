#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bounds.py NFSD PORT DIR - each limit of connections and time is gone past: what is over is
refused or closed, told and counted, and who keeps within the limits goes on. A server for each
limit, so that no other one is met first."""
import json
import os
import socket
import struct
import sys
import time

from faults import Server, check, nfs3, rpc

OTHER = "127.0.0.2"
WAIT_S = 60  # for what takes a second or two


class Bounded(Server):
    """A server that tells its counts."""

    def document(self):
        with socket.socket(socket.AF_UNIX) as reader:
            reader.settimeout(20)
            reader.connect(self.status)
            text = b""
            while part := reader.recv(65536):
                text += part
        return json.loads(text)

    def count(self, *names):
        value = self.document()
        for name in names:
            value = value[name]
        return value

    def counts(self, claim, *names):
        """The counter gets there: what is closed is counted a moment later."""
        end = time.monotonic() + WAIT_S
        while self.count(*names) == 0 and time.monotonic() < end:
            time.sleep(0.05)
        check(self.count(*names) > 0, claim + ", and it is counted", ".".join(names))

    def connect(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S,
                                        source_address=(source, 0))


def is_closed(connection):
    connection.settimeout(WAIT_S)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def null_call(server):
    rpc.TcpConnection("127.0.0.1", server.port).call(nfs3.PROGRAM, nfs3.VERSION, 0)


def check_connections(server):
    held = [server.connect() for _ in range(4)]
    check(is_closed(server.connect(OTHER)), "one connection more than 'connections' is closed")
    server.counts("it was refused", "refusals", "connections")
    held.pop().close()
    end = time.monotonic() + WAIT_S
    while server.count("connections", "open") > 3 and time.monotonic() < end:
        time.sleep(0.05)
    null_call(server)
    check(True, "and when one has gone the next is served")


def check_address(server):
    held = [server.connect() for _ in range(2)]
    check(is_closed(server.connect()), "one more than 'connections_per_address' is closed")
    server.counts("it was refused", "refusals", "connections_per_address")
    with server.connect(OTHER) as other:
        other.sendall(mark(null_message()))
        check(len(other.recv(64)) > 4, "and another address is served")
    for connection in held:
        connection.close()


def null_message():
    """NULL of NFS, with no credential."""
    return struct.pack(">10I", 7, 0, 2, nfs3.PROGRAM, nfs3.VERSION, 0, 0, 0, 0, 0)


def mark(message):
    return struct.pack(">I", 0x80000000 | len(message)) + message


def check_first_call(server):
    silent, busy = server.connect(), server.connect()
    busy.sendall(mark(null_message()))
    check(len(busy.recv(64)) > 4, "one that makes a call is answered")
    check(is_closed(silent), "who makes no call at all is closed")
    server.counts("first_call_timeout did it", "connections_closed", "first_call_timeout")
    busy.sendall(mark(null_message()))
    check(len(busy.recv(64)) > 4, "who made one stays")


def check_record(server):
    slow = server.connect()
    slow.sendall(mark(null_message())[:20])
    check(is_closed(slow), "who does not finish a call is closed")
    server.counts("record_timeout did it", "connections_closed", "record_timeout")
    long = server.connect()
    long.sendall(struct.pack(">I", 0x80000000 | 0x7fffffff))
    check(is_closed(long), "who announces two gigabytes is closed")
    server.counts("it is too long", "connections_closed", "record_length")
    null_call(server)


def check_reply(server, export):
    root = server.mount(export).ok().fh
    nfs = server.nfs()
    handle = nfs.new_file(root, b"large")
    nfs.write(handle, 0, bytes(1 << 20)).ok()
    for _ in range(64):
        nfs.start("READ", file=handle, offset=0, count=1 << 20)
    server.counts("who takes no replies is closed", "connections_closed", "reply_timeout")
    null_call(server)


def check_idle(server):
    idle = server.connect()
    idle.sendall(mark(null_message()))
    check(len(idle.recv(64)) > 4, "a call is answered")
    check(is_closed(idle), "who has been idle is closed")
    server.counts("idle_timeout did it", "connections_closed", "idle_timeout")


def check_log(server, export):
    for _ in range(40):
        server.mount(export + "/none")
    suppressed = server.count("log_lines_suppressed")
    lines = server.log_text().count("may not mount")
    check(suppressed > 0 and lines + suppressed >= 40, "log_lines: what is over is counted",
          "%d lines, %d suppressed" % (lines, suppressed))
    server.wait_for_line("similar lines suppressed", WAIT_S)
    check(True, "and told in one line")


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    export = os.path.join(top, "bounds")
    os.makedirs(export, exist_ok=True)
    for limits, test in (("connections = 4", check_connections),
                         ("connections_per_address = 2", check_address),
                         ("first_call_timeout = 1", check_first_call),
                         ("record_timeout = 1", check_record),
                         ("reply_timeout = 1", lambda server: check_reply(server, export)),
                         ("idle_timeout = 1", check_idle),
                         ("log_lines = 1", lambda server: check_log(server, export))):
        server = Bounded(program, port, ["%s *(rw,no_root_squash,insecure)" % export],
                         conf="[limits]\n%s\n" % limits)
        server.start()
        test(server)
        _, status = server.stop()
        check(status == 0, "a server with %s ends well" % limits, server.log_text())


main()
