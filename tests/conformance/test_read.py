# SPDX-License-Identifier: Apache-2.0
"""READ: RFC 1813 section 3.3.6."""
import os

import pytest

from nfs3 import (NF3CHR, NF3FIFO, NF3SOCK, NFS3ERR_ACCES, NFS3ERR_INVAL, NFS3ERR_ISDIR,
                  NFS3ERR_NXIO, NFS3ERR_STALE)

rule = pytest.mark.rule


def pattern(length, seed=0):
    """Bytes in which every 4-byte word tells its own place."""
    words = b"".join((seed + i).to_bytes(4, "big") for i in range((length + 3) // 4))
    return words[:length]


@pytest.fixture
def ten_k(nfs, home):
    return nfs.new_file(home, b"ten", pattern(10000))


@pytest.mark.parametrize("offset, count, length, eof", [
    (0, 10000, 10000, True), (0, 10001, 10000, True), (0, 20000, 10000, True),
    (0, 9999, 9999, False), (0, 1, 1, False), (9999, 1, 1, True), (9998, 1, 1, False),
    (5000, 5000, 5000, True), (5000, 4999, 4999, False), (1, 9999, 9999, True),
    (511, 513, 513, False), (4096, 4096, 4096, False), (8192, 4096, 1808, True)])
@rule("esxi.md 17a", "esxi.md 17b", "RFC 1813 3.3.6")
def test_eof_comes_with_the_last_byte(nfs, ten_k, offset, count, length, eof):
    """eof is set exactly when offset + count reaches the size; only there is a READ short."""
    reply = nfs.read(ten_k, offset, count).ok()
    reply.expect((reply.count, reply.eof) == (length, eof), "count=%d eof=%s" % (length, eof))
    assert reply.data == pattern(10000)[offset:offset + count], "the data are not those written"


@pytest.mark.parametrize("offset", [10000, 10001, 1 << 20, 1 << 40, (1 << 63) - 4096,
                                    (1 << 63) - 1])
@rule("esxi.md 17c", "RFC 1813 3.3.6", "defects.md Create 8a")
def test_past_the_end(nfs, ten_k, offset):
    """READ at or past the end is OK, with nothing and eof."""
    reply = nfs.read(ten_k, offset, 4096).ok()
    reply.expect((reply.count, reply.eof) == (0, True), "count=0 eof=True")


@pytest.mark.parametrize("offset", [1 << 63, (1 << 64) - 4096, (1 << 64) - 1])
@rule("defects.md Create 8a", "RFC 1813 3.3.6")
def test_offset_beyond_every_file(nfs, ten_k, offset):
    """Offsets that no file can have: nothing and eof, or INVAL; the sum does not wrap around."""
    reply = nfs.read(ten_k, offset, 4096)
    if reply.status != NFS3ERR_INVAL:
        reply.ok().expect((reply.count, reply.eof) == (0, True), "count=0 eof=True, or INVAL")


@pytest.mark.parametrize("count", [0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 1 << 24])
@rule("defects.md RPC 5b", "RFC 1813 3.3.6")
def test_enormous_count(nfs, ten_k, count):
    """A count beyond everything reads what there is."""
    reply = nfs.read(ten_k, 0, count).ok()
    reply.expect((reply.count, reply.eof) == (10000, True), "count=10000 eof=True")
    nfs.getattr(ten_k).ok()


@rule("RFC 1813 3.3.6")
@pytest.mark.parametrize("offset, eof", [(0, False), (5000, False), (10000, True)])
def test_count_of_zero(nfs, ten_k, offset, eof):
    """READ of 0 bytes succeeds with 0 bytes; eof only at the end."""
    reply = nfs.read(ten_k, offset, 0).ok()
    reply.expect((reply.count, reply.eof) == (0, eof), "count=0 eof=%s" % eof)


@rule("esxi.md 17c")
def test_empty_file(nfs, fh):
    """An empty file ends at its beginning."""
    reply = nfs.read(fh, 0, 512).ok()
    reply.expect((reply.count, reply.eof) == (0, True), "count=0 eof=True")


@pytest.mark.parametrize("size", [65536, 131072, 262144, 524288, 1048576])
@rule("esxi.md 21a", "RFC 1813 3.3.19")
def test_large_transfer(nfs, home, size):
    """Up to rtmax, one READ brings all that was asked for."""
    rtmax = nfs.fsinfo(home).ok().rtmax
    size = min(size, rtmax)
    data = os.urandom(4096) * (size // 4096 + 1)
    handle = nfs.new_file(home, b"large", data[:size + 1])
    reply = nfs.read(handle, 0, size).ok()
    reply.expect((reply.count, reply.eof) == (size, False), "count=%d eof=False" % size)
    assert reply.data == data[:size], "the data are not those written"


@pytest.mark.parametrize("offset, count", [
    (512, 512), (1024, 65536), (1536, 131072), (3, 5), (511, 2), (4095, 4098), (65535, 65537)])
@rule("esxi.md 21b")
def test_alignment(nfs, home, offset, count):
    """Reads need no alignment, and certainly no more than 512 bytes."""
    data = pattern(200000)
    handle = nfs.new_file(home, b"aligned", data)
    reply = nfs.read(handle, offset, count).ok()
    reply.expect(reply.count == count, "count=%d" % count)
    assert reply.data == data[offset:offset + count], "the data are not those written"


@rule("RFC 1813 3.3.6")
def test_hole_is_zeros(nfs, home):
    """What was never written reads as zeros, before and between data."""
    handle = nfs.new_file(home, b"sparse")
    nfs.write(handle, 1 << 20, b"data").ok()
    reply = nfs.read(handle, 0, 65536).ok()
    reply.expect((reply.count, reply.eof) == (65536, False), "count=65536 eof=False")
    assert reply.data == bytes(65536), "a hole holds something"
    reply = nfs.read(handle, (1 << 20) - 8, 100).ok()
    reply.expect((reply.data, reply.eof) == (bytes(8) + b"data", True), "8 zeros and the data, eof")


@rule("RFC 1813 3.3.6")
def test_after_truncation_and_growth(nfs, home):
    """What was cut off does not come back when the file grows again."""
    handle = nfs.new_file(home, b"f", b"\xff" * 10000)
    nfs.setattr(handle, size=5000).ok()
    nfs.setattr(handle, size=10000).ok()
    data = nfs.read_all(handle)
    assert data == b"\xff" * 5000 + bytes(5000), "expected 5000 old bytes and 5000 zeros, got %r" \
        % data[4990:5010]


@rule("RFC 1813 3.3.6")
def test_of_a_directory(nfs, home):
    """A directory cannot be READ. (The RFC's own list has INVAL; ISDIR is customary.)"""
    nfs.read(home, 0, 512).fails(NFS3ERR_INVAL, NFS3ERR_ISDIR)


@rule("RFC 1813 3.3.6")
def test_of_a_symlink(nfs, home, fh):
    """A symbolic link is not followed and cannot be READ."""
    nfs.read(nfs.new_symlink(home, b"l", b"file"), 0, 512).fails(NFS3ERR_INVAL)


@rule("RFC 1813 3.3.6")
@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_of_a_special_file(nfs, home, as_root, kind):
    """READ of a FIFO, socket or device is refused at once; the server opens none of them."""
    type = {"fifo": NF3FIFO, "socket": NF3SOCK, "device": NF3CHR}[kind]
    handle = nfs.handle_of_new(nfs.mknod(home, b"x", type, rdev=(1, 5), mode=0o666), home, b"x")
    nfs.read(handle, 0, 512).fails(NFS3ERR_INVAL, NFS3ERR_NXIO, NFS3ERR_ACCES)


@rule("RFC 1813 3.3.6")
def test_of_a_removed_file(nfs, home, ten_k):
    """A removed file is stale, even if it was just being read."""
    nfs.read(ten_k, 0, 100).ok()
    nfs.remove(home, b"ten").ok()
    nfs.read(ten_k, 0, 100).fails(NFS3ERR_STALE)


@rule("RFC 1813 4.4", "defects.md Create 5a")
@pytest.mark.parametrize("mode", [0o000, 0o200, 0o077])
def test_owner_reads_whatever_the_mode(nfs, home, user, mode):
    """The owner may read against the mode: a program may have opened the file before."""
    handle = nfs.new_file(home, b"mine", b"data")
    nfs.setattr(handle, uid=1000, gid=1000).ok()
    nfs.setattr(handle, mode=mode).ok()
    reply = user.read(handle, 0, 100).ok()
    reply.expect(reply.data == b"data", "the data")


@rule("RFC 1813 4.4", "defects.md Create 5b")
@pytest.mark.parametrize("uid, gid, gids, mode, allowed", [
    (1001, 1001, (), 0o600, False), (1001, 1001, (), 0o660, False), (1001, 1000, (), 0o606, False),
    (1001, 1000, (), 0o640, True), (1001, 1001, (1000,), 0o640, True),
    (1001, 1001, (), 0o604, True), (1001, 1001, tuple(range(2000, 2015)) + (1000,), 0o640, True)])
def test_others_read_as_the_mode_says(nfs, home, as_root, uid, gid, gids, mode, allowed):
    """Everybody but the owner is held to the mode, by group and by each of up to 16 groups."""
    handle = nfs.new_file(home, b"his", b"data")
    nfs.setattr(handle, uid=1000, gid=1000).ok()
    nfs.setattr(handle, mode=mode).ok()
    reply = nfs.as_user(uid, gid, gids).read(handle, 0, 100)
    if allowed:
        reply.ok()
    else:
        reply.fails(NFS3ERR_ACCES)


@rule("RFC 1813 4.4")
def test_execute_permission_lets_read(nfs, home, other):
    """A program must be read to be executed: the server cannot tell, and lets it be read."""
    handle = nfs.new_file(home, b"program", b"data")
    nfs.setattr(handle, uid=1000, gid=1000).ok()
    nfs.setattr(handle, mode=0o711).ok()
    other.read(handle, 0, 100).ok()


@rule("RFC 1813 3.3.6")
def test_sees_a_write_of_another_connection(server, nfs, fh):
    """No READ comes from a copy that is out of date: the next one sees every finished WRITE."""
    second = server.nfs()
    for round in range(20):
        text = b"round %02d" % round
        second.write(fh, 0, text).ok()
        reply = nfs.read(fh, 0, 100).ok()
        reply.expect(reply.data == text, "%r" % text)
    second.connection.close()


@rule("RFC 1813 3.3.6")
def test_pipelined_reads(nfs, home):
    """Sixty-four READs in flight each get their own data."""
    data = pattern(64 * 4096)
    handle = nfs.new_file(home, b"many", data)
    pending = [nfs.start("READ", file=handle, offset=i * 4096, count=4096) for i in range(64)]
    for i, call in reversed(list(enumerate(pending))):
        reply = nfs.wait(call).ok()
        reply.expect(reply.data == data[i * 4096:(i + 1) * 4096], "block %d" % i)


@rule("RFC 1813 3.3.6")
def test_read_only_export_can_be_read(nfs, ro_root):
    """A read-only export is read: its root can be listed and examined."""
    nfs.getattr(ro_root).ok()
    nfs.readdir(ro_root).ok()
