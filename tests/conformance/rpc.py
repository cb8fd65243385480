# SPDX-License-Identifier: Apache-2.0
"""ONC RPC version 2 (RFC 5531) over TCP and UDP, seen from the client.

The ordinary way is `connection.call(program, version, procedure, arguments, credential)`.
Everything below it is public as well - building a call by hand, cutting a record into odd
fragments, sending raw bytes, waiting for the server to hang up - since tests do all of it.

What goes wrong is an AssertionError with a sentence: NoAnswer (time-out), ConnectionLost (the
server closed), GarbageAnswer (bytes that are no RPC reply). So a test that does not expect it
fails with that sentence, and the run goes on.
"""
import collections
import errno
import os
import random
import select
import socket
import struct
import time

from xdr import Packer, Unpacker, XdrError

CALL, REPLY = 0, 1
MSG_ACCEPTED, MSG_DENIED = 0, 1
SUCCESS, PROG_UNAVAIL, PROG_MISMATCH, PROC_UNAVAIL, GARBAGE_ARGS, SYSTEM_ERR = range(6)
ACCEPT_NAMES = ("SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS",
                "SYSTEM_ERR")
RPC_MISMATCH, AUTH_ERROR = 0, 1
AUTH_OK, AUTH_BADCRED, AUTH_REJECTEDCRED, AUTH_BADVERF, AUTH_REJECTEDVERF, AUTH_TOOWEAK = range(6)
AUTH_NAMES = ("AUTH_OK", "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF",
              "AUTH_TOOWEAK", "AUTH_INVALIDRESP", "AUTH_FAILED")
AUTH_NONE, AUTH_SYS = 0, 1
LAST_FRAGMENT = 0x80000000
RECORD_BYTES_MAX = 8 << 20  # what this client is ready to receive
TCP_REPAIR = 19             # Linux: <linux/tcp.h>

# The last calls and what became of them; conftest.py prints them when a test fails.
trace = collections.deque(maxlen=40)

# Every connection that was made; conftest.py closes after each test what the test left open.
connections = []


class NoAnswer(AssertionError):
    """Nothing came in time."""


class ConnectionLost(AssertionError):
    """The server closed or reset the connection, or does not accept one."""


class GarbageAnswer(AssertionError):
    """The answer is not what RPC or XDR allows."""


class Rejected(AssertionError):
    """The RPC layer refused a call that a test expected to be executed."""


def hexdump(data, limit=64):
    shown = data[:limit].hex(" ", 4)
    return "%s%s (%d bytes)" % (shown, " ..." if len(data) > limit else "", len(data))


# ---------------------------------------------------------------------------- credentials

class Credential:
    """A flavor and its opaque body; `text` is how it is shown."""

    def __init__(self, flavor, body, text):
        self.flavor, self.body, self.text = flavor, body, text

    def __repr__(self):
        return self.text


def auth_none():
    return Credential(AUTH_NONE, b"", "AUTH_NONE")


def auth_sys(uid, gid, gids=(), machine=b"conformance", stamp=0):
    """AUTH_SYS (RFC 5531 appendix A). Nothing is checked: tests send bad ones as well."""
    body = Packer().u32(stamp).opaque(machine).u32(uid).u32(gid).u32(len(gids))
    for group in gids:
        body.u32(group)
    text = "uid %d gid %d%s" % (uid, gid, " gids %s" % list(gids) if gids else "")
    return Credential(AUTH_SYS, body.bytes(), text)


# ------------------------------------------------------------------------------- messages

_next_xid = random.getrandbits(31)


def new_xid():
    global _next_xid
    _next_xid = (_next_xid + 1) & 0xFFFFFFFF
    return _next_xid


def call_message(program, version, procedure, arguments=b"", cred=None, verifier=None, xid=None,
                 rpc_version=2, message_type=CALL):
    """The bytes of one call, without record marks."""
    cred = cred or auth_none()
    verifier = verifier or auth_none()
    head = Packer().u32(new_xid() if xid is None else xid).u32(message_type).u32(rpc_version)
    head.u32(program).u32(version).u32(procedure)
    head.u32(cred.flavor).opaque(cred.body)
    head.u32(verifier.flavor).opaque(verifier.body)
    return head.bytes() + arguments


def xid_of(message):
    return struct.unpack(">I", message[:4])[0]


class RpcReply:
    """A decoded reply header. `results` is what follows it when the call was executed."""

    def __init__(self, message):
        self.message = message
        self.accept_stat = self.reject_stat = self.auth_stat = None
        self.low = self.high = None
        self.results = b""
        try:
            self._decode(Unpacker(message))
        except XdrError as error:
            raise GarbageAnswer("not an RPC reply: %s; received %s"
                                % (error, hexdump(message))) from None

    def _decode(self, u):
        self.xid = u.u32()
        if u.u32() != REPLY:
            raise XdrError("message type is not REPLY")
        stat = u.u32()
        if stat == MSG_ACCEPTED:
            self.verifier = (u.u32(), u.opaque(400))
            self.accept_stat = u.u32()
            if self.accept_stat > SYSTEM_ERR:
                raise XdrError("accept_stat %d" % self.accept_stat)
            if self.accept_stat == SUCCESS:
                self.results = u.rest()
            elif self.accept_stat == PROG_MISMATCH:
                self.low, self.high = u.u32(), u.u32()
        elif stat == MSG_DENIED:
            self.reject_stat = u.u32()
            if self.reject_stat == RPC_MISMATCH:
                self.low, self.high = u.u32(), u.u32()
            elif self.reject_stat == AUTH_ERROR:
                self.auth_stat = u.u32()
            else:
                raise XdrError("reject_stat %d" % self.reject_stat)
        else:
            raise XdrError("reply_stat %d" % stat)
        u.done()

    def __str__(self):
        if self.accept_stat == PROG_MISMATCH:
            return "PROG_MISMATCH(low %d, high %d)" % (self.low, self.high)
        if self.accept_stat is not None:
            return ACCEPT_NAMES[self.accept_stat]
        if self.reject_stat == RPC_MISMATCH:
            return "RPC_MISMATCH(low %d, high %d)" % (self.low, self.high)
        if self.auth_stat < len(AUTH_NAMES):
            return "AUTH_ERROR(%s)" % AUTH_NAMES[self.auth_stat]
        return "AUTH_ERROR(%d)" % self.auth_stat


# ------------------------------------------------------------------------- record marking

def frame(message):
    """One record in one fragment."""
    return struct.pack(">I", LAST_FRAGMENT | len(message)) + message


def fragments(message, sizes):
    """One record cut into fragments of the given sizes (0 is allowed), the rest in the last."""
    out, at = [], 0
    for size in sizes:
        piece = message[at:at + size]
        out.append(struct.pack(">I", len(piece)) + piece)
        at += size
    return b"".join(out) + frame(message[at:])


# -------------------------------------------------------------------------------- sockets

class TcpConnection:
    """A TCP connection to one RPC service.

    source_port: bind to this port first, or "reserved" for any free one below 1024.
    Replies are matched to calls by xid, in whatever order they come.
    """

    def __init__(self, host, port, timeout=10.0, source_port=None, source_address=""):
        self.host, self.port, self.timeout = host, port, timeout
        self._early = {}  # replies that came before they were waited for
        connections.append(self)
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        ports = range(1023, 665, -1) if source_port == "reserved" else (source_port or 0,)
        for candidate in ports:
            self.sock = socket.socket(family, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.settimeout(timeout)
            try:
                if candidate or source_address:
                    self.sock.bind((source_address, candidate))
                self.sock.connect((host, port))
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return
            except OSError as error:
                self.sock.close()
                busy = error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL)
                if not (busy and source_port == "reserved"):
                    raise ConnectionLost("cannot connect to %s port %d%s: %s" % (
                        host, port, " from port %d" % candidate if candidate else "",
                        error)) from None
        raise ConnectionLost("no free reserved port on this machine")

    # -- sending

    def send_raw(self, data):
        try:
            self.sock.sendall(data)
        except socket.timeout:
            raise NoAnswer("the server stopped reading: %d bytes could not be sent in %g s"
                           % (len(data), self.timeout)) from None
        except OSError as error:
            raise ConnectionLost("sending %d bytes: %s" % (len(data), error)) from None

    def send(self, message):
        """Send one message as one record in one fragment; returns its xid."""
        self.send_raw(frame(message))
        return xid_of(message)

    # -- receiving

    def _exactly(self, count, deadline, seconds):
        got = bytearray()
        while len(got) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer("no answer within %g s (%d of %d bytes came)"
                               % (seconds, len(got), count))
            self.sock.settimeout(left)
            try:
                piece = self.sock.recv(min(count - len(got), 1 << 20))
            except socket.timeout:
                continue
            except OSError as error:
                raise ConnectionLost("waiting for an answer: %s" % error) from None
            finally:
                self.sock.settimeout(self.timeout)
            if not piece:
                raise ConnectionLost("the server closed the connection%s" % (
                    " in the middle of a record" if got else " instead of answering"))
            got += piece
        return bytes(got)

    def recv_record(self, timeout=None):
        """The next record, whatever fragments it comes in."""
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        record = b""
        while True:
            mark = struct.unpack(">I", self._exactly(4, deadline, seconds))[0]
            length = mark & ~LAST_FRAGMENT
            if length + len(record) > RECORD_BYTES_MAX:
                raise GarbageAnswer("a record mark of 0x%08x: no sane reply is so long" % mark)
            record += self._exactly(length, deadline, seconds)
            if mark & LAST_FRAGMENT:
                return record

    def wait(self, xid, timeout=None):
        """The reply to the call with this xid; replies to others are kept for their turn."""
        while xid not in self._early:
            reply = RpcReply(self.recv_record(timeout))
            self._early.setdefault(reply.xid, []).append(reply)
        replies = self._early[xid]
        reply = replies.pop(0)
        if not replies:
            del self._early[xid]
        return reply

    def forget(self, xid):
        self._early.pop(xid, None)

    def next_reply(self, timeout=None):
        """The next reply in the order of arrival, whichever call it answers."""
        assert not self._early, "replies were already put aside"
        return RpcReply(self.recv_record(timeout))

    def call_rpc(self, program, version, procedure, arguments=b"", cred=None, **message_options):
        """One call; the decoded reply header, whatever it says."""
        message = call_message(program, version, procedure, arguments, cred, **message_options)
        return self.exchange(message)

    def exchange(self, message, timeout=None):
        return self.wait(self.send(message), timeout)

    def call(self, program, version, procedure, arguments=b"", cred=None):
        """One call that must be executed: its results as bytes."""
        reply = self.call_rpc(program, version, procedure, arguments, cred)
        if reply.accept_stat != SUCCESS:
            raise Rejected("program %d version %d procedure %d: expected SUCCESS, got %s"
                           % (program, version, procedure, reply))
        return reply.results

    # -- what the server does with the connection

    def hung_up(self, timeout):
        """Wait until the server closes; True if it does. Bytes that arrive are thrown away."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            ready = select.select([self.sock], [], [], max(0, deadline - time.monotonic()))[0]
            if not ready:
                return False
            try:
                if not self.sock.recv(1 << 16):
                    return True
            except OSError:
                return True
        return False

    def silent(self, seconds):
        """True if nothing at all arrives and the connection stays open for so long."""
        return not select.select([self.sock], [], [], seconds)[0]

    @property
    def source_port(self):
        return self.sock.getsockname()[1]

    # -- ways to go

    def close(self):
        self.sock.close()

    def reset(self):
        """Close with a RST, so that the port can be used again at once."""
        if self.sock.fileno() >= 0:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def vanish(self):
        """Go without telling the server, like a host that lost power. Needs CAP_NET_ADMIN."""
        self.sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        self.sock.close()


class UdpSocket:
    """RPC over UDP: one message a datagram; a call is sent again every second until answered."""

    def __init__(self, host, port, timeout=10.0):
        self.host, self.port, self.timeout = host, port, timeout
        info = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self.sock = socket.socket(info[0], socket.SOCK_DGRAM)
        self.sock.connect(info[4])

    def exchange(self, message):
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            try:
                self.sock.send(message)
                if not select.select([self.sock], [], [], 1.0)[0]:
                    continue
                reply = RpcReply(self.sock.recv(65536))
            except OSError as error:
                raise ConnectionLost("UDP %s port %d: %s"
                                     % (self.host, self.port, os.strerror(error.errno))) from None
            if reply.xid == xid_of(message):
                return reply
        raise NoAnswer("no UDP answer from %s port %d within %g s"
                       % (self.host, self.port, self.timeout))

    def call_rpc(self, program, version, procedure, arguments=b"", cred=None, **message_options):
        return self.exchange(call_message(program, version, procedure, arguments, cred,
                                          **message_options))

    def call(self, program, version, procedure, arguments=b"", cred=None):
        reply = self.call_rpc(program, version, procedure, arguments, cred)
        if reply.accept_stat != SUCCESS:
            raise Rejected("program %d version %d procedure %d over UDP: expected SUCCESS, got %s"
                           % (program, version, procedure, reply))
        return reply.results

    def close(self):
        self.sock.close()
