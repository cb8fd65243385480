# SPDX-License-Identifier: Apache-2.0
"""RENAME: RFC 1813 section 3.3.14."""
import pytest

import badnames
from nfs3 import (NF3FIFO, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ISDIR,
                  NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_NOTEMPTY, NFS3ERR_PERM, NFS3ERR_ROFS,
                  NFS3ERR_STALE, NFS3ERR_XDEV)
from parallel import in_parallel, tally

rule = pytest.mark.rule


def make(nfs, dir, name, kind):
    """An object of a kind, by a word; its handle."""
    if kind == "file":
        return nfs.new_file(dir, name, b"the " + name)
    if kind == "symlink":
        return nfs.new_symlink(dir, name, b"nowhere")
    if kind == "fifo":
        return nfs.handle_of_new(nfs.mknod(dir, name, NF3FIFO, mode=0o600), dir, name)
    handle = nfs.new_dir(dir, name)
    if kind == "full directory":
        nfs.new_file(handle, b"inside")
    return handle


@pytest.mark.parametrize("kind", ["file", "symlink", "fifo", "empty directory", "full directory"])
@pytest.mark.parametrize("far", [False, True], ids=["same-directory", "other-directory"])
@rule("RFC 1813 3.3.14", "esxi.md 10b")
def test_moves(nfs, home, as_root, kind, far):
    """The old name is gone, the new one names the same object, whose handle goes on being good."""
    target = nfs.new_dir(home, b"target") if far else home
    handle = make(nfs, home, b"old", kind)
    before = nfs.attributes(handle).fileid
    nfs.rename(home, b"old", target, b"new").ok()
    nfs.lookup(home, b"old").fails(NFS3ERR_NOENT)
    reply = nfs.lookup(target, b"new").ok()
    reply.expect(nfs.attributes(reply.fh).fileid == before, "fileid %d" % before)
    assert nfs.attributes(handle).fileid == before
    if kind == "full directory":
        assert nfs.names(handle) == [b"inside"]


@pytest.mark.parametrize("kind, over", [
    ("file", "file"), ("file", "symlink"), ("symlink", "file"), ("symlink", "symlink"),
    ("file", "fifo"), ("empty directory", "empty directory"),
    ("full directory", "empty directory")])
@rule("RFC 1813 3.3.14", "defects.md Create 6b")
def test_replaces(nfs, home, as_root, kind, over):
    """A compatible object in the way is replaced, and its handle is stale."""
    handle, replaced = make(nfs, home, b"old", kind), make(nfs, home, b"new", over)
    nfs.rename(home, b"old", home, b"new").ok()
    assert nfs.names(home) == [b"new"]
    assert nfs.attributes(nfs.find(home, b"new")).fileid == nfs.attributes(handle).fileid
    nfs.getattr(replaced).fails(NFS3ERR_STALE)


@pytest.mark.parametrize("kind, over, errors", [
    ("file", "empty directory", (NFS3ERR_EXIST, NFS3ERR_ISDIR)),
    ("file", "full directory", (NFS3ERR_EXIST, NFS3ERR_ISDIR)),
    ("symlink", "empty directory", (NFS3ERR_EXIST, NFS3ERR_ISDIR)),
    ("empty directory", "file", (NFS3ERR_EXIST, NFS3ERR_NOTDIR)),
    ("full directory", "symlink", (NFS3ERR_EXIST, NFS3ERR_NOTDIR)),
    ("empty directory", "full directory", (NFS3ERR_EXIST, NFS3ERR_NOTEMPTY)),
    ("full directory", "full directory", (NFS3ERR_EXIST, NFS3ERR_NOTEMPTY))])
@rule("RFC 1813 3.3.14", "defects.md Create 6b", "defects.md Create 6e")
def test_does_not_replace(nfs, home, kind, over, errors):
    """What is not compatible, or not empty, stays; both objects do."""
    handle, other = make(nfs, home, b"old", kind), make(nfs, home, b"new", over)
    nfs.rename(home, b"old", home, b"new").fails(*errors)
    assert nfs.names(home) == [b"new", b"old"]
    assert nfs.attributes(nfs.find(home, b"old")).fileid == nfs.attributes(handle).fileid
    assert nfs.attributes(nfs.find(home, b"new")).fileid == nfs.attributes(other).fileid


@pytest.mark.parametrize("kind", ["file", "symlink", "empty directory", "full directory"])
@rule("RFC 1813 3.3.14", "defects.md Create 6c")
def test_onto_itself(nfs, home, kind):
    """RENAME of a name to itself succeeds and does nothing."""
    handle = make(nfs, home, b"x", kind)
    nfs.rename(home, b"x", home, b"x").ok()
    assert nfs.names(home) == [b"x"]
    nfs.getattr(handle).ok()


@rule("RFC 1813 3.3.14", "defects.md Create 6c")
def test_onto_a_link_of_itself(nfs, home, fh):
    """Two names of one file: the RFC says no action, success, and both stay."""
    nfs.link(fh, home, b"link").ok()
    nfs.rename(home, b"file", home, b"link").ok()
    assert nfs.names(home) == [b"file", b"link"]
    assert nfs.attributes(fh).nlink == 2


@pytest.mark.parametrize("depth", [1, 2, 3])
@rule("RFC 1813 3.3.14", "defects.md Create 6d")
def test_into_its_own_child(nfs, home, depth):
    """A directory cannot become its own descendant: INVAL."""
    top = nfs.new_dir(home, b"top")
    at = top
    for level in range(depth - 1):
        at = nfs.new_dir(at, b"level")
    nfs.rename(home, b"top", at, b"top").fails(NFS3ERR_INVAL)
    assert nfs.names(home) == [b"top"]


@rule("RFC 1813 3.3.14", "defects.md Create 6d")
def test_over_its_own_ancestor(nfs, home):
    """A directory cannot replace the one it is in."""
    top = nfs.new_dir(home, b"top")
    nfs.new_dir(top, b"inside")
    nfs.rename(top, b"inside", home, b"top").fails(NFS3ERR_NOTEMPTY, NFS3ERR_EXIST, NFS3ERR_INVAL)
    assert nfs.names(top) == [b"inside"]


@rule("RFC 1813 3.3.14")
def test_missing(nfs, home, fh):
    """NOENT, and what was at the new name stays."""
    nfs.rename(home, b"missing", home, b"file").fails(NFS3ERR_NOENT)
    nfs.getattr(fh).ok()
    assert nfs.names(home) == [b"file"]


@pytest.mark.parametrize("side", ["from", "to"])
@rule("RFC 1813 3.3.14")
def test_in_a_file(nfs, home, fh, side):
    """Neither directory may be a file."""
    nfs.new_file(home, b"x")
    if side == "from":
        nfs.rename(fh, b"x", home, b"y").fails(NFS3ERR_NOTDIR)
    else:
        nfs.rename(home, b"x", fh, b"y").fails(NFS3ERR_NOTDIR)
    assert nfs.names(home) == [b"file", b"x"]


@pytest.mark.parametrize("id", badnames.IDS)
@pytest.mark.parametrize("side", ["from", "to"])
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, fh, side, id):
    """Impossible names get the RFC's error on either side, and nothing moves."""
    name, errors = badnames.bad_name(id, nfs, home)
    if side == "from":
        nfs.rename(home, name, home, b"new").fails(*errors)
    else:
        nfs.rename(home, b"file", home, name).fails(*errors)
    assert nfs.names(home) == [b"file"]


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@pytest.mark.parametrize("side", ["from", "to"])
@rule("RFC 1813 3.3.14", "defects.md Handles 3b", "defects.md Handles 3c")
def test_dot_names(nfs, home, side, name):
    """"." and ".." are renamed neither from nor to."""
    dir = nfs.new_dir(home, b"d")
    nfs.new_dir(dir, b"x")
    if side == "from":
        nfs.rename(dir, name, home, b"new").fails(*badnames.DOT_ERRORS["RENAME"])
    else:
        nfs.rename(dir, b"x", dir, name).fails(*badnames.DOT_ERRORS["RENAME"])
    assert nfs.names(home) == [b"d"] and nfs.names(dir) == [b"x"]


@pytest.mark.parametrize("closed", ["from", "to"])
@rule("RFC 1813 3.3.14")
def test_without_permission(nfs, home, user, closed):
    """Both directories must be writable for the caller."""
    mine, his = nfs.new_dir(home, b"mine"), nfs.new_dir(home, b"his")
    nfs.setattr(mine, mode=0o777).ok()
    source, target = (his, mine) if closed == "from" else (mine, his)
    nfs.new_file(source, b"x")
    user.rename(source, b"x", target, b"x").fails(NFS3ERR_ACCES)
    assert nfs.names(source) == [b"x"] and nfs.names(target) == []


@rule("RFC 1813 3.3.14")
def test_in_a_sticky_directory(nfs, home, user, other):
    """In a sticky directory nobody renames, or renames over, what is another's."""
    dir = nfs.new_dir(home, b"tmp")
    nfs.setattr(dir, mode=0o1777).ok()
    user.new_file(dir, b"his")
    other.new_file(dir, b"mine")
    other.rename(dir, b"his", dir, b"taken").fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    other.rename(dir, b"mine", dir, b"his").fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    user.rename(dir, b"his", dir, b"still-his").ok()


@rule("RFC 1813 3.3.14", "RFC 1813 3.2")
def test_directory_gets_a_new_parent(nfs, home):
    """After a move, ".." of the directory and both parents' link counts are right."""
    one, two = nfs.new_dir(home, b"one"), nfs.new_dir(home, b"two")
    moved = nfs.new_dir(one, b"moved")
    links = nfs.attributes(one).nlink, nfs.attributes(two).nlink
    nfs.rename(one, b"moved", two, b"moved").ok()
    assert nfs.attributes(nfs.find(moved, b"..")).fileid == nfs.attributes(two).fileid
    if links == (3, 2):  # the file system counts sub-directories
        now = nfs.attributes(one).nlink, nfs.attributes(two).nlink
        assert now == (2, 3), "expected link counts (2, 3), got %s" % (now,)


@rule("RFC 1813 3.3.14", "defects.md Create 7a")
@pytest.mark.parametrize("far", [False, True], ids=["same-directory", "other-directory"])
def test_wcc_of_both_directories(nfs, home, fh, far):
    """The directories' attributes in the reply, if given, are those before and after."""
    target = nfs.new_dir(home, b"target") if far else home
    before = nfs.attributes(home), nfs.attributes(target)
    reply = nfs.rename(home, b"file", target, b"new").ok()
    after = nfs.attributes(home), nfs.attributes(target)
    for wcc, old, new in zip((reply.from_wcc, reply.to_wcc), before, after):
        if wcc.before:
            reply.expect(wcc.before == (old.size, old.mtime, old.ctime),
                         "before: %s" % ((old.size, old.mtime, old.ctime),))
        if wcc.after:
            reply.expect(wcc.after._replace(atime=new.atime) == new, "after: %s" % (new,))


@rule("defects.md Handles 5a")
def test_in_a_read_only_export(nfs, ro_root, ro_file):
    """ROFS; for a name that is not there, NOENT is right as well."""
    nfs.rename(ro_root, b"conformance-file", ro_root, b"conformance-x").fails(NFS3ERR_ROFS)
    nfs.lookup(ro_root, b"conformance-file").ok()
    reply = nfs.rename(ro_root, b"conformance-missing", ro_root, b"conformance-x")
    reply.fails(NFS3ERR_ROFS, NFS3ERR_NOENT)


@pytest.mark.parametrize("kind", ["file", "empty directory"])
@rule("defects.md Handles 5b", "RFC 1813 3.3.14")
def test_between_exports(nfs, home, second_home, kind):
    """Two exports are two file systems: XDEV, and nothing moves."""
    make(nfs, home, b"x", kind)
    nfs.rename(home, b"x", second_home, b"x").fails(NFS3ERR_XDEV)
    assert nfs.names(home) == [b"x"] and nfs.names(second_home) == []


@pytest.mark.parametrize("who", ["suite", "user"])
@rule("RFC 1813 3.3.14")
def test_is_atomic(server, nfs, shared, request, who):
    """While one host renames over a name again and again, others always find it: neither NOENT
    nor STALE, for the directory is there all the time and so is a file of that name."""
    uid, gid = server.options.uid, server.options.gid
    if who == "user":
        request.getfixturevalue("as_root")
        uid, gid = 1000, 1000
    nfs.as_user(uid, gid).new_file(shared, b"name", b"0")
    missed = []

    def act(client, i):
        client = client.as_user(uid, gid)
        if i == 0:
            for round in range(200):
                client.create(shared, b"next").ok()
                client.rename(shared, b"next", shared, b"name").ok()
            return "done"
        for _ in range(1000):
            reply = client.lookup(shared, b"name")
            if reply.status != NFS3_OK:
                missed.append(reply.status)
        return "done"

    outcomes = in_parallel(server, 4, act)
    assert outcomes == ["done"] * 4, outcomes
    assert not missed, "of 3000 LOOKUPs these failed: %s" % tally(missed)


@rule("RFC 1813 3.3.14")
def test_race(server, nfs, home):
    """Of four hosts that rename the same name away, one succeeds and the others find nothing."""
    for round in range(5):
        nfs.new_file(home, b"x")
        outcomes = in_parallel(server, 4, lambda client, i: client.rename(
            home, b"x", home, b"won-%d-%d" % (round, i)).status)
        assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_NOENT": 3}, tally(outcomes)
    assert len(nfs.names(home)) == 5
