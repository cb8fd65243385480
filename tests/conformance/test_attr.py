# SPDX-License-Identifier: Apache-2.0
"""GETATTR and fattr3: RFC 1813 sections 2.5 and 3.3.1."""
import time

import pytest

from nfs3 import (NF3CHR, NF3DIR, NF3FIFO, NF3LNK, NF3REG, NF3SOCK, NFS3ERR_STALE, SERVER_TIME)

rule = pytest.mark.rule


@rule("RFC 1813 3.3.1")
def test_root_is_a_directory(nfs, root):
    """What MNT gives is a directory."""
    reply = nfs.getattr(root).ok()
    reply.expect(reply.attr.type == NF3DIR, "type DIR")


def make(nfs, home, kind):
    if kind == "directory":
        return nfs.new_dir(home, b"x")
    if kind == "symlink":
        return nfs.new_symlink(home, b"x", b"target")
    if kind in ("fifo", "socket", "device"):
        type = {"fifo": NF3FIFO, "socket": NF3SOCK, "device": NF3CHR}[kind]
        return nfs.handle_of_new(nfs.mknod(home, b"x", type, rdev=(1, 3), mode=0o600), home, b"x")
    return nfs.new_file(home, b"x")


@pytest.mark.parametrize("kind, type", [
    ("file", NF3REG), ("directory", NF3DIR), ("symlink", NF3LNK), ("fifo", NF3FIFO),
    ("socket", NF3SOCK), ("device", NF3CHR)])
@rule("RFC 1813 2.5")
def test_type(nfs, home, kind, type, request):
    """Each kind of object says what it is."""
    if kind in ("fifo", "socket", "device"):
        request.getfixturevalue("as_root")
    reply = nfs.getattr(make(nfs, home, kind)).ok()
    reply.expect(reply.attr.type == type, "type %s" % kind)


@rule("RFC 1813 2.5")
def test_mode_has_only_permission_bits(nfs, fh, home):
    """The mode field holds the 12 bits of the RFC's table, not the type bits of a Unix st_mode."""
    for handle in (fh, home):
        reply = nfs.getattr(handle).ok()
        reply.expect(reply.attr.mode & ~0o7777 == 0, "no bits above 07777 in mode")


@rule("RFC 1813 2.5")
def test_size_of_a_file(nfs, home):
    """size is the length in bytes."""
    handle = nfs.new_file(home, b"sized", b"x" * 12345)
    reply = nfs.getattr(handle).ok()
    reply.expect(reply.attr.size == 12345, "size 12345")


@rule("RFC 1813 2.5")
def test_size_of_a_symlink_is_its_text(nfs, home):
    """A symbolic link's size is the length of its text."""
    reply = nfs.getattr(nfs.new_symlink(home, b"link", b"0123456789")).ok()
    reply.expect(reply.attr.size == 10, "size 10")


@rule("RFC 1813 2.5")
def test_nlink_of_file_follows_links(nfs, home, fh):
    """nlink counts the names of a file."""
    counts = [nfs.attributes(fh).nlink]
    nfs.link(fh, home, b"second").ok()
    counts.append(nfs.attributes(fh).nlink)
    nfs.remove(home, b"file").ok()
    counts.append(nfs.attributes(fh).nlink)
    assert counts == [1, 2, 1], "nlink after CREATE, LINK, REMOVE: expected [1, 2, 1], got %s" % (
        counts,)


@rule("esxi.md 20a")
def test_used_counts_written_bytes(nfs, home):
    """used covers the data of a file that is full of data."""
    handle = nfs.new_file(home, b"full", b"\xa5" * (1 << 20))
    nfs.commit(handle).ok()
    reply = nfs.getattr(handle).ok()
    reply.expect(1 << 20 <= reply.attr.used <= 4 << 20, "used of about 1 MiB")


@rule("esxi.md 20a")
def test_used_of_a_sparse_file_is_small(nfs, home):
    """used is what the file occupies, not what it pretends to be: 1 GiB of hole is nearly
    nothing."""
    handle = nfs.new_file(home, b"sparse")
    nfs.setattr(handle, size=1 << 30).ok()
    reply = nfs.getattr(handle).ok()
    reply.expect(reply.attr.size == 1 << 30 and reply.attr.used < 1 << 20,
                 "size 1 GiB, used below 1 MiB")


@rule("esxi.md 20a")
def test_used_grows_with_what_is_written_into_a_hole(nfs, home):
    """One block in the middle of a hole adds about one block."""
    handle = nfs.new_file(home, b"sparse")
    nfs.setattr(handle, size=1 << 30).ok()
    nfs.write(handle, 512 << 20, b"\x5a" * 65536).ok()
    nfs.commit(handle).ok()
    reply = nfs.getattr(handle).ok()
    reply.expect(65536 <= reply.attr.used < 4 << 20, "used between 64 KiB and 4 MiB")


@rule("esxi.md 11a")
def test_fileid_is_never_zero(nfs, root, home, fh):
    """A fileid of 0 hides a file from many clients."""
    for handle in (root, home, fh, nfs.new_symlink(home, b"l", b"t")):
        reply = nfs.getattr(handle).ok()
        reply.expect(reply.attr.fileid != 0, "a fileid that is not 0")


@rule("esxi.md 11b", "RFC 1813 2.5")
def test_fileids_are_unique(nfs, home, fh):
    """Every object has a fileid of its own; hard links share theirs."""
    handles = [home, fh, nfs.new_dir(home, b"d"), nfs.new_symlink(home, b"l", b"t")]
    handles += [nfs.new_file(home, b"f%d" % i) for i in range(50)]
    ids = [nfs.attributes(handle).fileid for handle in handles]
    assert len(set(ids)) == len(ids), "fileids twice: %s" % sorted(
        i for i in ids if ids.count(i) > 1)
    nfs.link(fh, home, b"again").ok()
    reply = nfs.lookup(home, b"again").ok()
    linked = nfs.getattr(reply.fh).ok()
    linked.expect(linked.attr.fileid == ids[1], "fileid %d, as the file linked to" % ids[1])


@rule("esxi.md 11c")
def test_fileid_is_stable(nfs, home, fh):
    """Writing, renaming, linking and changing attributes leave the fileid alone."""
    before = nfs.attributes(fh).fileid
    nfs.write(fh, 0, b"data").ok()
    nfs.setattr(fh, mode=0o600, size=1).ok()
    nfs.link(fh, home, b"two").ok()
    nfs.rename(home, b"file", home, b"three").ok()
    reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.fileid == before, "fileid %d" % before)


@rule("esxi.md 11d", "RFC 1813 3.3.17")
def test_fileid_is_the_same_in_every_procedure(nfs, home, fh):
    """GETATTR, LOOKUP, READDIR and READDIRPLUS agree on a file's fileid."""
    expected = nfs.attributes(fh).fileid
    seen = {"READDIR": [e.fileid for e in nfs.list(home) if e.name == b"file"],
            "READDIRPLUS": [e.fileid for e in nfs.list(home, plus=True) if e.name == b"file"],
            "READDIRPLUS attributes": [e.attr.fileid for e in nfs.list(home, plus=True)
                                       if e.name == b"file" and e.attr]}
    looked = nfs.lookup(home, b"file").ok()
    seen["LOOKUP attributes"] = [looked.attr.fileid] if looked.attr else []
    seen["GETATTR of LOOKUP's handle"] = [nfs.attributes(looked.fh).fileid]
    for where, ids in seen.items():
        assert set(ids) <= {expected}, "%s: expected %d as GETATTR says, got %s" % (
            where, expected, ids)
    assert seen["READDIR"] and seen["READDIRPLUS"], "the file is missing in a listing"


@rule("esxi.md 11e")
@pytest.mark.parametrize("plus", [False, True], ids=["readdir", "readdirplus"])
def test_fileid_of_dot_and_dotdot(nfs, home, plus):
    """If "." and ".." are listed, they carry the fileids of the directory and its parent."""
    below = nfs.new_dir(home, b"below")
    expected = {b".": nfs.attributes(below).fileid, b"..": nfs.attributes(home).fileid}
    for entry in nfs.list(below, plus=plus):
        if entry.name in expected:
            ids = {entry.fileid} | ({entry.attr.fileid} if entry.attr else set())
            assert ids == {expected[entry.name]}, "%r: expected fileid %d, got %s" % (
                entry.name, expected[entry.name], ids)
    looked = {name: nfs.attributes(nfs.find(below, name)).fileid for name in expected}
    assert looked == expected, "LOOKUP of . and ..: expected %s, got %s" % (expected, looked)


@rule("esxi.md 11e", "esxi.md 12a")
@pytest.mark.parametrize("plus", [False, True], ids=["readdir", "readdirplus"])
def test_fileid_of_dotdot_at_the_root(nfs, root, plus):
    """In the listing of the export's root, "..", if listed, is the root."""
    expected = nfs.attributes(root).fileid
    cookie, verf, pages = 0, bytes(8), 0
    while pages < 50:
        reply = (nfs.readdirplus if plus else nfs.readdir)(root, cookie, verf).ok()
        for entry in reply.entries:
            if entry.name in (b".", b".."):
                reply.expect(entry.fileid == expected, "%r with fileid %d" % (entry.name, expected))
        if reply.eof or not reply.entries:
            break
        cookie, verf, pages = reply.entries[-1].cookie, reply.verf, pages + 1


@rule("RFC 1813 2.5")
def test_fsid_is_the_same_in_the_whole_export(nfs, root, home, fh):
    """One export on one file system has one fsid."""
    fsids = {nfs.attributes(handle).fsid for handle in (root, home, fh)}
    assert len(fsids) == 1, "several fsids: %s" % fsids


@rule("RFC 1813 2.5")
def test_write_changes_mtime_and_ctime(nfs, fh):
    """A WRITE of data moves mtime and ctime forward, never back."""
    before = nfs.attributes(fh)
    time.sleep(0.02)
    nfs.write(fh, 0, b"later").ok()
    reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.mtime > before.mtime and reply.attr.ctime > before.ctime,
                 "mtime after %s and ctime after %s" % (before.mtime, before.ctime))


@rule("RFC 1813 2.5")
def test_setattr_changes_ctime_only(nfs, fh):
    """A change of mode moves ctime and leaves mtime."""
    before = nfs.attributes(fh)
    time.sleep(0.02)
    nfs.setattr(fh, mode=0o640).ok()
    reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.ctime > before.ctime and reply.attr.mtime == before.mtime,
                 "a later ctime and the same mtime")


@rule("RFC 1813 2.5")
@pytest.mark.parametrize("change", ["create", "remove", "rename", "mkdir", "link", "symlink"])
def test_directory_times_follow_its_entries(nfs, home, fh, change):
    """A directory's mtime and ctime move when a name appears in it or goes."""
    before = nfs.attributes(home)
    time.sleep(0.02)
    {"create": lambda: nfs.create(home, b"new"),
     "remove": lambda: nfs.remove(home, b"file"),
     "rename": lambda: nfs.rename(home, b"file", home, b"new"),
     "mkdir": lambda: nfs.mkdir(home, b"new"),
     "link": lambda: nfs.link(fh, home, b"new"),
     "symlink": lambda: nfs.symlink(home, b"new", b"target")}[change]().ok()
    reply = nfs.getattr(home).ok()
    reply.expect(reply.attr.mtime > before.mtime and reply.attr.ctime > before.ctime,
                 "later mtime and ctime")


@rule("RFC 1813 2.5")
@pytest.mark.parametrize("change", ["link", "rename"])
def test_ctime_of_a_file_that_got_another_name(nfs, home, fh, change):
    """LINK moves the file's ctime, for its nlink changed; RENAME may, and moves no mtime."""
    before = nfs.attributes(fh)
    time.sleep(0.02)
    if change == "link":
        nfs.link(fh, home, b"new").ok()
        reply = nfs.getattr(fh).ok()
        reply.expect(reply.attr.ctime > before.ctime, "a later ctime")
    else:
        nfs.rename(home, b"file", home, b"new").ok()
        reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.mtime == before.mtime, "the same mtime")


@rule("RFC 1813 2.5")
def test_server_clock_runs(nfs, fh):
    """Times that the server sets are wall-clock times: they go on as time passes."""
    nfs.setattr(fh, mtime=SERVER_TIME).ok()
    first = nfs.attributes(fh).mtime
    time.sleep(1.1)
    nfs.setattr(fh, mtime=SERVER_TIME).ok()
    second = nfs.attributes(fh).mtime
    passed = second[0] + second[1] / 1e9 - first[0] - first[1] / 1e9
    assert 1.0 <= passed < 15, "1.1 s of waiting were %.3f s on the server" % passed


@rule("RFC 1813 3.3.1")
def test_removed_file_is_stale_or_gone(nfs, home, fh):
    """The handle of a file whose last name went is stale."""
    nfs.remove(home, b"file").ok()
    nfs.getattr(fh).fails(NFS3ERR_STALE)


@rule("RFC 1813 2.5")
def test_post_op_attributes_equal_getattr(nfs, home, fh):
    """Attributes that come along with other results are those that GETATTR gives."""
    nfs.write(fh, 0, b"some data").ok()
    expected = nfs.attributes(fh)
    replies = [nfs.access(fh).ok(), nfs.lookup(home, b"file").ok(), nfs.fsinfo(fh).ok(),
               nfs.fsstat(fh).ok(), nfs.pathconf(fh).ok(), nfs.read(fh, 0, 0).ok()]
    for reply in replies:
        if reply.attr:
            same = reply.attr._replace(atime=expected.atime) == expected
            reply.expect(same, "the attributes of GETATTR: %s" % (expected,))
