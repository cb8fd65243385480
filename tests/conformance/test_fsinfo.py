# SPDX-License-Identifier: Apache-2.0
"""FSSTAT, FSINFO and PATHCONF: RFC 1813 sections 3.3.18 to 3.3.20."""
import time

import pytest

from nfs3 import (FSF_CANSETTIME, FSF_HOMOGENEOUS, FSF_LINK, FSF_SYMLINK, NFS3_OK,
                  NFS3ERR_NAMETOOLONG, NFS3ERR_STALE, UNSTABLE)

rule = pytest.mark.rule
THREE = pytest.mark.parametrize("procedure", ["fsstat", "fsinfo", "pathconf"])


@THREE
@pytest.mark.parametrize("kind", ["root", "directory", "file", "symlink"])
@rule("defects.md Create 9d", "RFC 1813 3.3.18")
def test_any_handle(nfs, root, home, procedure, kind):
    """The three work on any handle of the file system, not on its root only, and agree."""
    handle = {"root": lambda: root, "directory": lambda: nfs.new_dir(home, b"d"),
              "file": lambda: nfs.new_file(home, b"f"),
              "symlink": lambda: nfs.new_symlink(home, b"l", b"nowhere")}[kind]()
    reply = getattr(nfs, procedure)(handle).ok()
    if reply.attr:
        reply.expect(reply.attr.fileid == nfs.attributes(handle).fileid, "attributes of the object")
    expected = getattr(nfs, procedure)(root).ok()
    for name in ("tbytes", "rtmax", "wtmax", "maxfilesize", "properties", "name_max", "linkmax"):
        reply.expect(getattr(reply, name) == getattr(expected, name),
                     "%s as on the root: %s" % (name, getattr(expected, name)))


@THREE
@rule("RFC 1813 3.3.18")
def test_of_a_removed_file(nfs, home, fh, procedure):
    """STALE."""
    nfs.remove(home, b"file").ok()
    getattr(nfs, procedure)(fh).fails(NFS3ERR_STALE)


@THREE
@rule("RFC 1813 3.3.18")
def test_by_anybody(nfs, root, home, user, procedure):
    """Anybody may ask, of an object that he may not read, too."""
    handle = nfs.new_file(home, b"closed", mode=0)
    getattr(user, procedure)(handle).ok()


@rule("RFC 1813 3.3.18", "esxi.md 20c")
def test_fsstat_adds_up(nfs, root):
    """What users may have is at most what is free, and that at most all there is."""
    reply = nfs.fsstat(root).ok()
    reply.expect(0 < reply.abytes <= reply.fbytes <= reply.tbytes, "abytes <= fbytes <= tbytes")
    reply.expect(reply.afiles <= reply.ffiles <= reply.tfiles or reply.tfiles == 0,
                 "afiles <= ffiles <= tfiles")


@rule("esxi.md 20c", "RFC 1813 3.3.18")
def test_fsstat_follows_the_data(nfs, home):
    """32 MiB of data make at least 24 MiB less free space, at once or within seconds."""
    handle = nfs.new_file(home, b"big")
    before = nfs.fsstat(home).ok().fbytes
    for i in range(32):
        nfs.write(handle, i << 20, bytes([i + 1]) * (1 << 20), UNSTABLE).ok()
    nfs.commit(handle).ok()
    deadline, used = time.monotonic() + 10, 0
    while time.monotonic() < deadline:
        used = before - nfs.fsstat(home).ok().fbytes
        if used >= 24 << 20:
            return
        time.sleep(0.2)
    assert False, "expected about %d bytes less, got %d" % (32 << 20, used)


@rule("esxi.md 20c", "esxi.md 19a")
def test_fsstat_does_not_count_holes(nfs, home):
    """A sparse terabyte costs nothing."""
    handle = nfs.new_file(home, b"sparse")
    before = nfs.fsstat(home).ok().fbytes
    nfs.setattr(handle, size=1 << 40).ok()
    after = nfs.fsstat(home).ok().fbytes
    assert before - after < 256 << 20, "a hole of 1 TiB took %d bytes" % (before - after)


@rule("esxi.md 20b")
def test_fsstat_is_cheap(nfs, root):
    """Two hundred FSSTATs take no more than two seconds."""
    start = time.monotonic()
    for call in [nfs.start("FSSTAT", file=root) for _ in range(200)]:
        nfs.wait(call).ok()
    passed = time.monotonic() - start
    assert passed < 2, "200 FSSTATs took %.2f s" % passed


@rule("esxi.md 20d", "RFC 1813 3.3.19")
@pytest.mark.parametrize("name", ["rtmax", "wtmax"])
def test_transfer_sizes(nfs, root, name):
    """rtmax and wtmax are 1 MiB."""
    reply = nfs.fsinfo(root).ok()
    reply.expect(getattr(reply, name) == 1 << 20, "%s of 1048576" % name)


@rule("RFC 1813 3.3.19", "esxi.md 21a")
def test_preferred_sizes(nfs, root):
    """Preferred sizes are at least 64 KiB, at most the maximum, and multiples of the unit."""
    reply = nfs.fsinfo(root).ok()
    reply.expect(65536 <= reply.rtpref <= reply.rtmax, "64 KiB <= rtpref <= rtmax")
    reply.expect(65536 <= reply.wtpref <= reply.wtmax, "64 KiB <= wtpref <= wtmax")
    reply.expect(reply.rtmult and reply.rtpref % reply.rtmult == 0, "rtpref a multiple of rtmult")
    reply.expect(reply.wtmult and reply.wtpref % reply.wtmult == 0, "wtpref a multiple of wtmult")
    reply.expect(reply.dtpref >= 512, "dtpref of at least 512")


@rule("esxi.md 21b", "RFC 1813 3.3.19")
def test_multiples(nfs, root):
    """The units suggested are a page at most."""
    reply = nfs.fsinfo(root).ok()
    reply.expect(0 < reply.rtmult <= 4096 and 0 < reply.wtmult <= 4096, "rtmult, wtmult of 1..4096")


@rule("esxi.md 20e", "RFC 1813 3.3.19")
def test_maxfilesize(nfs, root):
    """Files may be large: never a limit of 4 GiB, never one above 2^63 - 1, which no offset
    reaches."""
    reply = nfs.fsinfo(root).ok()
    reply.expect(1 << 40 <= reply.maxfilesize < 1 << 63, "between 1 TiB and 2^63 - 1")


@rule("RFC 1813 3.3.19")
def test_properties(nfs, root, home, fh):
    """What FSINFO claims - hard links, symbolic links, settable times - works."""
    reply = nfs.fsinfo(root).ok()
    if reply.properties & FSF_LINK:
        nfs.link(fh, home, b"link").ok()
    if reply.properties & FSF_SYMLINK:
        nfs.symlink(home, b"symlink", b"target").ok()
    if reply.properties & FSF_CANSETTIME:
        nfs.setattr(fh, mtime=(1000, 0)).ok()
        assert nfs.attributes(fh).mtime == (1000, 0)
    known = FSF_LINK | FSF_SYMLINK | FSF_HOMOGENEOUS | FSF_CANSETTIME
    reply.expect(reply.properties & ~known == 0, "only properties that RFC 1813 defines")
    reply.expect(reply.properties & FSF_CANSETTIME, "CANSETTIME on any Unix file system")


@rule("RFC 1813 3.3.19")
def test_time_delta(nfs, root):
    """The clock's resolution is more than nothing and at most two seconds."""
    reply = nfs.fsinfo(root).ok()
    reply.expect((0, 0) < reply.time_delta <= (2, 0), "0 < time_delta <= 2 s")


@rule("RFC 1813 3.3.20")
def test_name_max_is_true(nfs, home):
    """A name of name_max bytes works; one byte more does not."""
    longest = nfs.pathconf(home).ok().name_max
    assert 14 <= longest <= 4096, "name_max is %d" % longest
    nfs.new_file(home, b"n" * longest)
    assert nfs.names(home) == [b"n" * longest]
    nfs.create(home, b"m" * (longest + 1)).fails(NFS3ERR_NAMETOOLONG)


@rule("RFC 1813 3.3.20", "RFC 1813 3.2")
def test_no_trunc(nfs, home):
    """no_trunc is TRUE, and no long name is cut in silence."""
    reply = nfs.pathconf(home).ok()
    reply.expect(reply.no_trunc, "no_trunc=True")


@rule("RFC 1813 3.3.20")
def test_chown_restricted_is_true(nfs, home, user):
    """If chown is said to be restricted, a user cannot give files away."""
    claimed = nfs.pathconf(home).ok().chown_restricted
    handle = nfs.new_file(home, b"f")
    nfs.setattr(handle, uid=1000, gid=1000).ok()
    status = user.setattr(handle, uid=1001).status
    assert (status != NFS3_OK) == claimed, "chown_restricted is %s, chown gave %d" % (
        claimed, status)


@rule("RFC 1813 3.3.20")
def test_linkmax(nfs, home, fh):
    """At least a hundred links of a file are possible, if linkmax says so."""
    linkmax = nfs.pathconf(home).ok().linkmax
    assert linkmax >= 1
    for i in range(min(linkmax - 1, 100)):
        nfs.link(fh, home, b"l%d" % i).ok()
    assert nfs.attributes(fh).nlink == min(linkmax, 101)


@rule("RFC 1813 3.3.20")
def test_case_preserving(nfs, home):
    """A name is listed in the letters in which it was created."""
    assert nfs.pathconf(home).ok().case_preserving
    nfs.new_file(home, b"MiXeD.Vmdk")
    assert nfs.names(home) == [b"MiXeD.Vmdk"]
