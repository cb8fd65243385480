# SPDX-License-Identifier: Apache-2.0
"""NLM version 4 (RFC 1813 appendix II) and NSM: a client, and the side of it that is called back.

Owners are (address, bytes, svid); a Locker is one owner on one connection. CallbackHost answers as
a port mapper and a lock manager on an address of this machine, as a client's kernel does.
"""
import collections
import itertools
import select
import socket
import struct
import time

import rpc
from xdr import Packer, Unpacker

PROGRAM, VERSION = 100021, 4
NSM_PROGRAM, NSM_VERSION = 100024, 1
(NULL, TEST, LOCK, CANCEL, UNLOCK, GRANTED_CALL, TEST_MSG, LOCK_MSG, CANCEL_MSG, UNLOCK_MSG,
 GRANTED_MSG, TEST_RES, LOCK_RES, CANCEL_RES, UNLOCK_RES, GRANTED_RES, SM_NOTIFY) = range(17)
SHARE, UNSHARE, NM_LOCK, FREE_ALL = 20, 21, 22, 23
NSM_STAT, NSM_MON, NSM_UNMON, NSM_UNMON_ALL, NSM_SIMU_CRASH, NSM_NOTIFY = 1, 2, 3, 4, 5, 6
(GRANTED, DENIED, DENIED_NOLOCKS, BLOCKED, DENIED_GRACE_PERIOD, DEADLCK, ROFS, STALE_FH, FBIG,
 FAILED) = range(10)
PORTMAP = 100000

Holder = collections.namedtuple("Holder", "exclusive svid owner offset length")
Call = collections.namedtuple("Call", "program procedure args address")
cookies = itertools.count(1)


def lock_args(fh, owner, svid, offset, length, caller=b"conformance"):
    return (Packer().opaque(caller).opaque(fh).opaque(owner).u32(svid & 0xFFFFFFFF).u64(offset)
            .u64(length).bytes())


class Locker:
    """One owner. Statuses come back as numbers."""

    def __init__(self, transport, fh, owner=b"owner", svid=1, cred=None, state=0):
        self.transport, self.fh, self.owner, self.svid = transport, fh, owner, svid
        self.cred = cred or rpc.auth_sys(0, 0)
        self.state = state

    def call(self, procedure, arguments):
        return self.transport.call(PROGRAM, VERSION, procedure, arguments, self.cred)

    def status(self, procedure, arguments):
        """The status of a nlm4_res, whose cookie must be ours."""
        cookie = struct.pack(">I", next(cookies)) + b"ie"
        results = Unpacker(self.call(procedure, Packer().opaque(cookie).raw(arguments).bytes()))
        assert results.opaque() == cookie, "the cookie comes back changed"
        status = results.u32()
        if procedure in (SHARE, UNSHARE):
            results.u32()
        results.done()
        return status

    def range(self, offset, length):
        return lock_args(self.fh, self.owner, self.svid, offset, length)

    def lock_arguments(self, offset, length, exclusive, block, reclaim):
        return (Packer().boolean(block).boolean(exclusive).raw(self.range(offset, length))
                .boolean(reclaim).u32(self.state).bytes())

    def lock(self, offset=0, length=0, exclusive=True, block=False, reclaim=False,
             procedure=LOCK):
        return self.status(procedure,
                           self.lock_arguments(offset, length, exclusive, block, reclaim))

    def unlock(self, offset=0, length=0):
        return self.status(UNLOCK, self.range(offset, length))

    def cancel(self, offset=0, length=0, exclusive=True):
        return self.status(CANCEL, Packer().boolean(True).boolean(exclusive)
                           .raw(self.range(offset, length)).bytes())

    def test(self, offset=0, length=0, exclusive=True):
        """A status, or the holder that is in the way."""
        cookie = b"test"
        results = Unpacker(self.call(TEST, Packer().opaque(cookie).boolean(exclusive)
                                     .raw(self.range(offset, length)).bytes()))
        assert results.opaque() == cookie
        status = results.u32()
        holder = status
        if status == DENIED:
            holder = Holder(results.boolean(), results.u32(), results.opaque(), results.u64(),
                            results.u64())
        results.done()
        return holder

    def share(self, mode, access, procedure=SHARE, reclaim=False):
        return self.status(procedure, Packer().opaque(b"conformance").opaque(self.fh)
                           .opaque(self.owner).u32(mode).u32(access).boolean(reclaim).bytes())

    def free_all(self):
        assert self.call(FREE_ALL, Packer().opaque(b"conformance").u32(1).bytes()) == b""

    def other(self, owner=b"other", svid=2, fh=None, transport=None):
        return Locker(transport or self.transport, fh or self.fh, owner, svid, self.cred)


class CallbackHost:
    """A port mapper at port 111 and a lock manager at another, over UDP."""

    def __init__(self, address, registered=True):
        self.address = address
        self.registered = registered
        self.mapper, self.manager = self._bind(111), self._bind(0)
        self.calls = []
        self.answer = GRANTED  # to GRANTED; None: silence
        self.asked = 0  # for our port

    def _bind(self, port):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.address, port))
        return sock

    def close(self):
        self.mapper.close()
        self.manager.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def _decode(message):
        call = Unpacker(message)
        xid, kind, _, program, _, procedure = (call.u32() for _ in range(6))
        assert kind == 0
        for _ in range(2):
            call.u32()
            call.opaque()
        return xid, program, procedure, call

    @staticmethod
    def _reply(sock, peer, xid, results):
        sock.sendto(struct.pack(">6I", xid, 1, 0, 0, 0, 0) + results, peer)

    def serve(self, seconds, until=lambda call: True):
        """Answer for a while: the first call for which `until` holds, or None."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for sock in select.select([self.mapper, self.manager], [], [], 0.1)[0]:
                message, peer = sock.recvfrom(65536)
                call = self._map(message, peer) if sock is self.mapper else self._take(message,
                                                                                     peer)
                if call and until(call):
                    return call
        return None

    def _map(self, message, peer):
        xid, _, _, arguments = self._decode(message)
        protocol = [arguments.u32() for _ in range(4)][2]
        self.asked += 1
        port = self.manager.getsockname()[1] if self.registered and protocol == 17 else 0
        self._reply(self.mapper, peer, xid, struct.pack(">I", port))

    def _take(self, message, peer):
        xid, program, procedure, arguments = self._decode(message)
        call = Call(program, procedure, arguments.rest(), peer[0])
        self.calls.append(call)
        if procedure == GRANTED_CALL and self.answer is not None:
            cookie = Unpacker(call.args).opaque()
            self._reply(self.manager, peer, xid, Packer().opaque(cookie).u32(self.answer).bytes())
        elif program == NSM_PROGRAM:
            self._reply(self.manager, peer, xid, b"")
        return call


def decode_granted(args):
    """(cookie, exclusive, owner, svid, offset, length) of GRANTED's arguments."""
    u = Unpacker(args)
    cookie, exclusive = u.opaque(), u.boolean()
    u.opaque()
    u.opaque()
    return (cookie, exclusive, u.opaque(), u.u32(), u.u64(), u.u64())


class Monitor:
    """NSM."""

    def __init__(self, transport):
        self.transport = transport

    def _call(self, procedure, arguments):
        return self.transport.call(NSM_PROGRAM, NSM_VERSION, procedure, arguments)

    def stat(self, name=b"host"):
        results = Unpacker(self._call(NSM_STAT, Packer().opaque(name).bytes()))
        return results.u32(), results.u32()

    def notify(self, state, name=b"host"):
        assert self._call(NSM_NOTIFY, Packer().opaque(name).u32(state).bytes()) == b""
