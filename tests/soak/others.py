# SPDX-License-Identifier: Apache-2.0
"""The small clients of the soak: a lock's heartbeat, and one that behaves badly."""
import time

import nfs3
import rpc
from hard import Fault

LOCK_BYTES = 84  # spec/esxi.md 15
BEAT_S = 0.25


class Heartbeat:
    """A lock file refreshed by small FILE_SYNC writes, and GETATTR of the root, each timed."""

    def __init__(self, number, client, root, chance, report):
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._name = b".lck-%016x" % number
        self._beats = 0
        self.steps = 0

    def prepare(self):
        self._file = self._client.ok("CREATE", dir=self._root, name=self._name, how=nfs3.GUARDED,
                                     sattr=nfs3.Sattr(mode=0o644)).fh
        self._promised = bytes(LOCK_BYTES)
        self._timed("WRITE", file=self._file, offset=0, data=self._promised, stable=nfs3.FILE_SYNC)

    def step(self):
        found = self._timed("READ", file=self._file, offset=0, count=512).ok()
        if found.data != self._promised:
            raise Fault(f"the lock file holds {found.data[:16]!r}, {len(found.data)} bytes;"
                        f" promised: {self._promised[:16]!r}")
        self._beats += 1
        self._promised = (b"%08d" % self._beats).ljust(LOCK_BYTES, b".")
        self._timed("WRITE", file=self._file, offset=0, data=self._promised, stable=nfs3.FILE_SYNC)
        self._timed("GETATTR", file=self._root)
        self.steps += 1
        time.sleep(BEAT_S)

    def _timed(self, procedure, **arguments):
        started = time.monotonic()
        reply, (began, ended), _ = self._client.one(procedure, **arguments)
        if began == ended and began % 2 == 0:
            self._report.latency(time.monotonic() - started)
        return reply.ok()

    def finish(self):
        self._client.ok("REMOVE", dir=self._root, name=self._name)


class Vandal:
    """Connections that send noise, half records, or ask and never read; a few at a time."""

    OPEN_MAX = 12

    def __init__(self, number, client, root, chance, report):
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._open = []
        self.steps = 0

    def prepare(self):
        self._nfs = nfs3.Nfs3(None, rpc.auth_sys(0, 0))

    def step(self):
        time.sleep(0.1)
        try:
            connection = rpc.TcpConnection(*self._client.address, timeout=5)
        except rpc.ConnectionLost:
            return  # being restarted
        finally:
            rpc.connections.clear()
        self._open.append(connection)
        try:
            self._misbehave(connection)
        except (rpc.ConnectionLost, rpc.NoAnswer):
            pass  # the server defends itself
        while len(self._open) > self.OPEN_MAX:
            self._open.pop(self._chance.randrange(len(self._open))).reset()
        self.steps += 1

    def _misbehave(self, connection):
        kind = self._chance.randrange(4)
        if kind == 0:
            connection.send_raw(self._chance.randbytes(self._chance.randrange(1, 400)))
        elif kind == 1:
            connection.send_raw(b"\x80\x00\x40\x00" + bytes(self._chance.randrange(1000)))
        elif kind == 2:
            for _ in range(10):
                connection.send(self._nfs.message("READDIRPLUS", dir=self._root))
        else:
            connection.send(self._nfs.message("GETATTR", file=self._chance.randbytes(32)))

    def finish(self):
        for connection in self._open:
            connection.reset()
