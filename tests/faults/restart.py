#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""restart.py NFSD PORT DIR - a restart under a service manager that keeps the listening sockets:
no client is refused, neither after SIGTERM nor after SIGKILL; another configuration gets its own.

The manager is played: a notify socket that keeps what comes with FDSTORE=1 (SCM_RIGHTS) and hands
it to the next server as sd_listen_fds(3) says.
"""
import array
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from faults import Server, check, nfs3, rpc

RESTARTS = 3
KEPT_FROM_FD = 100  # above all that the manager opens itself, and that a shell can name


class Manager:
    """What systemd does for a unit with Type=notify and FileDescriptorStoreMax=."""

    def __init__(self, path):
        self.store = {}  # name: descriptors
        self.said = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        os.environ["NOTIFY_SOCKET"] = path

    def hear(self, seconds=0.0):
        """Take in what the server has said until now."""
        self.socket.settimeout(seconds or 0.001)
        while True:
            try:
                text, control, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(16 * 4))
            except socket.timeout:
                return
            fields = dict(line.split("=", 1) for line in text.decode().splitlines())
            self.said.append(fields)
            fds = array.array("i")
            for level, kind, data in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data)
            self.take(fields, list(fds))

    def take(self, fields, fds):
        name = fields.get("FDNAME", "stored")
        if fields.get("FDSTOREREMOVE") == "1":
            for fd in self.store.pop(name, []):
                os.close(fd)
        for fd in fds:
            if fields.get("FDSTORE") == "1" and not self.has(fd):
                kept = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, KEPT_FROM_FD)
                self.store.setdefault(name, []).append(kept)
            os.close(fd)

    def has(self, fd):
        return any(os.path.samestat(os.fstat(fd), os.fstat(kept))
                   for fds in self.store.values() for kept in fds)

    def wait_for(self, key, seconds=20):
        end = time.monotonic() + seconds
        while not any(key in fields for fields in self.said):
            if time.monotonic() > end:
                check(False, "the server says %s" % key)
            self.hear(0.02)

    def prefix(self):
        """Command line in front of the server's: what is kept becomes descriptors 3 and on."""
        pairs = [(name, fd) for name, fds in self.store.items() for fd in fds]
        moves = "".join(" %d<&%d %d<&-" % (3 + i, fd, fd) for i, (_, fd) in enumerate(pairs))
        names = ":".join(name for name, _ in pairs)
        return [fd for _, fd in pairs], [
            "bash", "-c", "exec%s; export LISTEN_PID=$$ LISTEN_FDS=%d LISTEN_FDNAMES=%s;"
            ' exec "$@"' % (moves, len(pairs), names), "manager"]


class Managed(Server):
    """A server whose manager keeps its sockets."""

    def __init__(self, program, port, lines):
        super().__init__(program, port, lines)
        self.manager = Manager(os.path.join(self.folder, "notify"))
        self.listen = "127.0.0.1"

    def spawn(self):
        fds, prefix = self.manager.prefix()
        self.process = subprocess.Popen(
            prefix + [self.program, "--foreground", "--no-rpcbind", "--port", str(self.port),
                      "--listen", self.listen, "--state-dir", self.folder + "/state",
                      "--status-socket", self.status, "--exports", self.exports],
            stderr=open(self.log, "a"), stdin=subprocess.DEVNULL, pass_fds=fds)

    def start(self):
        self.manager.said.clear()
        self.spawn()
        self.manager.wait_for("READY")
        return self


class Client(threading.Thread):
    """GETATTR about every millisecond; connects again when the connection ends."""

    def __init__(self, server, handle):
        super().__init__()
        self.server, self.handle = server, handle
        self.over = threading.Event()
        self.refused, self.calls, self.connections, self.worst_s = 0, 0, 0, 0.0
        self.trouble = ""

    def run(self):
        try:
            self.work()
        except Exception as e:  # pylint: disable=broad-except
            self.trouble = repr(e)

    def connect(self):
        try:
            nfs = self.server.nfs()
        except rpc.ConnectionLost as lost:
            self.refused += "refused" in str(lost)
            return None
        self.connections += 1
        return nfs

    def work(self):
        nfs, answered = None, time.monotonic()
        while not self.over.is_set():
            if nfs is None:
                nfs = self.connect()
                continue
            try:
                nfs.getattr(self.handle).ok()
            except rpc.ConnectionLost:
                nfs = None
                continue
            now = time.monotonic()
            self.worst_s = max(self.worst_s, now - answered)
            answered = now
            self.calls += 1
            time.sleep(0.001)


def bound(server):
    """Addresses that the kept TCP sockets are bound to."""
    names = set()
    for fds in server.manager.store.values():
        for fd in fds:
            with socket.socket(fileno=os.dup(fd)) as kept:
                names.add((kept.type, kept.getsockname()[0]))
    return names


def restarted(server, handle, how):
    """Restarts with a client at work; it must not be refused."""
    client = Client(server, handle)
    client.start()
    for _ in range(RESTARTS):
        calls, end = client.calls, time.monotonic() + 30
        while client.calls < calls + 20 and time.monotonic() < end:
            time.sleep(0.005)
        server.process.send_signal(how)
        server.process.wait(30)
        server.manager.hear()
        server.start()
    calls, end = client.calls, time.monotonic() + 30
    while client.calls < calls + 20 and time.monotonic() < end:
        time.sleep(0.005)
    client.over.set()
    client.join(30)
    name = signal.Signals(how).name
    check(not client.trouble and client.calls >= 20 * (RESTARTS + 1),
          "a client works through %d restarts by %s" % (RESTARTS, name),
          "%d calls; %s" % (client.calls, client.trouble))
    check(client.connections > RESTARTS, "with a connection each", str(client.connections))
    check(client.refused == 0, "and is never refused", "%d times" % client.refused)
    print("figure: %d calls, longest pause %.0f ms" % (client.calls, client.worst_s * 1000))


def waits_in_between(server, handle):
    """Connecting while no server runs."""
    server.stop()
    server.manager.hear()
    connection = socket.create_connection(("127.0.0.1", server.port), 10)
    connection.close()
    got = []
    late = threading.Thread(target=lambda: got.append(server.nfs().getattr(handle).ok()))
    late.start()
    server.start()
    late.join(30)
    check(len(got) == 1, "who connects while no server runs is served by the next")


def other_configuration(server, handle):
    """What is kept and not wanted any more must not be in the way."""
    check(bound(server) == {(socket.SOCK_STREAM, "127.0.0.1"), (socket.SOCK_DGRAM, "127.0.0.1")},
          "both sockets are kept, once each", str(server.manager.store))
    server.stop()
    server.listen = "0.0.0.0"
    server.start()
    server.manager.hear(0.05)
    server.nfs().getattr(handle).ok()
    check(bound(server) == {(socket.SOCK_STREAM, "0.0.0.0"), (socket.SOCK_DGRAM, "0.0.0.0")},
          "other addresses: those that were kept are forgotten, the new ones kept",
          str(bound(server)))
    server.stop()
    server.listen = "127.0.0.1"
    server.start()
    server.manager.hear(0.05)
    server.nfs().getattr(handle).ok()
    check(bound(server) == {(socket.SOCK_STREAM, "127.0.0.1"), (socket.SOCK_DGRAM, "127.0.0.1")},
          "and back, although 0.0.0.0 was in the way", str(bound(server)))


def what_is_not_ours(server, handle):
    """A file and a socket that does not listen, in the store, do no harm."""
    server.stop()
    strange = socket.socket()
    server.manager.store["file"] = [fcntl.fcntl(os.open("/dev/null", os.O_RDONLY),
                                                fcntl.F_DUPFD_CLOEXEC, KEPT_FROM_FD)]
    server.manager.store["strange"] = [fcntl.fcntl(strange.fileno(), fcntl.F_DUPFD_CLOEXEC,
                                                   KEPT_FROM_FD)]
    server.start()
    server.manager.hear(0.05)
    server.nfs().getattr(handle).ok()
    check(not {"file", "strange"} & set(server.manager.store),
          "what is no socket of ours is closed and forgotten", str(server.manager.store))


def main():
    program, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    server = Managed(program, port, ["%s *(rw,no_root_squash,insecure)" % folder]).start()
    handle = server.mount(folder).ok().fh
    restarted(server, handle, signal.SIGTERM)
    restarted(server, handle, signal.SIGKILL)
    waits_in_between(server, handle)
    other_configuration(server, handle)
    what_is_not_ours(server, handle)
    check(server.stop()[1] == 0, "it ends well")


main()
