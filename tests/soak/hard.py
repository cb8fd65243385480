# SPDX-License-Identifier: Apache-2.0
"""A client that mounts hard: it goes on asking until it is answered, as a hypervisor does.

Calls go out in batches, pipelined over one of several connections. When a connection is lost - the
server was killed, or the test broke it off - every call without a reply is sent again, the same
bytes with the same xid, over a new connection.

A `Life` tells which incarnation of the server is up, so that a client can know whether a reply came
from the incarnation that it asked, and whether a time-out was a restart or a fault.
"""
import collections
import time

import nfs3
import rpc

ANSWER_S = 20  # a server that is up answers in this time
GIVE_UP_S = 90  # no restart takes that long
JUKEBOX_WAIT_S = 0.2

# What a batch of calls came to: the replies in order; the lives of the server before and after;
# which calls were sent more than once.
Batch = collections.namedtuple("Batch", "replies began ended resent")


class Fault(AssertionError):
    """The server did something wrong; the message is for the report."""


class Life:
    """The server's incarnation: odd while it is down, even while it is up."""

    def __init__(self, context):
        self._number = context.Value("q", 0)

    def now(self):
        return self._number.value

    def down(self):
        self._number.value += 1

    def up(self):
        self._number.value += 1


class HardClient:
    """Connections to one server, and a credential."""

    def __init__(self, life, address, chance, break_offs=True, connections=2):
        self.life = life
        self.address = address
        self._chance = chance
        self._break_offs = break_offs
        self._nfs = nfs3.Nfs3(None, rpc.auth_sys(0, 0, machine=b"soak"))
        self._connections = [None] * connections
        self.calls = 0
        self.reconnects = 0
        self.jukeboxes = 0

    def one(self, procedure, **arguments):
        """One call: (reply, lives, was it sent twice)."""
        batch = self.batch([(procedure, arguments)])
        return batch.replies[0], (batch.began, batch.ended), 0 in batch.resent

    def ok(self, procedure, **arguments):
        return self.one(procedure, **arguments)[0].ok()

    def batch(self, calls, break_off=False):
        """Send calls together and wait for all replies. With `break_off`, the connection is reset
        when the calls have been sent, and they are sent again over a new one."""
        began = self.life.now()
        waiting = {index: self._nfs.message(procedure, xid=rpc.new_xid(), **arguments)
                   for index, (procedure, arguments) in enumerate(calls)}
        replies, resent = [None] * len(calls), set()
        deadline = time.monotonic() + GIVE_UP_S
        slot = self._chance.randrange(len(self._connections))
        while waiting:
            asked = self.life.now()
            started = time.monotonic()
            try:
                connection = self._connect(slot)
                for message in list(waiting.values()):
                    connection.send(message)
                if break_off and self._break_offs:
                    break_off = False
                    self._drop(slot)
                    resent |= set(waiting)
                    continue
                self._collect(connection, calls, waiting, replies)
            except (rpc.NoAnswer, rpc.ConnectionLost) as error:
                self._drop(slot)
                unanswered = ", ".join(
                    f"{calls[index][0]} xid {rpc.xid_of(message):08x}"
                    f"{' (sent before)' if index in resent else ''}"
                    for index, message in waiting.items())
                resent |= set(waiting)
                self._judge_silence(f"{error}; unanswered: {unanswered}",
                                    isinstance(error, rpc.NoAnswer), asked, started, deadline)
        self.calls += len(calls)
        return Batch(replies, began, self.life.now(), resent)

    def _collect(self, connection, calls, waiting, replies):
        for index in list(waiting):
            procedure, arguments = calls[index]
            header = connection.wait(rpc.xid_of(waiting[index]), ANSWER_S)
            reply = self._nfs.decode(header, procedure, nfs3.describe(procedure, arguments))
            if reply.status == nfs3.NFS3ERR_JUKEBOX:
                self.jukeboxes += 1
                time.sleep(JUKEBOX_WAIT_S)
                waiting[index] = self._nfs.message(procedure, xid=rpc.new_xid(), **arguments)
                continue
            replies[index] = reply
            del waiting[index]

    def _judge_silence(self, error, silent, asked, started, deadline):
        """A lost connection or a missing answer is a fault unless the server was down."""
        now = time.monotonic()
        steady = asked % 2 == 0 and asked == self.life.now()
        if steady and silent:
            raise Fault(f"no answer within {ANSWER_S} s from a server that is up: {error}")
        if steady and now - started < 0.05:
            time.sleep(0.05)  # perhaps killed this instant, and the life not yet counted
            if asked == self.life.now() and now > deadline - GIVE_UP_S + 5:
                raise Fault(f"the server is up and breaks off connections: {error}")
        if now > deadline:
            raise Fault(f"not served for {GIVE_UP_S} s: {error}")
        time.sleep(0.02)

    def _connect(self, slot):
        if self._connections[slot] is None:
            self.reconnects += 1
            host, port = self.address
            self._connections[slot] = rpc.TcpConnection(host, port, timeout=ANSWER_S)
            rpc.connections.clear()  # the suite's list of what to close; these we close ourselves
        return self._connections[slot]

    def _drop(self, slot):
        if self._connections[slot] is not None:
            self._connections[slot].reset()
            self._connections[slot] = None

    def close(self):
        for slot in range(len(self._connections)):
            self._drop(slot)
