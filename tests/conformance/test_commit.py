# SPDX-License-Identifier: Apache-2.0
"""COMMIT: RFC 1813 section 3.3.21, and the write verifier."""
import os

import pytest

from nfs3 import (FILE_SYNC, NFS3_OK, NFS3ERR_INVAL, NFS3ERR_STALE, UNSTABLE)

rule = pytest.mark.rule


@rule("RFC 1813 3.3.21", "esxi.md 18b", "defects.md Durability 3b")
def test_verifier_equals_that_of_write(nfs, fh):
    """COMMIT and WRITE give the same verifier: nothing was lost between them."""
    written = nfs.write(fh, 0, b"x" * 100000, UNSTABLE).ok()
    reply = nfs.commit(fh).ok()
    reply.expect(reply.verf == written.verf, "the verifier of WRITE, %s" % written.verf.hex())
    stable = nfs.write(fh, 0, b"x", FILE_SYNC).ok()
    stable.expect(stable.verf == reply.verf, "the verifier of COMMIT, %s" % reply.verf.hex())


@pytest.mark.parametrize("offset, count", [
    (0, 0), (0, 4096), (4096, 0), (100, 1), (50000, 100000), (100000, 0), (1 << 40, 4096),
    (0, 0xFFFFFFFF)])
@rule("RFC 1813 3.3.21")
def test_ranges(nfs, home, offset, count):
    """Any range may be committed: part of the file, all of it (count 0), or past its end."""
    handle = nfs.new_file(home, b"f")
    data = os.urandom(100000)
    nfs.write_all(handle, data, stable=UNSTABLE)
    nfs.commit(handle, offset, count).ok()
    assert nfs.read_all(handle) == data


@pytest.mark.parametrize("offset, count", [
    ((1 << 63) - 1, 1), ((1 << 63) - 1, 0xFFFFFFFF), (1 << 63, 0), ((1 << 64) - 1, 1),
    ((1 << 64) - 1, 0xFFFFFFFF), ((1 << 64) - 4096, 8192)])
@rule("defects.md Create 8c", "RFC 1813 3.3.21")
def test_range_that_wraps(nfs, fh, offset, count):
    """A range whose end passes 2^63 or 2^64: OK, for there is nothing there, or INVAL."""
    nfs.write(fh, 0, b"data", UNSTABLE).ok()
    nfs.commit(fh, offset, count).fails(NFS3_OK, NFS3ERR_INVAL)
    assert nfs.read_all(fh) == b"data"


@rule("RFC 1813 3.3.21")
def test_nothing_to_commit(nfs, fh):
    """A file that was never written is committed with success, and again."""
    verifiers = {nfs.commit(fh).ok().verf for _ in range(3)}
    assert len(verifiers) == 1, "the verifier changed: %s" % verifiers


@rule("RFC 1813 3.3.21", "defects.md Durability 2c")
def test_after_many_other_files(nfs, home):
    """Files written UNSTABLE and left alone while hundreds of others are used: COMMIT still stands
    by the verifier their WRITEs got."""
    first = [nfs.new_file(home, b"early-%d" % i) for i in range(20)]
    written = [nfs.write(handle, 0, os.urandom(5000), UNSTABLE).ok().verf for handle in first]
    for i in range(300):
        nfs.write(nfs.new_file(home, b"later-%d" % i), 0, b"x", UNSTABLE).ok()
    for handle, verf in zip(first, written):
        reply = nfs.commit(handle).ok()
        reply.expect(reply.verf == verf, "the verifier of the WRITE, %s" % verf.hex())


@rule("RFC 1813 3.3.21")
def test_from_another_connection(server, nfs, fh):
    """Who commits need not be who wrote."""
    verf = nfs.write(fh, 0, b"data", UNSTABLE).ok().verf
    second = server.nfs()
    reply = second.commit(fh).ok()
    reply.expect(reply.verf == verf, "the verifier of WRITE, %s" % verf.hex())
    second.connection.close()


@rule("RFC 1813 3.3.21")
def test_removed_file(nfs, home, fh):
    """COMMIT of a removed file is STALE."""
    nfs.write(fh, 0, b"data", UNSTABLE).ok()
    nfs.remove(home, b"file").ok()
    nfs.commit(fh).fails(NFS3ERR_STALE)


@rule("RFC 1813 3.3.21", "esxi.md 18d")
def test_verifier_outlives_the_usual(nfs, home):
    """Creating, removing, renaming, truncating and listing leave the verifier alone."""
    handle = nfs.new_file(home, b"f")
    before = nfs.write(handle, 0, b"data", UNSTABLE).ok().verf
    nfs.new_dir(home, b"d")
    nfs.rename(home, b"f", home, b"g").ok()
    nfs.setattr(handle, size=2).ok()
    nfs.new_file(home, b"h")
    nfs.remove(home, b"h").ok()
    nfs.list(home, plus=True)
    reply = nfs.commit(handle).ok()
    reply.expect(reply.verf == before, "verf=%s" % before.hex())


@rule("RFC 1813 3.3.21", "defects.md Create 7a")
def test_wcc(nfs, fh):
    """COMMIT changes no attribute: before and after, if given, agree with GETATTR."""
    nfs.write(fh, 0, b"data", UNSTABLE).ok()
    expected = nfs.attributes(fh)
    reply = nfs.commit(fh).ok()
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (expected.size, expected.mtime, expected.ctime),
                     "before: size, mtime and ctime of GETATTR")
    if reply.wcc.after:
        reply.expect((reply.wcc.after.size, reply.wcc.after.fileid)
                     == (expected.size, expected.fileid), "after: the file's attributes")


@rule("RFC 1813 3.3.21")
def test_pipelined_with_writes(nfs, fh):
    """WRITEs and COMMITs in flight together are all answered, with one verifier."""
    pending = []
    for i in range(32):
        pending.append(nfs.start("WRITE", file=fh, offset=i * 4096, data=b"x" * 4096,
                                 stable=UNSTABLE))
        pending.append(nfs.start("COMMIT", file=fh, offset=i * 4096, count=4096))
    verifiers = {nfs.wait(call).ok().verf for call in pending}
    assert len(verifiers) == 1, "several verifiers: %s" % verifiers


@rule("RFC 1813 3.3.21")
def test_by_a_reader(nfs, home, other):
    """COMMIT of somebody who may write the file succeeds; it needs no ownership."""
    handle = nfs.new_file(home, b"open", mode=0o666)
    nfs.setattr(handle, mode=0o666).ok()
    other.write(handle, 0, b"data", UNSTABLE).ok()
    other.commit(handle).ok()
