# SPDX-License-Identifier: Apache-2.0
"""SETATTR: RFC 1813 sections 3.3.2 and 2.6."""
import time

import pytest

import rpc
from nfs3 import (NF3LNK, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_FBIG, NFS3ERR_INVAL, NFS3ERR_ISDIR,
                  NFS3ERR_NOT_SYNC, NFS3ERR_NOTSUPP, NFS3ERR_PERM, NFS3ERR_ROFS, NFS3ERR_STALE,
                  NUMBERS, PROGRAM, SERVER_TIME, VERSION)
from xdr import Packer

rule = pytest.mark.rule


@pytest.mark.parametrize("mode", [0o000, 0o644, 0o777, 0o4755, 0o2755, 0o1777, 0o7777])
@rule("RFC 1813 3.3.2")
def test_mode(nfs, home, fh, mode):
    """All twelve bits can be set on a file by its owner or root."""
    nfs.setattr(fh, mode=mode).ok()
    reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.mode == mode, "mode %o" % mode)


@rule("RFC 1813 3.3.2")
@pytest.mark.parametrize("mode", [0o700, 0o1777, 0o2775])
def test_mode_of_a_directory(nfs, home, mode):
    """Directories take modes too, sticky and set-gid bits included."""
    dir = nfs.new_dir(home, b"d")
    nfs.setattr(dir, mode=mode).ok()
    reply = nfs.getattr(dir).ok()
    reply.expect(reply.attr.mode == mode, "mode %o" % mode)


@pytest.mark.parametrize("uid, gid", [(1000, 1001), (1000, None), (None, 1001), (0, 0),
                                      (0xFFFFFFFD, 0xFFFFFFFD), (70000, 80000)])
@rule("RFC 1813 3.3.2")
def test_owner(nfs, fh, as_root, uid, gid):
    """Root gives files away; the half that is not in the call stays."""
    before = nfs.attributes(fh)
    nfs.setattr(fh, uid=uid, gid=gid).ok()
    reply = nfs.getattr(fh).ok()
    expected = (before.uid if uid is None else uid, before.gid if gid is None else gid)
    reply.expect((reply.attr.uid, reply.attr.gid) == expected, "uid and gid %s" % (expected,))


@pytest.mark.parametrize("time_set", [
    dict(atime=(1000000000, 123456789)), dict(mtime=(1000000000, 987654321)),
    dict(atime=(1, 0), mtime=(2, 0)), dict(mtime=(0x7FFFFFFF, 999999999)), dict(atime=(0, 1))],
    ids=["atime", "mtime", "both", "mtime-2038", "atime-1970"])
@rule("RFC 1813 3.3.2")
def test_client_time(nfs, fh, time_set):
    """Times of the client's are kept, to FSINFO's time_delta; the other time stays."""
    delta = nfs.fsinfo(fh).ok().time_delta
    before = nfs.attributes(fh)
    nfs.setattr(fh, **time_set).ok()
    after = nfs.attributes(fh)
    for name in ("atime", "mtime"):
        expected, got = time_set.get(name, getattr(before, name)), getattr(after, name)
        distance = abs((got[0] - expected[0]) * 10 ** 9 + got[1] - expected[1])
        assert distance <= delta[0] * 10 ** 9 + delta[1], "%s: expected %s, got %s" % (
            name, expected, got)


@rule("RFC 1813 3.3.2")
@pytest.mark.parametrize("name", ["atime", "mtime"])
def test_server_time(nfs, fh, name):
    """SET_TO_SERVER_TIME is now, by the server's clock, and moves the other time not at all."""
    nfs.setattr(fh, atime=(1000, 0), mtime=(2000, 0)).ok()
    nfs.setattr(fh, **{name: SERVER_TIME}).ok()
    after = nfs.attributes(fh)
    assert getattr(after, name)[0] > 1500000000, "%s was not set to now: %s" % (name, after)
    other = after.mtime if name == "atime" else after.atime
    assert other == ((2000, 0) if name == "atime" else (1000, 0)), "the other time moved: %s" % (
        after,)


@pytest.mark.parametrize("size", [0, 1, 5000, 10000, 10001, 1 << 20, 1 << 32, (1 << 40) + 1])
@rule("RFC 1813 3.3.2", "esxi.md 19a")
def test_size(nfs, home, size):
    """Files shrink and grow to the byte; what appears is zeros."""
    handle = nfs.new_file(home, b"f", b"d" * 10000)
    nfs.setattr(handle, size=size).ok()
    assert nfs.attributes(handle).size == size
    at = max(0, size - 20)
    reply = nfs.read(handle, at, 100).ok()
    reply.expect((reply.count, reply.eof) == (size - at, True),
                 "the last %d bytes, eof" % (size - at))
    expected = bytes(b"d"[0] if at + i < 10000 else 0 for i in range(size - at))
    assert reply.data == expected, "expected %r, got %r" % (expected, reply.data)


@rule("defects.md Create 8d", "RFC 1813 3.3.2")
@pytest.mark.parametrize("size", [1 << 63, (1 << 64) - 1, (1 << 64) - 4096])
def test_size_beyond_every_file(nfs, fh, size):
    """A size that no file can have: FBIG or INVAL; the size stays."""
    nfs.setattr(fh, size=size).fails(NFS3ERR_FBIG, NFS3ERR_INVAL)
    assert nfs.attributes(fh).size == 0


@rule("esxi.md 20e", "RFC 1813 3.3.19", "defects.md Create 8d")
def test_size_up_to_maxfilesize(nfs, fh):
    """FSINFO's maxfilesize is true: that size can be set, one more cannot."""
    limit = nfs.fsinfo(fh).ok().maxfilesize
    if limit < (1 << 64) - 1:
        nfs.setattr(fh, size=limit + 1).fails(NFS3ERR_FBIG, NFS3ERR_INVAL)
    reply = nfs.setattr(fh, size=limit).ok()
    reply.expect(nfs.attributes(fh).size == limit, "a size of %d" % limit)


@rule("RFC 1813 3.3.2")
def test_size_of_a_directory(nfs, home):
    """A directory has no size to set."""
    nfs.setattr(home, size=0).fails(NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NOTSUPP)


@rule("RFC 1813 3.3.2")
@pytest.mark.parametrize("size", [0, 20000])
def test_size_sets_mtime(nfs, home, size):
    """Truncation and extension are modifications: mtime and ctime move."""
    handle = nfs.new_file(home, b"f", b"d" * 10000)
    before = nfs.attributes(handle)
    time.sleep(0.02)
    nfs.setattr(handle, size=size).ok()
    after = nfs.attributes(handle)
    assert after.mtime > before.mtime and after.ctime > before.ctime, \
        "times stood still: %s, %s" % (before, after)


@rule("RFC 1813 3.3.2")
def test_nothing_at_all(nfs, fh):
    """A SETATTR that sets nothing succeeds and changes nothing that a client sets."""
    before = nfs.attributes(fh)
    nfs.setattr(fh).ok()
    after = nfs.attributes(fh)
    assert after._replace(ctime=before.ctime) == before, "expected %s, got %s" % (before, after)


@rule("defects.md Create 3b", "RFC 1813 3.3.2")
def test_guard_that_holds(nfs, fh):
    """With the file's ctime as guard, SETATTR is done."""
    nfs.setattr(fh, mode=0o600, guard=nfs.attributes(fh).ctime).ok()
    assert nfs.attributes(fh).mode == 0o600


@pytest.mark.parametrize("seconds, nanoseconds", [(1, 0), (-1, 0), (0, 1), (0, -1), (0, 1000)])
@rule("defects.md Create 3b", "RFC 1813 3.3.2")
def test_guard_that_does_not(nfs, fh, seconds, nanoseconds):
    """A guard that is off by so much as a nanosecond gives NOT_SYNC, and nothing is changed."""
    before = nfs.attributes(fh)
    guard = (before.ctime[0] + seconds, (before.ctime[1] + nanoseconds) % 1000000000)
    nfs.setattr(fh, mode=0o600, size=100, guard=guard).fails(NFS3ERR_NOT_SYNC)
    after = nfs.attributes(fh)
    assert after == before, "a refused SETATTR changed %s to %s" % (before, after)


@pytest.mark.parametrize("change, errors", [
    (dict(mode=0o600, size=1 << 63), (NFS3ERR_FBIG, NFS3ERR_INVAL)),
    (dict(mode=0o600, mtime=(5, 5), size=(1 << 64) - 1), (NFS3ERR_FBIG, NFS3ERR_INVAL))],
    ids=["mode-and-size", "mode-time-and-size"])
@rule("defects.md Create 3a")
def test_all_or_nothing_of_an_impossible_size(nfs, fh, change, errors):
    """When one of several attributes cannot be set, none is."""
    before = nfs.attributes(fh)
    nfs.setattr(fh, **change).fails(*errors)
    after = nfs.attributes(fh)
    assert after._replace(ctime=before.ctime) == before, "expected %s, got %s" % (before, after)


@pytest.mark.parametrize("change", [
    dict(mode=0o600, uid=1001), dict(mode=0o600, gid=1005), dict(size=0, uid=1001),
    dict(mtime=(5, 5), uid=1001)], ids=lambda change: "-".join(change))
@rule("defects.md Create 3a")
def test_all_or_nothing_of_a_forbidden_owner(nfs, home, user, change):
    """An owner who may change mode, size and times but not give the file away: nothing happens."""
    handle = nfs.new_file(home, b"mine", b"content", uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000, mode=0o644).ok()
    before = nfs.attributes(handle)
    user.setattr(handle, **change).fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    after = nfs.attributes(handle)
    assert after._replace(ctime=before.ctime, atime=before.atime) == before, \
        "expected %s, got %s" % (before, after)
    assert nfs.read_all(handle) == b"content"


@rule("defects.md Create 3c", "RFC 1813 3.3.2")
def test_symlink_is_not_followed(nfs, home, fh, as_root):
    """SETATTR on a symbolic link changes the link or is refused; its target is left alone."""
    link = nfs.new_symlink(home, b"l", b"file")
    before = nfs.attributes(fh)
    nfs.setattr(link, uid=1000, gid=1000).ok()
    after = nfs.attributes(link)
    assert (after.type, after.uid, after.gid) == (NF3LNK, 1000, 1000), "the link: %s" % (after,)
    nfs.setattr(link, mtime=(1000, 0), atime=(1000, 0)).ok()
    assert nfs.attributes(link).mtime == (1000, 0)
    nfs.setattr(link, mode=0o600).fails(NFS3_OK, NFS3ERR_NOTSUPP, NFS3ERR_INVAL)
    assert nfs.attributes(fh) == before, "the target changed: %s" % (nfs.attributes(fh),)


@rule("defects.md Create 3c", "RFC 1813 3.3.2")
def test_size_through_a_symlink(nfs, home):
    """A link's size is its text's; the target is not truncated through it."""
    target = nfs.new_file(home, b"target", b"content")
    link = nfs.new_symlink(home, b"l", b"target")
    nfs.setattr(link, size=0).refused()
    assert nfs.read_all(target) == b"content"


@pytest.mark.parametrize("change", [dict(mode=0o777), dict(uid=1001), dict(gid=1001),
                                    dict(atime=(5, 5)), dict(mtime=(5, 5)), dict(size=0)],
                         ids=lambda change: "-".join(change))
@rule("RFC 1813 3.3.2")
def test_by_a_stranger(nfs, home, other, change):
    """Somebody else's attributes are not anybody's to set."""
    handle = nfs.new_file(home, b"his", b"content", uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000, mode=0o644).ok()
    before = nfs.attributes(handle)
    other.setattr(handle, **change).fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    assert nfs.attributes(handle) == before


@rule("RFC 1813 3.3.2")
def test_server_time_by_a_writer(nfs, home, other):
    """Whoever may write may set both times to now, as utimes(2) with no times does - and only
    that."""
    handle = nfs.new_file(home, b"his", uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000, mode=0o666, mtime=(5, 5)).ok()
    other.setattr(handle, atime=SERVER_TIME, mtime=SERVER_TIME).ok()
    assert nfs.attributes(handle).mtime[0] > 1500000000
    other.setattr(handle, atime=(5, 5), mtime=(5, 5)).fails(NFS3ERR_PERM, NFS3ERR_ACCES)


@rule("RFC 1813 4.4", "defects.md Create 5a")
def test_owner_truncates_whatever_the_mode(nfs, home, user):
    """The owner may set the size against the mode, as WRITE may write."""
    handle = nfs.new_file(home, b"mine", b"content", uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000, mode=0o444).ok()
    user.setattr(handle, size=3).ok()
    assert nfs.read_all(handle) == b"con"


@rule("RFC 1813 3.3.2")
def test_owner_changes_group_to_one_of_his(nfs, home, as_root):
    """The owner may give a file to a group that he is in, and to no other."""
    handle = nfs.new_file(home, b"mine", uid=1000, gid=1000)
    owner = nfs.as_user(1000, 1000, (1000, 1007))
    owner.setattr(handle, gid=1007).ok()
    assert nfs.attributes(handle).gid == 1007
    owner.setattr(handle, gid=1008).fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    assert nfs.attributes(handle).gid == 1007


@pytest.mark.parametrize("how", ["truncate", "change-group"])
@rule("defects.md Create 4b", "defects.md Create 4c")
def test_set_uid_goes(nfs, home, as_root, how):
    """set-uid and set-gid bits go when a non-owner truncates, or when the file changes hands."""
    handle = nfs.new_file(home, b"program", b"code", uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000).ok()
    nfs.setattr(handle, mode=0o6777).ok()
    if how == "truncate":
        nfs.as_user(1001, 1001).setattr(handle, size=0).ok()
    else:
        nfs.as_user(1000, 1000, (1000, 1007)).setattr(handle, gid=1007).ok()
    reply = nfs.getattr(handle).ok()
    reply.expect(reply.attr.mode == 0o777, "mode 777")


@rule("defects.md Create 4d")
def test_set_gid_of_a_group_one_is_not_in(nfs, home, user):
    """An owner outside the file's group cannot give it the set-gid bit."""
    handle = nfs.new_file(home, b"program", uid=1000, gid=1005)
    nfs.setattr(handle, uid=1000, gid=1005, mode=0o755).ok()
    reply = user.setattr(handle, mode=0o2755)
    if reply.status == NFS3_OK:
        reply = nfs.getattr(handle).ok()
        reply.expect(reply.attr.mode == 0o755, "mode 755, the set-gid bit dropped")
    else:
        reply.fails(NFS3ERR_PERM, NFS3ERR_ACCES)


@rule("defects.md Handles 5a")
@pytest.mark.parametrize("change", [dict(mode=0o600), dict(size=0), dict(atime=SERVER_TIME),
                                    dict(mtime=(5, 5)), dict(uid=0), dict(gid=0)],
                         ids=lambda change: "-".join(change))
def test_in_a_read_only_export(nfs, ro_file, change):
    """ROFS."""
    before = nfs.attributes(ro_file)
    nfs.setattr(ro_file, **change).fails(NFS3ERR_ROFS)
    assert nfs.attributes(ro_file) == before


@rule("RFC 1813 3.3.2")
def test_of_a_removed_file(nfs, home, fh):
    """STALE."""
    nfs.remove(home, b"file").ok()
    nfs.setattr(fh, mode=0o600).fails(NFS3ERR_STALE)


@rule("RFC 1813 3.3.2", "defects.md Create 7a")
def test_wcc(nfs, fh):
    """The reply's attributes, if given, are those before and after."""
    before = nfs.attributes(fh)
    reply = nfs.setattr(fh, mode=0o600, size=77).ok()
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after == nfs.attributes(fh), "after: as GETATTR says")


@pytest.mark.parametrize("word", ["mode-bool", "time-how", "guard-bool"])
@pytest.mark.parametrize("value", [2, 3, 0xFFFFFFFF])
@rule("defects.md RPC 4f", "defects.md RPC 4g", "RFC 5531 9")
def test_bad_discriminants(nfs, fh, word, value):
    """A boolean that is neither 0 nor 1, a time_how that is none: GARBAGE_ARGS, nothing changed."""
    if word == "time-how" and value == 2:
        value = 4  # 2 is SET_TO_CLIENT_TIME
    before = nfs.attributes(fh)
    p = Packer().opaque(fh)
    p.u32(value if word == "mode-bool" else 1).u32(0o600)
    p.u32(0).u32(0).u32(0).u32(value if word == "time-how" else 0).u32(0)
    p.u32(value if word == "guard-bool" else 0)
    header = nfs.connection.call_rpc(PROGRAM, VERSION, NUMBERS["SETATTR"], p.bytes(), nfs.cred)
    assert header.accept_stat == rpc.GARBAGE_ARGS, \
        "SETATTR with %s %d: expected GARBAGE_ARGS, got %s" % (word, value, header)
    assert nfs.attributes(fh) == before, "the refused SETATTR did something"


@rule("RFC 1813 3.3.2")
def test_nanoseconds_out_of_range(nfs, fh):
    """A time of 10^9 nanoseconds or more is no time: INVAL (or GARBAGE_ARGS), nothing changed."""
    before = nfs.attributes(fh)
    for nanoseconds in (1000000000, 0x3FFFFFFF, 0x3FFFFFFE, 0xFFFFFFFF):
        try:
            nfs.setattr(fh, mtime=(1000, nanoseconds)).fails(NFS3ERR_INVAL)
        except rpc.Rejected as rejected:
            assert "GARBAGE_ARGS" in str(rejected)
    assert nfs.attributes(fh) == before
