# SPDX-License-Identifier: Apache-2.0
"""REMOVE and RMDIR: RFC 1813 sections 3.3.12 and 3.3.13."""
import time

import pytest

import badnames
from nfs3 import (NF3FIFO, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ISDIR,
                  NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_NOTEMPTY, NFS3ERR_PERM, NFS3ERR_ROFS,
                  NFS3ERR_STALE)
from parallel import in_parallel, tally

rule = pytest.mark.rule
BOTH = pytest.mark.parametrize("procedure", ["remove", "rmdir"])


@rule("RFC 1813 3.3.12")
@pytest.mark.parametrize("kind", ["file", "symlink", "dangling", "symlink-to-directory", "fifo"])
def test_remove(nfs, home, kind, request):
    """REMOVE takes the name away, of whatever is not a directory; links are not followed."""
    nfs.new_dir(home, b"dir")
    if kind == "fifo":
        request.getfixturevalue("as_root")
        nfs.mknod(home, b"x", NF3FIFO, mode=0o600).ok()
    elif kind == "file":
        nfs.new_file(home, b"x")
    else:
        nfs.symlink(home, b"x", {"symlink": b"kept", "dangling": b"nowhere",
                                 "symlink-to-directory": b"dir"}[kind]).ok()
    nfs.new_file(home, b"kept")
    nfs.remove(home, b"x").ok()
    nfs.lookup(home, b"x").fails(NFS3ERR_NOENT)
    assert nfs.names(home) == [b"dir", b"kept"], nfs.names(home)


@rule("RFC 1813 3.3.13")
def test_rmdir(nfs, home):
    """RMDIR takes an empty directory away, and the parent's count of links with it."""
    before = nfs.attributes(home).nlink
    nfs.new_dir(home, b"d")
    nfs.rmdir(home, b"d").ok()
    nfs.lookup(home, b"d").fails(NFS3ERR_NOENT)
    assert nfs.attributes(home).nlink == before


@rule("RFC 1813 3.3.12", "defects.md Create 6a")
def test_remove_of_a_directory(nfs, home):
    """REMOVE of a directory fails and leaves it, empty or not."""
    dir = nfs.new_dir(home, b"d")
    nfs.remove(home, b"d").fails(NFS3ERR_ISDIR, NFS3ERR_PERM, NFS3ERR_ACCES, NFS3ERR_INVAL)
    nfs.new_file(dir, b"inside")
    nfs.remove(home, b"d").fails(NFS3ERR_ISDIR, NFS3ERR_PERM, NFS3ERR_ACCES, NFS3ERR_INVAL)
    assert nfs.names(dir) == [b"inside"]


@pytest.mark.parametrize("kind", ["file", "symlink", "symlink-to-directory"])
@rule("RFC 1813 3.3.13", "defects.md Create 6a")
def test_rmdir_of_no_directory(nfs, home, kind):
    """RMDIR of anything else is NOTDIR and leaves it."""
    nfs.new_dir(home, b"dir")
    if kind == "file":
        nfs.new_file(home, b"x")
    else:
        nfs.symlink(home, b"x", b"dir" if kind == "symlink-to-directory" else b"nowhere").ok()
    nfs.rmdir(home, b"x").fails(NFS3ERR_NOTDIR)
    nfs.lookup(home, b"x").ok()


@rule("RFC 1813 3.3.13")
@pytest.mark.parametrize("inside", ["file", "directory", "dot-file"])
def test_rmdir_of_a_full_directory(nfs, home, inside):
    """A directory with anything in it is NOTEMPTY, hidden names too."""
    dir = nfs.new_dir(home, b"d")
    if inside == "directory":
        nfs.new_dir(dir, b"x")
    else:
        nfs.new_file(dir, b"x" if inside == "file" else b".x")
    nfs.rmdir(home, b"d").fails(NFS3ERR_NOTEMPTY, NFS3ERR_EXIST)
    assert len(nfs.names(dir)) == 1


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_missing_name(nfs, home, procedure):
    """NOENT."""
    getattr(nfs, procedure)(home, b"missing").fails(NFS3ERR_NOENT)


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_in_a_file(nfs, fh, procedure):
    """A file has no names in it."""
    getattr(nfs, procedure)(fh, b"x").fails(NFS3ERR_NOTDIR)


@BOTH
@pytest.mark.parametrize("id", badnames.IDS)
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, fh, procedure, id):
    """Impossible names get the RFC's error; nothing goes, not even what a cut name would mean."""
    nfs.new_dir(home, b"fi")
    name, errors = badnames.bad_name(id, nfs, home)
    getattr(nfs, procedure)(home, name).fails(*errors)
    assert nfs.names(home) == [b"fi", b"file"]


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@rule("RFC 1813 3.3.12", "defects.md Handles 3b", "defects.md Handles 3c")
def test_remove_of_dot_names(nfs, home, name):
    """REMOVE of "." and ".." is refused."""
    dir = nfs.new_dir(home, b"d")
    nfs.remove(dir, name).fails(*badnames.DOT_ERRORS["REMOVE"])
    nfs.getattr(dir).ok()


@pytest.mark.parametrize("name, error", [(b".", NFS3ERR_INVAL), (b"..", NFS3ERR_EXIST)],
                         ids=["dot", "dotdot"])
@rule("RFC 1813 3.3.13", "defects.md Handles 3b", "defects.md Handles 3c")
def test_rmdir_of_dot_names(nfs, home, name, error):
    """The RFC names the errors: INVAL for ".", EXIST for ".."."""
    dir = nfs.new_dir(home, b"d")
    nfs.rmdir(dir, name).fails(error)
    nfs.getattr(dir).ok()


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_without_permission(nfs, home, user, procedure):
    """Removing a name needs write permission for the directory."""
    nfs.new_file(home, b"x") if procedure == "remove" else nfs.new_dir(home, b"x")
    getattr(user, procedure)(home, b"x").fails(NFS3ERR_ACCES)
    nfs.lookup(home, b"x").ok()


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_in_a_sticky_directory(nfs, home, user, other, procedure):
    """In a sticky directory only the owner removes his names."""
    dir = nfs.new_dir(home, b"tmp")
    nfs.setattr(dir, mode=0o1777).ok()
    if procedure == "remove":
        user.new_file(dir, b"x")
    else:
        user.new_dir(dir, b"x")
    getattr(other, procedure)(dir, b"x").fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    getattr(user, procedure)(dir, b"x").ok()


@rule("RFC 1813 3.3.12")
def test_of_a_read_only_file(nfs, shared, user):
    """The file's own mode does not protect its name."""
    user.new_file(shared, b"x", mode=0o400)
    user.remove(shared, b"x").ok()


@BOTH
@rule("defects.md Handles 5a")
def test_in_a_read_only_export(nfs, ro_root, ro_file, ro_dir, procedure):
    """ROFS; for a name that is not there, NOENT is right as well."""
    name = b"conformance-file" if procedure == "remove" else b"conformance-dir"
    getattr(nfs, procedure)(ro_root, name).fails(NFS3ERR_ROFS)
    nfs.lookup(ro_root, name).ok()
    getattr(nfs, procedure)(ro_root, b"conformance-missing").fails(NFS3ERR_ROFS, NFS3ERR_NOENT)


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_in_a_removed_directory(nfs, home, procedure):
    """A removed directory is stale."""
    gone = nfs.new_dir(home, b"gone")
    nfs.rmdir(home, b"gone").ok()
    getattr(nfs, procedure)(gone, b"x").fails(NFS3ERR_STALE, NFS3ERR_NOENT)


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13", "defects.md Create 7a")
def test_wcc_of_the_directory(nfs, home, procedure):
    """The directory's attributes in the reply, if given, are those before and after."""
    nfs.new_file(home, b"x") if procedure == "remove" else nfs.new_dir(home, b"x")
    before = nfs.attributes(home)
    reply = getattr(nfs, procedure)(home, b"x").ok()
    after = nfs.attributes(home)
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after._replace(atime=after.atime) == after, "after: %s" % (after,))


@BOTH
@rule("RFC 1813 3.3.12", "RFC 1813 3.3.13")
def test_race(server, nfs, home, procedure):
    """Of four hosts that remove the same name, one succeeds and the others find nothing."""
    for round in range(5):
        nfs.new_file(home, b"x") if procedure == "remove" else nfs.new_dir(home, b"x")
        outcomes = in_parallel(server, 4,
                               lambda client, i: getattr(client, procedure)(home, b"x").status)
        assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_NOENT": 3}, tally(outcomes)


def free_bytes_reach(nfs, home, reached):
    """FSSTAT until @reached(free bytes); what it said last. Btrfs tells of a change only once its
    transaction has committed, which may be half a minute later."""
    deadline = time.monotonic() + 45
    while True:
        free = nfs.fsstat(home).ok().fbytes
        if reached(free) or time.monotonic() > deadline:
            return free
        time.sleep(0.25)


@rule("defects.md Descriptors 1c", "RFC 1813 3.3.12")
def test_space_comes_back(nfs, home):
    """What a removed file occupied is free again within seconds, though it was just read and
    written. (Btrfs itself may take half a minute to say so.)"""
    size = 64 << 20
    handle = nfs.new_file(home, b"big")
    before = nfs.fsstat(home).ok().fbytes
    for i in range(size >> 20):
        nfs.write(handle, i << 20, bytes([i + 1]) * (1 << 20), 0).ok()
    nfs.commit(handle).ok()
    nfs.read(handle, 0, 65536).ok()
    # Seen to be taken first, or its return proves nothing; what earlier tests removed may come
    # back meanwhile, and only makes it more.
    free_bytes_reach(nfs, home, lambda free: before - free >= size // 2)
    nfs.remove(home, b"big").ok()
    enough = before - size // 4
    free = free_bytes_reach(nfs, home, lambda free: free >= enough)
    assert free >= enough, "%d bytes were free before, %d are 45 s after the removal" % (
        before, free)
