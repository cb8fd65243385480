#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wire_check.py --port N --export PATH: does a server do, over the wire, what people use it for?

Mounts through MOUNT, creates, writes, reads, renames, lists and removes, and compares what comes
back with what was sent; with --offload, it has the server clone a file as well. Prints a line a
step with its time. The client underneath is the conformance suite's, which has an XDR of its own.

Exit status: 0 all went well, 1 something did not (the last line says what).
"""
import argparse
import contextlib
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "conformance"))

import mount3  # noqa: E402
import nfs3  # noqa: E402
import offload  # noqa: E402
import rpc  # noqa: E402

FILES = 200
BIG_BYTES = 32 << 20
CHUNK_BYTES = 256 << 10
SMALL_BYTES = 4096
SMALL_WRITES = 100


@contextlib.contextmanager
def step(name):
    """Print the step's name, what it found and how long it took."""
    notes = []
    started = time.monotonic()
    try:
        yield notes.append
    except AssertionError as error:
        print("%-9s FAILED: %s" % (name, error))
        raise
    spent_ms = (time.monotonic() - started) * 1000
    print("%-9s %s (%.1f ms)" % (name, ", ".join(notes), spent_ms), flush=True)


def pattern(position, count):
    """Bytes that differ at every position, so that a misplaced block is noticed."""
    out = bytearray()
    while len(out) < count:
        out += hashlib.sha256(b"%d" % (position + len(out))).digest() * 128
    return bytes(out[:count])


def expect(condition, sentence):
    assert condition, sentence


def check_mount(mount, path):
    with step("mount") as note:
        exports = mount.export()
        expect(path in [name for name, _ in exports], "EXPORT does not list %r" % path)
        root = mount.mnt(path).ok().fh
        note("EXPORT lists %s" % path.decode())
        note("MNT gave a handle of %d bytes" % len(root))
    return root


def check_write(nfs, home):
    """The big file in pieces that the server may keep in memory, then COMMIT; small ones stable."""
    big = nfs.new_file(home, b"big")
    with step("write") as note:
        started = time.monotonic()
        for position in range(0, BIG_BYTES, CHUNK_BYTES):
            reply = nfs.write(big, position, pattern(position, CHUNK_BYTES), nfs3.UNSTABLE).ok()
            expect(reply.count == CHUNK_BYTES, "a WRITE of %d bytes took %d" % (CHUNK_BYTES,
                                                                            reply.count))
        nfs.commit(big).ok()
        speed = (BIG_BYTES >> 20) / (time.monotonic() - started)
        note("%d MiB UNSTABLE and a COMMIT, %.0f MiB/s" % (BIG_BYTES >> 20, speed))
    with step("stable") as note:
        small = nfs.new_file(home, b"small")
        for position in range(0, SMALL_WRITES * SMALL_BYTES, SMALL_BYTES):
            nfs.write(small, position, pattern(position, SMALL_BYTES), nfs3.FILE_SYNC).ok()
        note("%d WRITEs of %d bytes FILE_SYNC, one after another" % (SMALL_WRITES, SMALL_BYTES))
    return big


def check_read(nfs, big):
    with step("read") as note:
        size = nfs.attributes(big).size
        expect(size == BIG_BYTES, "GETATTR says %d bytes" % size)
        for position in range(0, BIG_BYTES, CHUNK_BYTES):
            reply = nfs.read(big, position, CHUNK_BYTES).ok()
            expect(reply.data == pattern(position, CHUNK_BYTES),
                   "READ at %d gave other bytes than were written" % position)
        note("%d MiB back, equal" % (BIG_BYTES >> 20))


def check_clone(nfs, home, path):
    """By path, as a person names files; the checksums are the server's, the bytes are compared."""
    sidecar = offload.Offload(nfs.connection, nfs.cred)
    folder = path.rstrip(b"/") + b"/lodestore-check/"
    source, copy = (offload.by_path(folder + name) for name in (b"big", b"clone"))
    with step("clone") as note:
        can = sidecar.support(source).ok()
        job = sidecar.clone(source, copy).complete()
        note("%d MiB on %s by the engine '%s'" % (job.bytes_total >> 20, can.file_system,
                                                  job.engine))
        note("the job took %d ms" % (job.finished_ms - job.created_ms))
    with step("checksum") as note:
        sums = [sidecar.checksum(file).complete().checksum for file in (source, copy)]
        expect(sums[0] == sums[1], "the clone's checksum %s is not the source's, %s" % (
            sums[1], sums[0]))
        note("XXH3-128 %s of both" % sums[0])
    check_read(nfs, nfs.find(home, b"clone"))


def check_names(nfs, home):
    with step("create") as note:
        folder = nfs.new_dir(home, b"folder")
        for number in range(FILES):
            nfs.create(folder, b"file%03d" % number, mode=0o644).ok()
        nfs.symlink(folder, b"link", b"file000").ok()
        note("%d files and a symbolic link" % FILES)
    with step("rename") as note:
        nfs.rename(folder, b"file000", home, b"moved").ok()
        nfs.lookup(folder, b"file000").fails(nfs3.NFS3ERR_NOENT)
        nfs.lookup(home, b"moved").ok()
        note("into another directory; the old name is gone")
    with step("list") as note:
        wanted = {b"file%03d" % number for number in range(1, FILES)} | {b"link"}
        for plus in (False, True):
            found = nfs.names(folder, plus=plus)
            expect(found == sorted(wanted), "%s lists %d names, not the %d that are there" % (
                "READDIRPLUS" if plus else "READDIR", len(found), len(wanted)))
        note("READDIR and READDIRPLUS: %d names each, none missing, none twice" % len(wanted))


def check_remove(nfs, root, home, big):
    with step("remove") as note:
        nfs.remove_tree(root, b"lodestore-check")
        nfs.lookup(root, b"lodestore-check").fails(nfs3.NFS3ERR_NOENT)
        nfs.getattr(big).fails(nfs3.NFS3ERR_STALE)
        note("the whole tree; a handle into it is stale now")


def check_all(host, port, mount_port, path, with_offload):
    with step("connect") as note:
        mount = mount3.Mount(rpc.TcpConnection(host, mount_port), rpc.auth_sys(0, 0))
        nfs = nfs3.Nfs3(rpc.TcpConnection(host, port), rpc.auth_sys(0, 0))
        mount.null()
        nfs.null()
        note("MOUNT on port %d and NFS on port %d answer" % (mount_port, port))
    root = check_mount(mount, path)
    with step("space") as note:
        space, limits = nfs.fsstat(root).ok(), nfs.fsinfo(root).ok()
        note("%d MiB free, reads and writes up to %d KiB" % (space.abytes >> 20,
                                                             limits.wtmax >> 10))
    home = nfs.new_dir(root, b"lodestore-check")
    big = check_write(nfs, home)
    check_read(nfs, big)
    if with_offload:
        check_clone(nfs, home, path)
    check_names(nfs, home)
    check_remove(nfs, root, home, big)
    with step("unmount") as note:
        mount.umnt(path)
        expect(not mount.dump(), "DUMP still lists a mount")
        note("DUMP is empty again")


def main():
    parser = argparse.ArgumentParser(description="Work on an NFSv3 server over the wire.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--mount-port", type=int, help="default: --port")
    parser.add_argument("--export", required=True, metavar="PATH")
    parser.add_argument("--offload", action="store_true", help="clone a file, too")
    known = parser.parse_args()
    try:
        check_all(known.host, known.port, known.mount_port or known.port, known.export.encode(),
                  known.offload)
    except AssertionError as error:
        print("FAILED: %s" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
