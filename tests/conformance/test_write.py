# SPDX-License-Identifier: Apache-2.0
"""WRITE: RFC 1813 section 3.3.7."""
import os

import pytest

import rpc
from nfs3 import (DATA_SYNC, FILE_SYNC, NF3CHR, NF3FIFO, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_FBIG,
                  NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NXIO, NFS3ERR_ROFS, NFS3ERR_STALE,
                  NUMBERS, PROGRAM, UNSTABLE, VERSION, decode_result, pack_arguments)

rule = pytest.mark.rule
LEVELS = pytest.mark.parametrize("stable", [UNSTABLE, DATA_SYNC, FILE_SYNC],
                                 ids=["unstable", "data_sync", "file_sync"])


@LEVELS
@rule("RFC 1813 3.3.7", "defects.md Durability 1a", "esxi.md 18a")
def test_committed_is_at_least_what_was_asked(nfs, fh, stable):
    """The reply's level is the one asked for or a stronger one, and all bytes were taken."""
    reply = nfs.write(fh, 0, b"x" * 4096, stable).ok()
    reply.expect(reply.committed >= stable, "committed of at least %d" % stable)
    reply.expect(reply.count == 4096, "count=4096")
    assert nfs.read_all(fh) == b"x" * 4096


@LEVELS
@pytest.mark.parametrize("size", [1, 3, 84, 511, 512, 4096, 65536, 1048576])
@rule("RFC 1813 3.3.7", "esxi.md 21a")
def test_sizes(nfs, fh, size, stable):
    """From one byte to 1 MiB (or wtmax, if that is less): one WRITE, all of it, and it reads
    back."""
    size = min(size, nfs.fsinfo(fh).ok().wtmax)
    data = os.urandom(size)
    reply = nfs.write(fh, 0, data, stable).ok()
    reply.expect(reply.count == size, "count=%d" % size)
    assert nfs.read_all(fh, 1 << 20) == data, "the data read are not those written"


@pytest.mark.parametrize("offset, size", [
    (1, 1), (511, 2), (512, 512), (4095, 4098), (65535, 3), (100000, 100000), (7, 65536)])
@rule("esxi.md 21b", "RFC 1813 3.3.7")
def test_alignment(nfs, home, offset, size):
    """A WRITE anywhere changes exactly its bytes and no neighbour."""
    before = os.urandom(200000)
    handle = nfs.new_file(home, b"aligned", before)
    data = os.urandom(size)
    nfs.write(handle, offset, data).ok()
    after = nfs.read_all(handle)
    length = max(len(before), offset + size)
    expected = (before[:offset] + data + before[offset + size:])[:length]
    assert after == expected, "the file differs from what was written"


@rule("RFC 1813 3.3.7")
def test_beyond_the_end_leaves_a_hole(nfs, fh):
    """Writing past the end extends the file; between lie zeros."""
    nfs.write(fh, 0, b"begin").ok()
    nfs.write(fh, 100000, b"end").ok()
    assert nfs.attributes(fh).size == 100003
    assert nfs.read_all(fh) == b"begin" + bytes(99995) + b"end"


@rule("RFC 1813 3.3.7")
def test_inside_keeps_the_size(nfs, home):
    """A WRITE inside the file does not change its size."""
    handle = nfs.new_file(home, b"f", bytes(10000))
    nfs.write(handle, 100, b"inside").ok()
    assert nfs.attributes(handle).size == 10000


@LEVELS
@rule("RFC 1813 3.3.7")
def test_count_of_zero(nfs, home, stable):
    """WRITE of 0 bytes succeeds and changes nothing, wherever it points."""
    handle = nfs.new_file(home, b"f", b"content")
    for offset in (0, 3, 100000):
        reply = nfs.write(handle, offset, b"", stable).ok()
        reply.expect(reply.count == 0, "count=0")
    assert nfs.read_all(handle) == b"content"


@pytest.mark.parametrize("count, length", [
    (0, 100), (50, 100), (100, 50), (100, 0), (101, 100), (0xFFFFFFFF, 100), (0x80000000, 4)])
@rule("defects.md RPC 5a", "RFC 1813 3.3.7")
def test_count_and_data_disagree(nfs, home, count, length):
    """count says one thing, the data another: refused, or the smaller of both written - no byte
    that was not sent ends up in the file, and the connection goes on."""
    handle = nfs.new_file(home, b"f")
    sent = b"d" * length
    header = nfs.connection.call_rpc(
        PROGRAM, VERSION, NUMBERS["WRITE"],
        pack_arguments("WRITE", file=handle, offset=0, data=sent, count=count), nfs.cred)
    if header.accept_stat != rpc.GARBAGE_ARGS:
        reply = nfs.decode(header, "WRITE", "WRITE(count=%d, data of %d bytes)" % (count, length))
        if reply.status == NFS3_OK:
            reply.expect(reply.count <= min(count, length), "count of at most %d"
                         % min(count, length))
        else:
            reply.fails(NFS3ERR_INVAL)
    content = nfs.read_all(handle)
    assert sent.startswith(content), "the file holds %r, which was not sent" % content[:100]


@pytest.mark.parametrize("stable", [3, 0x80000000, 0xFFFFFFFF])
@rule("defects.md RPC 4f", "RFC 5531 9")
def test_stable_how_out_of_range(nfs, fh, stable):
    """A stable_how that is none: GARBAGE_ARGS, or INVAL from a server that decodes before it
    looks."""
    header = nfs.connection.call_rpc(
        PROGRAM, VERSION, NUMBERS["WRITE"],
        pack_arguments("WRITE", file=fh, offset=0, data=b"data", stable=stable), nfs.cred)
    if header.accept_stat != rpc.GARBAGE_ARGS:
        nfs.decode(header, "WRITE", "WRITE(stable=%d)" % stable).fails(NFS3ERR_INVAL)
    assert nfs.attributes(fh).size == 0, "a refused WRITE wrote"


@pytest.mark.parametrize("offset", [(1 << 63) - 1, (1 << 63) - 512, 1 << 63, (1 << 64) - 512,
                                    (1 << 64) - 1])
@LEVELS
@rule("defects.md Create 8b", "RFC 1813 3.3.7")
def test_offset_beyond_every_file(nfs, fh, offset, stable):
    """Where offset + count passes 2^63 or 2^64: FBIG (or INVAL), and the file stays as it was."""
    nfs.write(fh, offset, b"x" * 1024, stable).fails(NFS3ERR_FBIG, NFS3ERR_INVAL)
    assert nfs.attributes(fh).size == 0, "the file grew"


@rule("esxi.md 20e", "RFC 1813 3.3.7", "RFC 1813 3.3.19")
def test_maxfilesize_is_the_limit(nfs, fh):
    """A WRITE past FSINFO's maxfilesize is FBIG; one that ends there is not (a full disk apart)."""
    limit = nfs.fsinfo(fh).ok().maxfilesize
    nfs.write(fh, limit, b"x").fails(NFS3ERR_FBIG, NFS3ERR_INVAL)
    assert nfs.attributes(fh).size == 0, "the file grew"
    reply = nfs.write(fh, limit - 1, b"x")
    reply.ok().expect(nfs.attributes(fh).size == limit, "a file of %d bytes" % limit)


@rule("RFC 1813 3.3.19", "RFC 1813 3.3.7")
def test_more_than_wtmax(nfs, fh):
    """More than wtmax in one WRITE: written in part or in whole, or refused; never a dead
    server."""
    wtmax = nfs.fsinfo(fh).ok().wtmax
    if wtmax > 1 << 20:
        pytest.skip("wtmax is above 1 MiB: the suite keeps its calls small")
    data = os.urandom(wtmax + 4096)
    try:
        reply = nfs.write(fh, 0, data)
    except (rpc.ConnectionLost, rpc.Rejected):
        return  # RFC 1813 promises nothing above wtmax; the next test sees whether it still lives
    if reply.status == NFS3_OK:
        reply.expect(0 < reply.count <= len(data), "a count of 1..%d" % len(data))
        assert nfs.read_all(fh, 65536) == data[:reply.count]
    else:
        reply.fails(NFS3ERR_INVAL, NFS3ERR_FBIG)


@rule("defects.md Durability 3a", "esxi.md 18d", "RFC 1813 3.3.7")
def test_verifier_is_one_for_all(server, nfs, home):
    """One verifier for every file, level and connection, for as long as the server runs."""
    second = server.nfs()
    verifiers = set()
    for i in range(5):
        handle = nfs.new_file(home, b"f%d" % i)
        for client in (nfs, second):
            for stable in (UNSTABLE, DATA_SYNC, FILE_SYNC):
                verifiers.add(client.write(handle, 0, b"x", stable).ok().verf)
    second.connection.close()
    assert len(verifiers) == 1, "several verifiers from one server run: %s" % [
        v.hex() for v in verifiers]


@rule("RFC 1813 3.3.7")
def test_to_a_directory(nfs, home):
    """A directory cannot be written. (The RFC's own list has INVAL; ISDIR is customary.)"""
    nfs.write(home, 0, b"x").fails(NFS3ERR_INVAL, NFS3ERR_ISDIR)


@rule("RFC 1813 3.3.7")
def test_to_a_symlink(nfs, home, fh):
    """A symbolic link is not followed and cannot be written."""
    nfs.write(nfs.new_symlink(home, b"l", b"file"), 0, b"x").fails(NFS3ERR_INVAL)
    assert nfs.attributes(fh).size == 0, "the WRITE went through the link"


@pytest.mark.parametrize("type", [NF3FIFO, NF3CHR], ids=["fifo", "device"])
@rule("RFC 1813 3.3.7")
def test_to_a_special_file(nfs, home, as_root, type):
    """WRITE to a FIFO or device is refused at once; the server opens none of them."""
    handle = nfs.handle_of_new(nfs.mknod(home, b"x", type, rdev=(1, 3), mode=0o666), home, b"x")
    nfs.write(handle, 0, b"x").fails(NFS3ERR_INVAL, NFS3ERR_NXIO, NFS3ERR_ACCES)


@rule("RFC 1813 3.3.7")
def test_to_a_removed_file(nfs, home, fh):
    """A removed file is stale, even if it was just being written."""
    nfs.write(fh, 0, b"x", UNSTABLE).ok()
    nfs.remove(home, b"file").ok()
    nfs.write(fh, 0, b"x", UNSTABLE).fails(NFS3ERR_STALE)


@rule("RFC 1813 4.4", "defects.md Create 5a")
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o444, 0o077])
def test_owner_writes_whatever_the_mode(nfs, home, user, mode):
    """The owner may write against the mode: a program may have opened the file before."""
    handle = nfs.new_file(home, b"mine", uid=1000, gid=1000)
    nfs.setattr(handle, mode=mode).ok()
    user.write(handle, 0, b"data").ok()
    assert nfs.read_all(handle) == b"data"


@rule("RFC 1813 4.4", "defects.md Create 5b")
@pytest.mark.parametrize("gid, gids, mode, allowed", [
    (1001, (), 0o644, False), (1001, (), 0o660, False), (1000, (), 0o606, False),
    (1000, (), 0o660, True), (1001, (1000,), 0o660, True), (1001, (), 0o606, True)])
def test_others_write_as_the_mode_says(nfs, home, as_root, gid, gids, mode, allowed):
    """Everybody but the owner is held to the mode."""
    handle = nfs.new_file(home, b"his", uid=1000, gid=1000)
    nfs.setattr(handle, mode=mode).ok()
    reply = nfs.as_user(1001, gid, gids).write(handle, 0, b"data")
    if allowed:
        reply.ok()
    else:
        reply.fails(NFS3ERR_ACCES)
        assert nfs.attributes(handle).size == 0, "a refused WRITE wrote"


@rule("defects.md Create 4a")
def test_of_a_stranger_clears_set_uid(nfs, home, other):
    """Who writes into somebody else's set-uid program does not get to keep the bit."""
    handle = nfs.new_file(home, b"program", b"code", uid=1000, gid=1000)
    nfs.setattr(handle, mode=0o6777).ok()
    other.write(handle, 0, b"evil").ok()
    reply = nfs.getattr(handle).ok()
    reply.expect(reply.attr.mode == 0o777, "mode 777")


@rule("RFC 1813 3.3.7", "defects.md Create 7a")
@LEVELS
def test_wcc(nfs, home, stable):
    """Attributes from before the WRITE, if given, are those of before; those after, of after."""
    handle = nfs.new_file(home, b"f", b"12345")
    before = nfs.attributes(handle)
    reply = nfs.write(handle, 5, b"67890", stable).ok()
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after.size == 10, "a size of 10 after")


@rule("esxi.md 5d", "RFC 1813 3.3.7")
def test_pipelined_writes(nfs, home):
    """Sixty-four WRITEs in flight, in no order, all end where they belong."""
    handle = nfs.new_file(home, b"many")
    blocks = [os.urandom(4096) for _ in range(64)]
    order = sorted(range(64), key=lambda i: i * 37 % 64)
    pending = [nfs.start("WRITE", file=handle, offset=i * 4096, data=blocks[i], stable=UNSTABLE)
               for i in order]
    for call in pending:
        reply = nfs.wait(call).ok()
        reply.expect(reply.count == 4096, "count=4096")
    nfs.commit(handle).ok()
    assert nfs.read_all(handle) == b"".join(blocks)


@rule("defects.md Handles 5a", "RFC 1813 3.3.7")
@LEVELS
def test_in_a_read_only_export(nfs, ro_file, stable):
    """WRITE through a read-only export is ROFS."""
    before = nfs.read_all(ro_file)
    nfs.write(ro_file, 0, b"x", stable).fails(NFS3ERR_ROFS)
    assert nfs.read_all(ro_file) == before


@rule("defects.md Descriptors 1b")
def test_read_then_write_then_read(nfs, home):
    """A file that the server opened to read can be written next, and the other way round."""
    for i in range(20):
        handle = nfs.new_file(home, b"f%d" % i)
        nfs.read(handle, 0, 10).ok()
        nfs.write(handle, 0, b"data", UNSTABLE).ok()
        nfs.read(handle, 0, 10).ok()
        nfs.commit(handle).ok()


@rule("defects.md Create 8b", "RFC 1813 3.3.7")
def test_result_is_well_formed_for_unknown_results(nfs, fh):
    """An answer to a refused WRITE still carries wcc_data, and nothing more."""
    header = nfs.connection.call_rpc(
        PROGRAM, VERSION, NUMBERS["WRITE"],
        pack_arguments("WRITE", file=fh, offset=(1 << 64) - 1, data=b"xy"), nfs.cred)
    decode_result("WRITE", "WRITE(offset=2^64-1, 2 bytes)", header.results).refused()
