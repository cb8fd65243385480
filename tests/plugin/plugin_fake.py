# SPDX-License-Identifier: Apache-2.0
"""A server that fails plug-ins in chosen ways: MOUNT, NFS and procedure 22 in dialect O, in memory.

What a clone into a file does is in the file's name (Fake.clone, Fake.progress); `calls` lists the
commands that came, so that a test can count them. Files have no content but their name's byte."""
import socket
import socketserver
import struct
import threading

MOUNT, NFS = 100005, 100003
NOENT, IO, JUKEBOX = 2, 5, 10008
CLONE, PROGRESS, ABORT = 1, 4, 5
FILE_BYTES = 4096


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def handle(name):
    return opaque(name.ljust(16, b"\0"))


def attributes(size=FILE_BYTES):
    return struct.pack(">5I2Q2I2Q6I", 1, 0o644, 1, 0, 0, size, size, 0, 0, 1, 7, *[0] * 6)


class Args:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack(">I", self.data[self.at - 4:self.at])[0]

    def u64(self):
        return self.u32() << 32 | self.u32()

    def opaque(self):
        count = self.u32()
        start, self.at = self.at, self.at + count + -count % 4
        return self.data[start:start + count]

    def file(self):
        return self.opaque().rstrip(b"\0")


class Fake:
    def __init__(self):
        self.files, self.calls, self.polls = {b"image"}, [], {}
        fake = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                fake.serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads = True, True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def count(self, command):
        return sum(1 for called in self.calls if called == command)

    # -- RPC

    def serve(self, connection):
        stream = connection.makefile("rb")
        while True:
            mark = stream.read(4)
            if len(mark) < 4:
                return
            call = stream.read(struct.unpack(">I", mark)[0] & 0x7FFFFFFF)
            reply = self.answer(Args(call))
            if reply is None:
                connection.shutdown(socket.SHUT_RDWR)
                return
            reply = call[:4] + struct.pack(">5I", 1, 0, 0, 0, 0) + reply
            connection.sendall(struct.pack(">I", 0x80000000 | len(reply)) + reply)

    def answer(self, args):
        args.at = 12
        program, _, procedure = args.u32(), args.u32(), args.u32()
        for _ in range(2):  # credential, verifier
            args.u32()
            args.opaque()
        if procedure == 0:
            return b""
        if program == MOUNT:
            return struct.pack(">I", 0) + handle(b"root") + struct.pack(">II", 1, 1)
        return {1: self.getattr, 2: self.setattr, 3: self.lookup, 6: self.read, 8: self.create,
                12: self.remove, 22: self.extend}[procedure](args)

    # -- NFS

    def getattr(self, args):
        return struct.pack(">I", 0) + attributes()

    def setattr(self, args):
        return bytes(12)

    def lookup(self, args):
        args.opaque()
        name = args.opaque()
        if name not in self.files:
            return struct.pack(">II", NOENT, 0)
        return struct.pack(">I", 0) + handle(name) + bytes(8)

    def read(self, args):
        name, offset = args.file(), args.u64()
        data = (b"d" if name == b"differs" else b"s") * (FILE_BYTES - offset)
        return struct.pack(">IIII", 0, 0, len(data), 1) + opaque(data)

    def create(self, args):
        args.opaque()
        name = args.opaque()
        self.files.add(name)
        return struct.pack(">II", 0, 1) + handle(name) + bytes(12)

    def remove(self, args):
        args.opaque()
        self.files.discard(args.opaque())
        return bytes(12)

    # -- procedure 22

    def extend(self, args):
        name = args.file()
        if args.u32() == 0:
            args.opaque()
        command = struct.unpack("<QI", args.opaque()[:12])[1]
        self.calls.append(command)
        if command == CLONE:
            return self.clone(name)
        if command == PROGRESS:
            return self.progress(name)
        return self.reply(command)

    @staticmethod
    def reply(command, status=0, result=0, state=0, done=0, count=80):
        data = struct.pack("<QIiQQQ8xQQ16x", 1, command, result, 0, 0, 0, state, done)
        return struct.pack(">I", status) + opaque(data.ljust(count, b"\0")[:count])

    def clone(self, name):
        clones = self.count(CLONE)
        if name == b"full":
            return self.reply(CLONE, 28, 1004)
        if name == b"hangs-up" and clones < 3:
            return None
        if name == b"later" and clones < 3:
            return self.reply(CLONE, JUKEBOX)
        if name == b"short" and clones < 2:
            return self.reply(CLONE, count=79)
        if name == b"third-time" and clones < 3:
            return self.reply(CLONE, IO)
        return self.reply(CLONE)

    def progress(self, name):
        polls = self.polls[name] = self.polls.get(name, 0) + 1
        if name == b"refuses":
            return self.reply(PROGRESS, IO)
        if name == b"stalls":
            return self.reply(PROGRESS, IO if ABORT in self.calls else 0, state=1, done=77)
        if name == b"misses" and polls % 60 != 0 and polls < 130:
            return self.reply(PROGRESS, IO)
        if name == b"slow" and polls < 12 or name == b"misses" and polls < 130:
            return self.reply(PROGRESS, state=1, done=polls)
        return self.reply(PROGRESS, state=2, done=FILE_BYTES)
