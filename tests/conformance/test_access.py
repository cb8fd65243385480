# SPDX-License-Identifier: Apache-2.0
"""ACCESS: RFC 1813 section 3.3.4."""
import pytest

from nfs3 import (ACCESS_ALL, ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP,
                  ACCESS_MODIFY, ACCESS_READ)

rule = pytest.mark.rule

R, W, X = ACCESS_READ, ACCESS_MODIFY | ACCESS_EXTEND, ACCESS_EXECUTE
FILE_BITS = R | W | X  # LOOKUP and DELETE mean nothing for a file
DIR_W = ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE
DIR_BITS = ACCESS_READ | ACCESS_LOOKUP | DIR_W  # EXECUTE means nothing for a directory

# Files and directories belong to uid 1000, gid 1000.
WHO = {"owner": (1000, 1000, ()), "group": (1001, 1000, ()),
       "second-group": (1001, 1001, (5, 1000)), "other": (1001, 1001, ())}


@pytest.mark.parametrize("who, mode, expected", [
    ("owner", 0o700, R | W | X), ("owner", 0o400, R), ("owner", 0o200, W), ("owner", 0o100, X),
    ("owner", 0o077, 0), ("group", 0o070, R | W | X), ("group", 0o040, R), ("group", 0o020, W),
    ("group", 0o010, X), ("group", 0o707, 0), ("second-group", 0o070, R | W | X),
    ("second-group", 0o040, R), ("second-group", 0o707, 0), ("other", 0o007, R | W | X),
    ("other", 0o004, R), ("other", 0o002, W), ("other", 0o001, X), ("other", 0o770, 0)])
@rule("RFC 1813 3.3.4", "defects.md Create 5c")
def test_file(nfs, home, as_root, who, mode, expected):
    """ACCESS of a file says what its mode says; for the owner, too, whom READ and WRITE let in."""
    fh = nfs.new_file(home, b"f")
    nfs.setattr(fh, uid=1000, gid=1000).ok()
    nfs.setattr(fh, mode=mode).ok()
    reply = nfs.as_user(*WHO[who]).access(fh, FILE_BITS).ok()
    reply.expect(reply.access == expected, "access=%d for %s of mode %03o" % (expected, who, mode))


@pytest.mark.parametrize("who, mode, expected", [
    ("owner", 0o700, DIR_BITS), ("owner", 0o500, R | ACCESS_LOOKUP), ("owner", 0o400, R),
    ("owner", 0o100, ACCESS_LOOKUP), ("owner", 0o077, 0), ("group", 0o070, DIR_BITS),
    ("second-group", 0o050, R | ACCESS_LOOKUP), ("group", 0o707, 0), ("other", 0o007, DIR_BITS),
    ("other", 0o005, R | ACCESS_LOOKUP), ("other", 0o001, ACCESS_LOOKUP), ("other", 0o770, 0)])
@rule("RFC 1813 3.3.4")
def test_directory(nfs, home, as_root, who, mode, expected):
    """ACCESS of a directory: LOOKUP is its execute bit, DELETE goes with MODIFY and EXTEND."""
    dir = nfs.new_dir(home, b"d")
    nfs.setattr(dir, uid=1000, gid=1000).ok()
    nfs.setattr(dir, mode=mode).ok()
    reply = nfs.as_user(*WHO[who]).access(dir, DIR_BITS).ok()
    reply.expect(reply.access == expected, "access=%d for %s of mode %03o" % (expected, who, mode))


@rule("RFC 1813 3.3.4")
def test_root_may_read_and_write(nfs, as_root, home):
    """An unsquashed root is allowed what the mode forbids; executing needs one execute bit."""
    fh = nfs.new_file(home, b"f", mode=0)
    reply = nfs.access(fh, FILE_BITS).ok()
    reply.expect(reply.access == R | W, "access=%d" % (R | W))
    dir = nfs.new_dir(home, b"d", mode=0)
    reply = nfs.access(dir, DIR_BITS).ok()
    reply.expect(reply.access == DIR_BITS, "access=%d" % DIR_BITS)


@pytest.mark.parametrize("asked", [0, ACCESS_READ, ACCESS_MODIFY, ACCESS_EXTEND, ACCESS_LOOKUP,
                                   ACCESS_DELETE, ACCESS_EXECUTE, 0xFFFFFFFF, 0xFFFFFFC0])
@rule("RFC 1813 3.3.4")
def test_only_what_was_asked(nfs, home, fh, asked):
    """Bits that were not asked for, or that the RFC does not know, are not in the answer."""
    for handle in (fh, home):
        reply = nfs.access(handle, asked).ok()
        reply.expect(reply.access & ~(asked & ACCESS_ALL) == 0,
                     "only bits of %d" % (asked & ACCESS_ALL))


@rule("RFC 1813 3.3.4")
def test_follows_a_change_of_mode(nfs, home, as_root, user):
    """A SETATTR of the mode is seen by the next ACCESS."""
    fh = nfs.new_file(home, b"f", mode=0o600)
    assert user.access(fh, FILE_BITS).ok().access == 0
    nfs.setattr(fh, mode=0o644).ok()
    reply = user.access(fh, FILE_BITS).ok()
    reply.expect(reply.access == R, "access=%d" % R)


@rule("RFC 1813 3.3.4", "RFC 1813 2.5")
def test_symlink(nfs, home, user):
    """A symbolic link may be read by everybody, and is not followed for it."""
    nfs.new_file(home, b"secret", mode=0)
    reply = user.access(nfs.new_symlink(home, b"l", b"secret"), ACCESS_READ).ok()
    reply.expect(reply.access == ACCESS_READ, "access=%d" % ACCESS_READ)


@rule("RFC 1813 3.3.4", "defects.md Handles 5a")
def test_read_only_export(nfs, ro_root):
    """Nobody may modify, extend or delete in an export that is read-only."""
    reply = nfs.access(ro_root, ACCESS_ALL).ok()
    reply.expect(reply.access & DIR_W == 0, "no MODIFY, EXTEND or DELETE")
