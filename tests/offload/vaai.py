# SPDX-License-Identifier: Apache-2.0
"""NFS's procedure 22 in both dialects, packed by hand, and the little of MOUNT and NFSv3 that a
plug-in needs beside it."""

import struct

from native import Client, Result, opaque

NFS, MOUNT = 100003, 100005
CLONE, RESERVE, STAT, PROGRESS, ABORT, SUPPORT_CLONE, SUPPORT_RESERVE, SUPPORT_STAT = range(1, 9)
REGISTER, Q_RESERVE, Q_STAT, Q_CLONE, INQUIRY, TASKABORT = range(6)
STARTED, COPYING, COMPLETE = range(3)
WAITING, RUNNING, FINISHED, FAILED, ABORTED = range(5)
MAGIC, OLDER_MAGIC = 0x8068269529234103, 0x8068269529234111
BUSY, DISK_FULL = 1003, 1004
FAST, KEEP_THIN = 3, 0x10
OK, PERM, NOENT, IO, ACCES, EXIST, NOTDIR, ISDIR, INVAL = 0, 1, 2, 5, 13, 17, 20, 21, 22
NOSPC, ROFS, NAMETOOLONG, STALE = 28, 30, 63, 70
BADHANDLE, NOTSUPP, SERVERFAULT, JUKEBOX = 10001, 10004, 10006, 10008


def command(number, name=b"", version=1, length=None, flags=0):
    """Dialect O's 296 bytes; @name: without its NUL."""
    field = name + b"\0" if name else b""
    return struct.pack("<QIIII256sQQ", version, number, 0, flags,
                       len(field) if length is None else length, field, 0, 0)


class PlugIn(Client):
    """One connection, as a plug-in has it: MOUNT, LOOKUP, procedure 22."""

    def __init__(self, where, uid=0, source=None):
        super().__init__(where, NFS, uid=uid, source=source)

    def rpc(self, program, version, procedure, args=b""):
        self.send(procedure, args, program, version)
        return self.receive()

    def receive_statuses(self, count):
        """Of so many calls that were sent, in whatever order they are answered."""
        return [struct.unpack(">I", self.receive_record()[24:28])[0] for _ in range(count)]

    def mount(self, path):
        reader = self.rpc(MOUNT, 3, 1, opaque(path))
        assert reader.u32() == 0, "MNT failed"
        return reader.opaque()

    def lookup(self, directory, name):
        reader = self.rpc(NFS, 3, 3, opaque(directory) + opaque(name))
        assert reader.u32() == 0, f"LOOKUP of {name} failed"
        return reader.opaque()

    def create(self, directory, name):
        """UNCHECKED, with no attributes set."""
        reader = self.rpc(NFS, 3, 8, opaque(directory) + opaque(name) + bytes(28))
        assert reader.u32() == 0, f"CREATE of {name} failed"
        assert reader.u32() == 1
        return reader.opaque()

    def set_size(self, handle, size):
        reader = self.rpc(NFS, 3, 2, opaque(handle) + struct.pack(">IIIIQIII", 0, 0, 0, 1, size,
                                                                   0, 0, 0))
        assert reader.u32() == 0, "SETATTR failed"

    def call22(self, args):
        return self.rpc(NFS, 3, 22, args)

    # ---- dialect O

    def o_raw(self, target, data, source=None):
        union = struct.pack(">I", 1) if source is None else bytes(4) + opaque(source)
        reader = self.call22(opaque(target) + union + opaque(data))
        status = reader.u32()
        reply = reader.opaque()
        reader.done()
        assert len(reply) == 80
        (version, number, result, total, allocated, unique, reserved, state, done, *more) = \
            struct.unpack("<QIiQQQQQQQQ", reply)
        assert (version, reserved, more) == (1, 0, [0, 0])
        return Result(status=status, number=number, result=result, total=total,
                      allocated=allocated, unique=unique, state=state, done=done)

    def o(self, number, target, source=None, name=b""):
        told = self.o_raw(target, command(number, name), source)
        assert told.number == number
        return told

    # ---- dialect Q

    def q(self, operation, args):
        reader = self.call22(struct.pack(">I", operation) + args)
        told = Result(status=reader.u32())
        if told.status == OK:
            assert reader.u32() == operation
            if operation == REGISTER:
                told.primitives = reader.u32()
            elif operation == Q_STAT:
                told.total, told.allocated, told.unique = (reader.u64() for _ in range(3))
            elif operation == INQUIRY:
                told.state, told.done = reader.u32(), reader.u64()
            elif operation == TASKABORT:
                told.state = reader.u32()
        reader.done()
        return told

    def q_register(self, magic=MAGIC):
        return self.q(REGISTER, struct.pack(">Q", magic))

    def q_clone(self, source, destination, flags=0):
        return self.q(Q_CLONE, opaque(source) + opaque(destination) + struct.pack(">I", flags))

    def q_fast_clone(self, source_dir, source, destination_dir, destination):
        return self.q(Q_CLONE, opaque(source_dir) + opaque(destination_dir)
                      + struct.pack(">I", FAST) + opaque(destination) + opaque(source))

    def q_reserve(self, handle, count=0):
        return self.q(Q_RESERVE, opaque(handle) + struct.pack(">Q", count))
