# SPDX-License-Identifier: Apache-2.0
"""CREATE and MKDIR: RFC 1813 sections 3.3.8 and 3.3.9."""
import os

import pytest

import badnames
import rpc
from nfs3 import (GUARDED, NF3DIR, NF3FIFO, NF3REG, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_EXIST,
                  NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_ROFS,
                  NFS3ERR_STALE, NUMBERS, PROGRAM, UNCHECKED, VERSION)
from parallel import in_parallel, tally
from xdr import Packer

rule = pytest.mark.rule
HOW = pytest.mark.parametrize("how", [UNCHECKED, GUARDED], ids=["unchecked", "guarded"])


def create(nfs, how, dir, name):
    """Any way of making a file or directory, by a word."""
    if how == "exclusive":
        return nfs.create_exclusive(dir, name, b"verifier")
    if how == "mkdir":
        return nfs.mkdir(dir, name, mode=0o755)
    return nfs.create(dir, name, {"unchecked": UNCHECKED, "guarded": GUARDED}[how], mode=0o644)


EVERY_WAY = pytest.mark.parametrize("how", ["unchecked", "guarded", "exclusive", "mkdir"])


@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_makes_it(nfs, home, how):
    """The new object is there, is of its type, is empty, and the handle given is its own."""
    reply = create(nfs, how, home, b"new").ok()
    found = nfs.lookup(home, b"new").ok()
    attr = nfs.attributes(found.fh)
    found.expect(attr.type == (NF3DIR if how == "mkdir" else NF3REG), "the right type")
    if reply.fh:
        reply.expect(nfs.attributes(reply.fh).fileid == attr.fileid, "a handle of the new object")
    if reply.attr:
        reply.expect(reply.attr.fileid == attr.fileid, "attributes of the new object")
    if how != "mkdir":
        assert attr.size == 0 and attr.nlink == 1, "expected an empty file of one name: %s" % (
            attr,)


@pytest.mark.parametrize("how", ["unchecked", "guarded", "mkdir"])
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o600, 0o666, 0o755, 0o777, 0o640])
@rule("defects.md Create 2c", "RFC 1813 3.3.8")
def test_mode_as_asked(nfs, home, how, mode):
    """The mode is the one asked for: the server's umask is its own affair."""
    if how == "mkdir":
        reply = nfs.mkdir(home, b"new", mode=mode)
    else:
        reply = nfs.create(home, b"new", UNCHECKED if how == "unchecked" else GUARDED, mode=mode)
    fh = nfs.handle_of_new(reply, home, b"new")
    reply = nfs.getattr(fh).ok()
    reply.expect(reply.attr.mode & 0o777 == mode, "mode %03o" % mode)


@HOW
@rule("RFC 1813 3.3.8", "RFC 1813 2.6")
def test_with_all_attributes(nfs, home, as_root, how):
    """Every attribute in the call is set on the new file."""
    reply = nfs.create(home, b"new", how, mode=0o640, uid=1000, gid=1001, size=12345,
                       atime=(1000000000, 5000), mtime=(1100000000, 7000))
    fh = nfs.handle_of_new(reply, home, b"new")
    attr = nfs.attributes(fh)
    got = (attr.mode, attr.uid, attr.gid, attr.size, attr.atime, attr.mtime)
    expected = (0o640, 1000, 1001, 12345, (1000000000, 5000), (1100000000, 7000))
    assert got == expected, "expected %s, got %s" % (expected, got)


@rule("RFC 1813 3.3.8")
def test_without_attributes(nfs, home):
    """CREATE with nothing set succeeds, and the caller can use what it made."""
    fh = nfs.handle_of_new(nfs.create(home, b"new", UNCHECKED), home, b"new")
    nfs.write(fh, 0, b"data").ok()
    assert nfs.read_all(fh) == b"data"


@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_owner_is_the_caller(nfs, shared, user, how):
    """What a user makes is the user's."""
    fh = user.handle_of_new(create(user, how, shared, b"mine"), shared, b"mine")
    reply = nfs.getattr(fh).ok()
    reply.expect((reply.attr.uid, reply.attr.gid) == (1000, 1000), "uid 1000 and gid 1000")


@pytest.mark.parametrize("how", ["guarded", "mkdir"])
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_existing_is_exist(nfs, home, how):
    """GUARDED and MKDIR insist on a new name."""
    handle = nfs.new_file(home, b"f", b"content")
    nfs.new_dir(home, b"d")
    nfs.new_symlink(home, b"l", b"nowhere")
    for name in (b"f", b"d", b"l"):
        create(nfs, how, home, name).fails(NFS3ERR_EXIST)
    assert nfs.read_all(handle) == b"content"
    nfs.lookup(home, b"nowhere").fails(NFS3ERR_NOENT)


@rule("defects.md Create 2a", "RFC 1813 3.3.8")
def test_unchecked_existing_keeps_everything(nfs, home, as_root):
    """UNCHECKED on a file that exists opens it: mode, owner, times and data stay, whatever was
    asked."""
    handle = nfs.new_file(home, b"f", b"content", mode=0o600, uid=1000, gid=1000)
    before = nfs.attributes(handle)
    reply = nfs.create(home, b"f", UNCHECKED, mode=0o777, uid=1001, gid=1001,
                       atime=(1, 0), mtime=(1, 0)).ok()
    after = nfs.attributes(handle)
    reply.expect(after == before, "attributes as before: %s" % (before,))
    if reply.fh:
        reply.expect(reply.fh == handle, "the existing file's handle")
    assert nfs.read_all(handle) == b"content"


@pytest.mark.parametrize("size", [0, 3, 5000])
@rule("defects.md Create 2b", "RFC 1813 3.3.8")
def test_unchecked_existing_sets_the_size(nfs, home, size):
    """Only the size, if the call has one, is set on the existing file: that is how O_TRUNC
    arrives."""
    handle = nfs.new_file(home, b"f", b"content", mode=0o600)
    nfs.create(home, b"f", UNCHECKED, mode=0o666, size=size).ok()
    reply = nfs.getattr(handle).ok()
    reply.expect((reply.attr.size, reply.attr.mode) == (size, 0o600), "size %d, mode 600" % size)
    assert nfs.read_all(handle) == (b"content" + bytes(size))[:size]


@pytest.mark.parametrize("mode", [0o400, 0o000])
@rule("defects.md Create 2a", "RFC 1813 3.3.8")
def test_unchecked_existing_without_write_permission(nfs, home, user, mode):
    """A stranger may not truncate by UNCHECKED CREATE what the mode forbids to write."""
    handle = nfs.new_file(home, b"f", b"content")
    nfs.setattr(handle, mode=mode).ok()
    user.create(home, b"f", UNCHECKED, size=0).fails(NFS3ERR_ACCES)
    assert nfs.read_all(handle) == b"content"


@HOW
@rule("RFC 1813 3.3.8")
def test_over_a_directory(nfs, home, how):
    """A directory is never opened as a file."""
    nfs.new_dir(home, b"d")
    nfs.create(home, b"d", how).fails(NFS3ERR_EXIST, NFS3ERR_ISDIR, NFS3ERR_INVAL)


@rule("RFC 1813 3.3.8")
def test_unchecked_over_a_symlink(nfs, home):
    """The server does not follow a symbolic link to create its target; the link stays."""
    nfs.new_symlink(home, b"l", b"target")
    nfs.create(home, b"l", UNCHECKED).fails(NFS3ERR_EXIST, NFS3ERR_INVAL)
    nfs.lookup(home, b"target").fails(NFS3ERR_NOENT)


VERIFIERS = [b"verifier", bytes(8), b"\xff" * 8, b"\x80" + bytes(7), bytes(7) + b"\x01",
             b"\x00\x00\x00\x00\xff\xff\xff\xff", b"\xff\xff\xff\xff\x00\x00\x00\x00",
             b"\x7f\xff\xff\xff\x80\x00\x00\x00"]


@pytest.mark.parametrize("verf", VERIFIERS, ids=lambda verf: verf.hex())
@rule("defects.md Create 1a", "RFC 1813 3.3.8")
def test_exclusive_any_verifier(nfs, home, verf):
    """Any 8 bytes are a verifier: the retry finds the same file, another verifier EXIST."""
    first = nfs.create_exclusive(home, b"x", verf)
    handle = nfs.handle_of_new(first, home, b"x")
    again = nfs.create_exclusive(home, b"x", verf).ok()
    if again.fh:
        again.expect(again.fh == handle, "the same handle again")
    for other in (bytes([verf[0] ^ 1]) + verf[1:], verf[:7] + bytes([verf[7] ^ 1]),
                  verf[:3] + bytes([verf[3] ^ 0x80]) + verf[4:]):
        nfs.create_exclusive(home, b"x", other).fails(NFS3ERR_EXIST)


@rule("defects.md Create 1b", "RFC 1813 3.3.8")
def test_exclusive_from_another_connection(server, nfs, home):
    """The retry may come over a new connection: the verifier is with the file, not the
    connection."""
    handle = nfs.handle_of_new(nfs.create_exclusive(home, b"x", b"12345678"), home, b"x")
    second = server.nfs()
    reply = second.create_exclusive(home, b"x", b"12345678").ok()
    if reply.fh:
        reply.expect(reply.fh == handle, "the same handle")
    second.create_exclusive(home, b"x", b"87654321").fails(NFS3ERR_EXIST)
    second.connection.close()


@rule("defects.md Create 1c", "RFC 1813 3.3.8")
def test_exclusive_over_an_ordinary_file(nfs, home, fh):
    """A file that was not made by EXCLUSIVE exists; so does a directory."""
    nfs.new_dir(home, b"d")
    for verf in (bytes(8), b"12345678"):
        nfs.create_exclusive(home, b"file", verf).fails(NFS3ERR_EXIST)
        nfs.create_exclusive(home, b"d", verf).fails(NFS3ERR_EXIST)


@rule("RFC 1813 3.3.8")
def test_exclusive_then_setattr(nfs, home):
    """The client's SETATTR afterwards gives the file its real mode and times."""
    handle = nfs.handle_of_new(nfs.create_exclusive(home, b"x", b"\xff" * 8), home, b"x")
    nfs.setattr(handle, mode=0o640, atime="server", mtime="server").ok()
    nfs.write(handle, 0, b"data").ok()
    attr = nfs.attributes(handle)
    assert attr.mode == 0o640 and attr.mtime[0] > 1500000000, \
        "expected mode 640 and times of today: %s" % (attr,)


@rule("RFC 1813 3.3.8", "defects.md Create 1d")
def test_exclusive_is_exclusive(server, nfs, home):
    """Of eight hosts that create the same name with verifiers of their own, one wins."""
    outcomes = in_parallel(server, 8, lambda client, i: client.create_exclusive(
        home, b"x", b"host-%03d" % i).status)
    assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_EXIST": 7}, tally(outcomes)


@pytest.mark.parametrize("what", ["guarded", "mkdir", "symlink", "link", "mknod"])
@rule("esxi.md 14b", "RFC 1813 3.3.8")
def test_guarded_is_atomic(server, nfs, home, fh, what):
    """Of eight hosts that make the same name at once, exactly one succeeds; ten rounds."""
    for round in range(10):
        name = b"lock-%d" % round
        calls = {"guarded": lambda c: c.create(home, name, GUARDED, mode=0o644),
                 "mkdir": lambda c: c.mkdir(home, name, mode=0o755),
                 "symlink": lambda c: c.symlink(home, name, b"me"),
                 "link": lambda c: c.link(fh, home, name),
                 "mknod": lambda c: c.mknod(home, name, NF3FIFO, mode=0o644)}
        outcomes = in_parallel(server, 8, lambda client, i: calls[what](client).status)
        assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_EXIST": 7}, \
            "round %d: expected one NFS3_OK and seven EXIST, got %s" % (round, tally(outcomes))


@pytest.mark.parametrize("who", ["suite", "user"])
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.12")
def test_unchecked_against_remove(server, nfs, shared, request, who):
    """Two hosts create a name UNCHECKED again and again, two remove it: CREATE always succeeds,
    REMOVE succeeds or finds nothing, and nobody hears STALE of a directory that is there."""
    uid, gid = server.options.uid, server.options.gid
    if who == "user":
        request.getfixturevalue("as_root")
        uid, gid = 1000, 1000
    seen = {"CREATE": [], "REMOVE": []}

    def act(client, i):
        client = client.as_user(uid, gid)
        for _ in range(150):
            if i % 2:
                seen["REMOVE"].append(client.remove(shared, b"x").status)
            else:
                seen["CREATE"].append(client.create(shared, b"x", UNCHECKED, mode=0o644).status)
        return "done"

    outcomes = in_parallel(server, 4, act)
    assert outcomes == ["done"] * 4, outcomes
    assert tally(seen["CREATE"]) == {"NFS3_OK": 300}, "CREATE: %s" % tally(seen["CREATE"])
    assert set(tally(seen["REMOVE"])) <= {"NFS3_OK", "NFS3ERR_NOENT"}, \
        "REMOVE: %s" % tally(seen["REMOVE"])


@pytest.mark.parametrize("id", badnames.IDS)
@EVERY_WAY
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, how, id):
    """Impossible names get the RFC's error and leave nothing behind."""
    name, errors = badnames.bad_name(id, nfs, home)
    create(nfs, how, home, name).fails(*errors)
    assert nfs.names(home) == [], "something was made: %s" % nfs.names(home)


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9", "defects.md Handles 3b", "defects.md Handles 3c")
def test_dot_names(nfs, home, how, name):
    """"." and ".." exist already: MKDIR says EXIST, as the RFC asks; CREATE refuses."""
    errors = badnames.DOT_ERRORS["MKDIR" if how == "mkdir" else "CREATE"]
    create(nfs, how, home, name).fails(*errors)


@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_in_a_file(nfs, fh, how):
    """Nothing can be made in a file."""
    create(nfs, how, fh, b"x").fails(NFS3ERR_NOTDIR)


@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_without_permission(nfs, home, user, how):
    """Making a name needs write permission for the directory."""
    create(user, how, home, b"x").fails(NFS3ERR_ACCES)
    nfs.lookup(home, b"x").fails(NFS3ERR_NOENT)


@EVERY_WAY
@rule("RFC 1813 3.3.8", "RFC 1813 3.3.9")
def test_in_a_removed_directory(nfs, home, how):
    """A removed directory is stale; nothing can be made in it."""
    gone = nfs.new_dir(home, b"gone")
    nfs.rmdir(home, b"gone").ok()
    create(nfs, how, gone, b"x").fails(NFS3ERR_STALE, NFS3ERR_NOENT)


@EVERY_WAY
@rule("defects.md Handles 5a")
def test_in_a_read_only_export(nfs, ro_root, how):
    """ROFS."""
    create(nfs, how, ro_root, b"conformance-x").fails(NFS3ERR_ROFS)


@EVERY_WAY
@rule("RFC 1813 3.3.8", "defects.md Create 7a")
def test_wcc_of_the_directory(nfs, home, how):
    """The directory's attributes in the reply, if given, are those before and after."""
    before = nfs.attributes(home)
    reply = create(nfs, how, home, b"new").ok()
    after = nfs.attributes(home)
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after._replace(atime=after.atime) == after,
                     "after: %s" % (after,))


@rule("RFC 1813 3.3.9")
def test_mkdir_is_empty_and_linked(nfs, home):
    """A new directory is empty and has its parent above it."""
    fh = nfs.new_dir(home, b"d")
    assert nfs.names(fh) == []
    assert nfs.attributes(nfs.find(fh, b"..")).fileid == nfs.attributes(home).fileid


@rule("RFC 1813 3.3.8")
def test_set_gid_directory_gives_its_group(nfs, home, user):
    """In a set-gid directory, what is made belongs to the directory's group (System V and
    Linux)."""
    dir = nfs.new_dir(home, b"d")
    nfs.setattr(dir, gid=1005).ok()
    nfs.setattr(dir, mode=0o2777).ok()
    if nfs.attributes(dir).mode != 0o2777:
        pytest.skip("the file system keeps no set-gid bit on directories")
    fh = user.handle_of_new(user.create(dir, b"f", GUARDED, mode=0o644), dir, b"f")
    assert nfs.attributes(fh).gid == 1005, "expected gid 1005, got %d" % nfs.attributes(fh).gid


@rule("RFC 1813 3.3.8")
def test_content_of_two_new_files_is_their_own(nfs, home):
    """Two hundred files made and written one after the other keep their own data."""
    made = {}
    for i in range(200):
        data = os.urandom(100)
        made[b"f%03d" % i] = (nfs.new_file(home, b"f%03d" % i, data), data)
    for name, (handle, data) in made.items():
        assert nfs.read(handle, 0, 200).ok().data == data, "%s holds other data" % name


@pytest.mark.parametrize("how", [3, 0xFFFFFFFF])
@rule("defects.md RPC 4f", "RFC 5531 9")
def test_createmode_out_of_range(nfs, home, how):
    """A createmode that is none is GARBAGE_ARGS: what follows cannot be decoded."""
    arguments = Packer().opaque(home).opaque(b"x").u32(how).raw(bytes(24)).bytes()
    header = nfs.connection.call_rpc(PROGRAM, VERSION, NUMBERS["CREATE"], arguments, nfs.cred)
    if header.accept_stat != rpc.GARBAGE_ARGS:
        nfs.decode(header, "CREATE", "CREATE(how=%d)" % how).fails(NFS3ERR_INVAL)
    assert nfs.names(home) == []


@pytest.mark.parametrize("uid, gid, gids", [
    (0xffffffff, 0, ()), (1000, 0xffffffff, ()), (1000, 1000, (0xffffffff,)),
    (0xffffffff, 0xffffffff, (0xffffffff,) * 16), (0x7fffffff, 0xfffffffe, (0x80000000,))],
    ids=["uid", "gid", "group", "all", "large"])
@rule("RFC 5531 8", "defects.md RPC 4f")
def test_as_nobody_at_all(nfs, home, uid, gid, gids):
    """Ids that no user has, 2^32-1 above all, which setuid(2) and its kind take for something else:
    an answer each, files of root's are not created, and the server goes on."""
    nfs.setattr(home, mode=0o777).ok()
    stranger = nfs.as_user(uid, gid, gids)
    reply = stranger.create(home, b"x", GUARDED)
    if reply.status == NFS3_OK:
        attr = nfs.getattr(nfs.lookup(home, b"x").ok().fh).ok().attr
        reply.expect(attr.uid != 0, "a file that is not root's")
    nfs.getattr(home).ok()
