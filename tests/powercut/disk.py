#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""disk.py FILE BYTES - a disk whose power can be cut: what was not flushed may be lost.

FILE becomes a file system of one file (FUSE, the kernel's protocol, no library), to be put under a
loop device. The loop device turns a flush into an fsync of FILE. A write changes what is read at
once; of each 4 KiB block that it changes, the disk keeps what was there before until the next
flush. When the power is cut each such block falls back to what it was at some moment since the last
flush, drawn by chance: old, new, or in between, whatever became of its neighbours. A disk with a
volatile cache may do the same, and promises no more.

Commands come as lines on standard input, and each is answered with a line:

    freeze SEED KEEP   the cut: nothing is answered from now on; KEEP is the chance of a block to
                       stay as it was written last. Answer: blocks not flushed, blocks lost
    fail               every request, those that wait included, fails as if the disk were gone
    on                 power is back
"""
import ctypes
import errno
import os
import random
import select
import stat
import struct
import sys

BLOCK_BYTES = 4096
WRITE_BYTES_MAX = 1 << 20
CACHE_BLOCKS_MAX = 16384  # 64 MiB that are not flushed; then the disk flushes by itself
ROOT = 1  # the file's node number
VALID_S = 3600  # nobody else changes it

IN_HEADER = struct.Struct("=IIQQIIIHH")
OUT_HEADER = struct.Struct("=IiQ")
INIT_IN = struct.Struct("=IIII")
INIT_OUT = struct.Struct("=IIIIHHIIHHI28x")
ATTR_OUT = struct.Struct("=QII6Q10I")
OPEN_OUT = struct.Struct("=QII")
READ_WRITE_IN = struct.Struct("=QQIIQII")
WRITE_OUT = struct.Struct("=II")

GETATTR, SETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH, INIT = 3, 4, 14, 15, 16, 18, 20, 25, 26
FORGET, INTERRUPT, BATCH_FORGET = 2, 36, 42
NOT_ANSWERED = (FORGET, INTERRUPT, BATCH_FORGET)
FUSE_MAJOR, FUSE_MINOR = 7, 31
FUSE_ASYNC_READ, FUSE_BIG_WRITES, FUSE_ASYNC_DIO, FUSE_MAX_PAGES = 1, 1 << 5, 1 << 15, 1 << 22
FOPEN_DIRECT_IO = 1  # the page cache keeps nothing of the file: no cut would reach it there


class Cache:
    """The bytes, and what the blocks that are not flushed were before."""

    def __init__(self, total_bytes):
        self._file = os.memfd_create("disk")
        os.truncate(self._file, total_bytes)
        self.total_bytes = total_bytes
        self._before = {}  # block -> its contents since the last flush, but for the newest

    def read(self, offset, count):
        return os.pread(self._file, count, offset)

    def write(self, offset, data):
        first = offset // BLOCK_BYTES
        end = -(-(offset + len(data)) // BLOCK_BYTES)
        old = self.read(first * BLOCK_BYTES, (end - first) * BLOCK_BYTES)
        for index in range(end - first):
            piece = old[index * BLOCK_BYTES:(index + 1) * BLOCK_BYTES]
            self._before.setdefault(first + index, []).append(piece)
        written = os.pwrite(self._file, data, offset)
        assert written == len(data)
        if len(self._before) > CACHE_BLOCKS_MAX:
            self.flush()

    def flush(self):
        self._before.clear()

    def lose(self, chance, keep):
        """The power is cut; gives how many blocks were not flushed, and how many are lost."""
        lost = 0
        for block, contents in self._before.items():
            if chance.random() >= keep:
                old = contents[0] if keep == 0 else chance.choice(contents)
                os.pwrite(self._file, old, block * BLOCK_BYTES)
                lost += 1
        unflushed = len(self._before)
        self._before.clear()
        return unflushed, lost


class Disk:
    """Answers the kernel's requests about one file."""

    def __init__(self, path, total_bytes):
        self._cache = Cache(total_bytes)
        self._kernel = os.open("/dev/fuse", os.O_RDWR)
        self._buffer = bytearray(WRITE_BYTES_MAX + BLOCK_BYTES)
        self._state = "on"
        mount(self._kernel, path)
        self._answers = {
            INIT: self._init, GETATTR: self._attributes, SETATTR: self._attributes,
            OPEN: lambda _: OPEN_OUT.pack(0, FOPEN_DIRECT_IO, 0), READ: self._read,
            WRITE: self._write, FSYNC: self._fsync, FLUSH: lambda _: b"", RELEASE: lambda _: b"",
        }

    def serve(self):
        """Until standard input ends, and with it whoever wants this disk."""
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        poll.register(self._kernel, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if sys.stdin.fileno() in ready:
                line = sys.stdin.buffer.raw.readline().decode().split()
                if not line:
                    return
                print(self._command(*line), flush=True)
                poll.modify(self._kernel, 0 if self._state == "frozen" else select.POLLIN)
            elif ready.get(self._kernel, 0) & select.POLLIN:
                self._request()
            else:
                return  # unmounted

    def _command(self, name, *arguments):
        if name == "freeze":
            self._state = "frozen"
            return "%d %d" % self._cache.lose(random.Random(arguments[0]), float(arguments[1]))
        self._state = {"fail": "gone", "on": "on"}[name]
        return name

    def _request(self):
        count = os.readv(self._kernel, [self._buffer])
        message = memoryview(self._buffer)[:count]
        _, opcode, unique, *_ = IN_HEADER.unpack_from(message)
        if opcode in NOT_ANSWERED:
            return
        code, body = 0, b""
        if opcode not in self._answers:
            code = -errno.ENOSYS
        elif self._state == "gone" and opcode in (READ, WRITE, FSYNC):
            code = -errno.EIO
        else:
            body = self._answers[opcode](message[IN_HEADER.size:])
        try:
            os.writev(self._kernel, [OUT_HEADER.pack(OUT_HEADER.size + len(body), code, unique),
                                     body])
        except FileNotFoundError:
            pass  # who asked was interrupted

    def _init(self, body):
        _, _, readahead, _ = INIT_IN.unpack_from(body)
        flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_ASYNC_DIO | FUSE_MAX_PAGES
        pages = WRITE_BYTES_MAX // BLOCK_BYTES
        return INIT_OUT.pack(FUSE_MAJOR, FUSE_MINOR, readahead, flags, 64, 48, WRITE_BYTES_MAX, 1,
                             pages, 0, 0)

    def _attributes(self, _):
        total = self._cache.total_bytes
        return ATTR_OUT.pack(VALID_S, 0, 0, ROOT, total, total // 512, 0, 0, 0, 0, 0, 0,
                             stat.S_IFREG | 0o600, 1, 0, 0, 0, BLOCK_BYTES, 0)

    def _read(self, body):
        _, offset, count, *_ = READ_WRITE_IN.unpack_from(body)
        return self._cache.read(offset, count)

    def _write(self, body):
        _, offset, count, *_ = READ_WRITE_IN.unpack_from(body)
        self._cache.write(offset, body[READ_WRITE_IN.size:READ_WRITE_IN.size + count])
        return WRITE_OUT.pack(count, 0)

    def _fsync(self, _):
        self._cache.flush()
        return b""


def mount(kernel, path):
    """The root of the file system is a plain file, and so is what it is mounted on."""
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={kernel},rootmode={stat.S_IFREG | 0o600:o},user_id=0,group_id=0"
    if libc.mount(b"disk", path.encode(), b"fuse", 0, options.encode()) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)


def main():
    disk = Disk(sys.argv[1], int(sys.argv[2]))
    print("ready", flush=True)
    disk.serve()


if __name__ == "__main__":
    main()
