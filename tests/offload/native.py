# SPDX-License-Identifier: Apache-2.0
"""offload.x as a client sees it, over TCP or a Unix socket, with an XDR of its own."""

import socket
import struct

PROGRAM, RELAY_PROGRAM = 0x20004C53, 0x20004C54
SUPPORT, CLONE, RESERVE, STAT, CHECKSUM, PUNCH, JOB, JOBS, CANCEL, WAIT = range(1, 11)
QUEUED, RUNNING, COMPLETE, FAILED, CANCELLED = range(5)
FAST, VERIFY, NEW = 1, 2, 4
DRY_RUN = 1
(OK, INVALID, NOENT, ACCESS, READ_ONLY, EXISTS, NOT_FILE, SAME_FILE, STALE, BUSY, LOCKED, NO_SPACE,
 UNSUPPORTED, CHANGED, GONE, DIFFERS, CANCELLED_STATUS, NO_JOB, TOO_MANY, IO, UNAVAILABLE,
 INTERNAL) = range(22)


class RpcError(Exception):
    """The call was not answered with results."""


def opaque(data):
    if isinstance(data, str):
        data = data.encode()
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def path(name):
    return struct.pack(">I", 1) + opaque(name)


def handle(data):
    return struct.pack(">I", 0) + opaque(data)


def below(directory, name):
    return struct.pack(">I", 2) + opaque(directory) + opaque(name)


def envelope(address, port=1000, uid=0, gid=0, groups=()):
    return (bytes(10) + b"\xff\xff" + socket.inet_aton(address)
            + struct.pack(">IIII", port, uid, gid, len(groups))
            + b"".join(struct.pack(">I", group) for group in groups))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at:self.at + count]
        assert len(part) == count, "the result is cut short"
        self.at += count
        return part

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.take(8))[0]

    def opaque(self):
        count = self.u32()
        data = self.take(count)
        self.take(-count % 4)
        return data

    def done(self):
        assert self.at == len(self.data), "bytes are left over"


class Result:
    """A status, and what comes with it."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __repr__(self):
        return repr(self.__dict__)


def read_job(reader):
    job = Result(refused=OK, id=reader.u64(), kind=reader.u32(), state=reader.u32(),
                 status=reader.u32(), flags=reader.u32(), engine=reader.opaque().decode(),
                 done=reader.u64(), total=reader.u64(), moved=reader.u64(), rate=reader.u64(),
                 created=reader.u64(), started=reader.u64(), finished=reader.u64())
    has_checksum = reader.u32()
    checksum = reader.take(16).hex()
    job.checksum = checksum if has_checksum else None
    job.text = reader.opaque().decode()
    job.source, job.destination = reader.opaque().decode(), reader.opaque().decode()
    return job


class Client:
    def __init__(self, where, program=PROGRAM, before=b"", uid=0, source=None):
        if isinstance(where, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(where)
        else:
            self.socket = socket.create_connection(where, None, source and (source, 0))
        self.socket.settimeout(60)
        self.program, self.before, self.uid, self.xid = program, before, uid, 1000

    def close(self):
        self.socket.close()

    def send(self, procedure, args=b"", program=None, version=1):
        self.xid += 1
        cred = struct.pack(">I", 0) + opaque("test") + struct.pack(">III", self.uid, self.uid, 0)
        call = (struct.pack(">IIIIII", self.xid, 0, 2, program or self.program, version, procedure)
                + struct.pack(">I", 1) + opaque(cred) + bytes(8) + self.before + args)
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)

    def receive_bytes(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError("the server closed the connection")
            data += part
        return data

    def receive_record(self):
        data, last = b"", False
        while not last:
            mark = struct.unpack(">I", self.receive_bytes(4))[0]
            last = bool(mark >> 31)
            data += self.receive_bytes(mark & 0x7FFFFFFF)
        return data

    def receive(self):
        data = self.receive_record()
        xid, reply, denied, _, length = struct.unpack(">IIIII", data[:20])
        assert (xid, reply, length) == (self.xid, 1, 0)
        if denied:
            raise RpcError("denied")
        accept_stat = struct.unpack(">I", data[20:24])[0]
        if accept_stat:
            raise RpcError(accept_stat)
        return Reader(data[24:])

    def call(self, procedure, args=b""):
        self.send(procedure, args)
        return self.receive()

    def refusal(self, reader, status):
        text = reader.opaque().decode()
        reader.done()
        assert text
        return Result(refused=status, text=text)

    def job_call(self, procedure, args):
        reader = self.call(procedure, args)
        status = reader.u32()
        if status:
            return self.refusal(reader, status)
        job = read_job(reader)
        reader.done()
        return job

    def clone(self, source, destination, flags=0, wait=20):
        return self.job_call(CLONE, source + destination + struct.pack(">II", flags, wait))

    def reserve(self, file, size=0, wait=20):
        return self.job_call(RESERVE, file + struct.pack(">QI", size, wait))

    def checksum(self, file, wait=20):
        return self.job_call(CHECKSUM, file + struct.pack(">I", wait))

    def punch(self, file, flags=0, wait=20):
        return self.job_call(PUNCH, file + struct.pack(">II", flags, wait))

    def job(self, job_id):
        return self.job_call(JOB, struct.pack(">IQ", 0, job_id))

    def job_of(self, file):
        return self.job_call(JOB, struct.pack(">I", 1) + file)

    def cancel(self, job_id):
        return self.job_call(CANCEL, struct.pack(">IQ", 0, job_id))

    def wait(self, job_id, seconds=20):
        return self.job_call(WAIT, struct.pack(">IQI", 0, job_id, seconds))

    def stat(self, file):
        reader = self.call(STAT, file)
        status = reader.u32()
        if status:
            return self.refusal(reader, status)
        result = Result(refused=OK, total=reader.u64(), allocated=reader.u64(),
                        unique=reader.u64(), extents=reader.u64(), knows_shared=reader.u32())
        reader.done()
        return result

    def support(self, file):
        reader = self.call(SUPPORT, file)
        status = reader.u32()
        if status:
            return self.refusal(reader, status)
        result = Result(refused=OK, can=reader.u32(), file_system=reader.opaque().decode(),
                        version=reader.opaque().decode())
        reader.done()
        return result

    def jobs(self, after=0, count=32):
        reader = self.call(JOBS, struct.pack(">QI", after, count))
        status = reader.u32()
        if status:
            return self.refusal(reader, status)
        result = Result(refused=OK, jobs=[read_job(reader) for _ in range(reader.u32())],
                        eof=bool(reader.u32()))
        reader.done()
        return result
