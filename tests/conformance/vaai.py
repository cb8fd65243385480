# SPDX-License-Identifier: Apache-2.0
"""Procedure 22 of NFSv3 as two VAAI-NAS plug-ins speak it: dialect O and dialect Q.

RFC 1813 ends at procedure 21; what is here follows the public client of the one plug-in and the
public server of the other. O and Q are clients with the same methods, so that most tests hold a
server to both:

    plug.clone(source, destination, path)      begin a full clone
    plug.progress(destination)                 .state is WAITING, RUNNING, COMPLETE, FAILED, ABORTED
    plug.finish(destination)                   the first progress that says no more will come
    plug.fast(source_dir, source_name, source, dir, name)   a clone that makes its destination
    plug.reserve(file)  plug.usage(file)  plug.abort(destination)  plug.can()

Each gives a Reply of nfs3.py. Replies are decoded strictly. `exchange` sends any bytes, and says
GARBAGE if the server refused them in RPC's own way.
"""
import collections
import struct
import time

import rpc
from nfs3 import NFS3_OK, PROGRAM, STATUS_NAMES, VERSION, Reply, show_handle
from xdr import Packer, Unpacker, XdrError

PROCEDURE = 22
GARBAGE = "GARBAGE_ARGS"

WAITING, RUNNING, COMPLETE, FAILED, ABORTED = "waiting", "running", "complete", "failed", "aborted"
CAN_CLONE, CAN_RESERVE, CAN_STAT = 1, 2, 4

# Dialect O.
O_CLONE, O_RESERVE, O_STAT, O_PROGRESS, O_ABORT = range(1, 6)
O_HAS_CLONE, O_HAS_RESERVE, O_HAS_STAT = range(6, 9)
O_COMMAND_BYTES, O_REPLY_BYTES, O_PATH_BYTES = 296, 80, 256
O_TOO_DEEP, O_TOO_MANY, O_BUSY, O_FULL = range(1001, 1005)
O_STATES = {0: WAITING, 1: RUNNING, 2: COMPLETE}
OReply = collections.namedtuple("OReply", "version command result total allocated unique state "
                                          "done")

# Dialect Q.
Q_REGISTER, Q_RESERVE, Q_STAT, Q_CLONE, Q_INQUIRY, Q_ABORT = range(6)
Q_MAGIC, Q_MAGIC_OLD = 0x8068269529234103, 0x8068269529234111
Q_FLAGS_FAST, Q_FLAG_THIN = 3, 0x10
Q_STATES = {0: WAITING, 1: RUNNING, 2: COMPLETE, 3: FAILED, 4: ABORTED, 5: FAILED}


class Dialect:
    """What is alike in both."""

    def __init__(self, nfs):
        self.nfs = nfs

    def message(self, arguments, xid=None):
        return rpc.call_message(PROGRAM, VERSION, PROCEDURE, arguments, self.nfs.cred, xid=xid)

    def exchange(self, arguments):
        """GARBAGE, or the results' bytes."""
        header = self.nfs.connection.exchange(self.message(arguments))
        if header.accept_stat == rpc.GARBAGE_ARGS:
            return GARBAGE
        if header.accept_stat != rpc.SUCCESS:
            raise rpc.Rejected("procedure 22: expected results or GARBAGE_ARGS, got %s" % header)
        return header.results

    def ask(self, call, arguments, *more):
        return self.wait(self.start(call, arguments, *more))

    def start(self, call, arguments, *more):
        """The first half of a call; wait() is the second."""
        call = "%s %s [%s]" % (self.name, call, self.nfs.cred)
        rpc.trace.append("-> " + call)
        return self.nfs.connection.send(self.message(arguments)), call, more

    def wait(self, pending, timeout=None):
        xid, call, more = pending
        header = self.nfs.connection.wait(xid, timeout)
        if header.accept_stat != rpc.SUCCESS:
            raise rpc.Rejected("\n  call:     %s\n  expected: results\n  actual:   %s"
                               % (call, header))
        reply = self.decode(call, header.results, *more)
        rpc.trace.append("<- %s" % reply)
        return reply

    def decode(self, call, results, *more):
        u = Unpacker(results)
        try:
            status = u.u32()
            if status not in STATUS_NAMES:
                raise XdrError("a status of %d, which is no nfsstat3" % status)
            fields = self.fields(u, status, *more)
            u.done()
        except (XdrError, struct.error) as error:
            raise rpc.GarbageAnswer("\n  call:     %s\n  expected: a well-formed result\n"
                                    "  actual:   %s\n  on the wire: %s"
                                    % (call, error, rpc.hexdump(results, 256))) from None
        return Reply(call, status, fields, len(results))

    def refused(self, call, arguments, *more):
        """What a server may do with arguments that are wrong: GARBAGE_ARGS or a status."""
        results = self.exchange(arguments)
        if results != GARBAGE:
            self.decode(call, results, *more).refused()

    def finish(self, destination, seconds=30):
        """The progress that is the last: complete, failed or aborted, or refused."""
        deadline = time.monotonic() + seconds
        while True:
            reply = self.progress(destination)
            if reply.status != NFS3_OK or reply.state in (COMPLETE, FAILED, ABORTED):
                return reply
            reply.expect(time.monotonic() < deadline, "an end within %d s" % seconds)
            time.sleep(0.02)

    def cloned(self, source, destination, path=b"x"):
        """A clone from beginning to end."""
        self.clone(source, destination, path).ok()
        return self.finish(destination).ok().expect_state(COMPLETE)


def _expect_state(reply, *states):
    return reply.expect(reply.state in states, "state " + " or ".join(states))


Reply.expect_state = _expect_state


class O(Dialect):
    name = "O"

    @staticmethod
    def command(command, path=b"", flags=0, version=1, path_bytes=None, field=None, padding=0,
                reserved=bytes(16)):
        """The 296 bytes. `path` gets its NUL; `field` is the whole field of 256 bytes instead."""
        field = path + b"\0" if field is None else field
        path_bytes = len(field) if path_bytes is None else path_bytes
        return (struct.pack("<QIIII", version, command, padding, flags, path_bytes)
                + field.ljust(O_PATH_BYTES, b"\0") + reserved)

    @staticmethod
    def arguments(target, source, command, kind=None):
        kind = (1 if source is None else 0) if kind is None else kind
        p = Packer().opaque(target).u32(kind)
        if kind == 0:
            p.opaque(source)
        return p.opaque(command).bytes()

    @staticmethod
    def fields(u, status, command):
        """`command`: the one that must be answered; None if the call was too broken to have one."""
        data = u.opaque(1024)
        if len(data) != O_REPLY_BYTES:
            raise XdrError("a reply of %d bytes, which clients take for a failure" % len(data))
        reply = OReply(*struct.unpack("<QIiQQQ8xQQ16x", data))
        if reply.version != 1 or command not in (None, reply.command):
            raise XdrError("message version %d, command %d" % (reply.version, reply.command))
        if reply.state not in O_STATES:
            raise XdrError("a clone state of %d" % reply.state)
        return {**reply._asdict(), "state": O_STATES[reply.state]}

    def start_command(self, number, target, source=None, path=b"", **more):
        call = "%d(%s, %s, %r)" % (number, show_handle(target),
                                   show_handle(source) if source else "-", path)
        return self.start(call, self.arguments(target, source, self.command(number, path, **more)),
                          number)

    def call(self, number, target, source=None, path=b"", **more):
        return self.wait(self.start_command(number, target, source, path, **more))

    def start_clone(self, source, destination, path=b"x"):
        return self.start_command(O_CLONE, destination, source, path)

    def clone(self, source, destination, path=b"x"):
        return self.wait(self.start_clone(source, destination, path))

    def fast(self, source_dir, source_name, source, dir, name):
        return self.call(O_CLONE, dir, source, name)

    def progress(self, destination):
        return self.call(O_PROGRESS, destination)

    def start_abort(self, destination):
        return self.start_command(O_ABORT, destination)

    def abort(self, destination):
        return self.wait(self.start_abort(destination))

    def reserve(self, file):
        return self.call(O_RESERVE, file)

    def reserved(self, file):
        return self.reserve(file)

    def usage(self, file):
        return self.call(O_STAT, file)

    def can(self, root):
        found = 0
        for number, bit in ((O_HAS_CLONE, CAN_CLONE), (O_HAS_RESERVE, CAN_RESERVE),
                            (O_HAS_STAT, CAN_STAT)):
            reply = self.call(number, root).ok()
            reply.expect(reply.result in (0, 1), "result 0 or 1")
            found |= bit if reply.result == 0 else 0
        return found


class Q(Dialect):
    name = "Q"

    @staticmethod
    def fields(u, status, op):
        if status != NFS3_OK:
            return {}
        answered = u.u32()
        if answered != op:
            raise XdrError("an answer to operation %d" % answered)
        if op == Q_REGISTER:
            return dict(primitives=u.u32())
        if op == Q_STAT:
            return dict(total=u.u64(), allocated=u.u64(), unique=u.u64())
        if op in (Q_INQUIRY, Q_ABORT):
            state = u.u32()
            if state not in Q_STATES:
                raise XdrError("a state of %d" % state)
            return dict(state=Q_STATES[state], **(dict(done=u.u64()) if op == Q_INQUIRY else {}))
        return {}

    @staticmethod
    def clone_arguments(source, destination, flags, name=None, source_name=None):
        p = Packer().u32(Q_CLONE).opaque(source).opaque(destination).u32(flags)
        if name is not None:
            p.opaque(name).opaque(source_name)
        return p.bytes()

    def file_call(self, op, file):
        return self.wait(self.start_file_call(op, file))

    def start_file_call(self, op, file):
        return self.start("%d(%s)" % (op, show_handle(file)),
                          Packer().u32(op).opaque(file).bytes(), op)

    def register(self, magic=Q_MAGIC):
        return self.ask("REGISTER(%x)" % magic, Packer().u32(Q_REGISTER).u64(magic).bytes(),
                        Q_REGISTER)

    def start_clone(self, source, destination, path=b"x", flags=0):
        return self.start("CLONEFILE(%s, %s, 0x%x)" % (show_handle(source),
                                                       show_handle(destination), flags),
                          self.clone_arguments(source, destination, flags), Q_CLONE)

    def clone(self, source, destination, path=b"x", flags=0):
        return self.wait(self.start_clone(source, destination, path, flags))

    def fast(self, source_dir, source_name, source, dir, name):
        return self.ask("CLONEFILE(%s, %r, %s, %r)" % (show_handle(source_dir), source_name,
                                                       show_handle(dir), name),
                        self.clone_arguments(source_dir, dir, Q_FLAGS_FAST, name, source_name),
                        Q_CLONE)

    def progress(self, destination):
        return self.file_call(Q_INQUIRY, destination)

    def start_abort(self, destination):
        return self.start_file_call(Q_ABORT, destination)

    def abort(self, destination):
        return self.wait(self.start_abort(destination))

    def reserve(self, file, count=0):
        return self.ask("RESERVESPACE(%s, %d)" % (show_handle(file), count),
                        Packer().u32(Q_RESERVE).opaque(file).u64(count).bytes(), Q_RESERVE)

    def reserved(self, file, count=0):
        """Reserve, and wait for the job."""
        reply = self.reserve(file, count)
        return self.finish(file) if reply.status == NFS3_OK else reply

    def usage(self, file):
        return self.file_call(Q_STAT, file)

    def can(self, root):
        return self.register().ok().primitives
