# SPDX-License-Identifier: Apache-2.0
"""File handles: RFC 1813 sections 2.3.3 and 2.6, esxi.md 7, 9 and 10, defects.md Handles."""
import os
import random

import pytest

import rpc
from nfs3 import (NF3FIFO, NFS3_OK, NFS3ERR_BADHANDLE, NFS3ERR_STALE, NUMBERS, PROGRAM, VERSION,
                  changed_handle, pack_arguments)
from samples import arguments
from xdr import Packer

rule = pytest.mark.rule
REFUSED = (NFS3ERR_BADHANDLE, NFS3ERR_STALE)

EVERY_PROCEDURE = pytest.mark.parametrize("procedure", list(NUMBERS))


@rule("esxi.md 9a")
@pytest.mark.parametrize("kind", ["root", "directory", "file", "symlink", "fifo", "deep"])
def test_at_most_56_bytes(nfs, root, home, kind):
    """ESXi mounts nothing with handles of more than 56 bytes."""
    if kind == "deep":
        handle = home
        for _ in range(20):
            handle = nfs.new_dir(handle, b"n" * 200)
    else:
        handle = {"root": lambda: root, "directory": lambda: nfs.new_dir(home, b"x"),
                  "file": lambda: nfs.new_file(home, b"x"),
                  "symlink": lambda: nfs.new_symlink(home, b"x", b"t"),
                  "fifo": lambda: nfs.handle_of_new(nfs.mknod(home, b"x", NF3FIFO), home, b"x"),
                  }[kind]()
    assert len(handle) <= 56, "a handle of %d bytes: %s" % (len(handle), handle.hex())


@rule("esxi.md 9b")
def test_length_is_exact(server, nfs, root, home, fh):
    """A handle is as long as its content; longer and shorter versions of it are not the same
    file."""
    for handle in (root, home, fh):
        for other in (handle + b"\0", handle + bytes(4), handle[:-1], handle[:-4]):
            if 0 < len(other) <= 64:
                nfs.getattr(other).fails(*REFUSED)


@EVERY_PROCEDURE
@rule("esxi.md 7a", "RFC 1813 3.3.1", "defects.md Handles 2c")
def test_stale_in_every_procedure(nfs, home, procedure):
    """A handle of what was removed is STALE, on a connection that stays open."""
    on_directory = "dir" in arguments(procedure, b"", b"") and procedure != "LINK"
    if on_directory or procedure == "RENAME":
        gone = nfs.new_dir(home, b"gone")
        nfs.rmdir(home, b"gone").ok()
    elif procedure == "READLINK":
        gone = nfs.new_symlink(home, b"gone", b"t")
        nfs.remove(home, b"gone").ok()
    else:
        gone = nfs.new_file(home, b"gone", b"data")
        nfs.remove(home, b"gone").ok()
    nfs.call(procedure, **arguments(procedure, gone, home)).fails(NFS3ERR_STALE)
    assert nfs.connection.silent(0.02), "the connection was closed, or more was sent"
    nfs.getattr(home).ok()


@EVERY_PROCEDURE
@rule("defects.md Handles 2b", "defects.md Handles 2d", "esxi.md 7a")
def test_foreign_handle_in_every_procedure(nfs, home, procedure):
    """A handle that this server never made is BADHANDLE or STALE, on a connection that stays
    open."""
    foreign = bytes(range(1, 33))
    nfs.call(procedure, **arguments(procedure, foreign, home)).fails(*REFUSED)
    nfs.getattr(home).ok()


@pytest.mark.parametrize("procedure", ["RENAME", "LINK"])
@rule("defects.md Handles 2b", "RFC 1813 3.3.14", "RFC 1813 3.3.15")
def test_foreign_second_handle(nfs, home, fh, procedure):
    """The second handle of RENAME and LINK is examined as well."""
    foreign = bytes(range(1, 33))
    if procedure == "RENAME":
        nfs.rename(home, b"file", foreign, b"x").fails(*REFUSED)
    else:
        nfs.link(fh, foreign, b"x").fails(*REFUSED)
    assert nfs.names(home) == [b"file"]


@pytest.mark.parametrize("content", [
    b"\0", bytes(4), bytes(8), bytes(12), bytes(16), bytes(28), bytes(32), bytes(56), bytes(64),
    b"\xff" * 4, b"\xff" * 28, b"\xff" * 32, b"\xff" * 64, b"\x01\x00\x00\x00" * 7,
    b"\x43\x00\x00\x01" + bytes(32),         # the shape of an nfs-ganesha handle
    b"\x01\x00\x07\x00" + bytes(24),         # ... of a Linux kernel server's
    b"\x01\x00\x06\x01" + bytes(40), b"lodestore-nfsd", os.urandom(20)],
    ids=lambda content: "%dx%s" % (len(content), content[:4].hex()) if isinstance(content, bytes)
    else None)
@rule("defects.md Handles 2a", "defects.md Handles 2d")
def test_invented(nfs, home, content):
    """Invented handles of any length are refused in order."""
    nfs.getattr(content).fails(*REFUSED)
    nfs.lookup(content, b"x").fails(*REFUSED)
    nfs.getattr(home).ok()


@pytest.mark.parametrize("length", [0, 65, 66, 68, 100, 128, 400, 4096])
@rule("defects.md Handles 2a", "RFC 1813 2.3.3", "RFC 5531 9")
def test_impossible_length(nfs, home, length):
    """A handle of 0 bytes is BADHANDLE; one of more than 64 cannot be decoded: GARBAGE_ARGS, or
    BADHANDLE."""
    header = nfs.connection.call_rpc(PROGRAM, VERSION, NUMBERS["GETATTR"],
                                     Packer().opaque(b"\x01" * length).bytes(), nfs.cred)
    if header.accept_stat != rpc.GARBAGE_ARGS:
        nfs.decode(header, "GETATTR", "GETATTR(handle of %d bytes)" % length).fails(*REFUSED)
    nfs.getattr(home).ok()


@rule("defects.md Handles 2b", "defects.md Handles 2e")
def test_every_changed_byte(nfs, root, home, fh):
    """A good handle with any one byte changed names nothing outside what it named: refused, or -
    for a server with bits that mean nothing - the same object."""
    for handle in (home, fh):
        fileid = nfs.attributes(handle).fileid
        for position in range(len(handle)):
            for mask in (0x01, 0x80, 0xFF):
                reply = nfs.getattr(changed_handle(handle, position, mask))
                if reply.status == NFS3_OK:
                    reply.expect(reply.attr.fileid == fileid,
                                 "BADHANDLE or STALE: byte %d was changed" % position)
                else:
                    reply.fails(*REFUSED)


@rule("defects.md Handles 2b")
def test_random_changes(nfs, home, fh):
    """A thousand handles with random bytes changed: every one is answered, the server lives."""
    chance = random.Random(20260101)
    good = [home, fh]
    calls = []
    for _ in range(1000):
        handle = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 8)):
            handle[chance.randrange(len(handle))] = chance.randrange(256)
        calls.append((bytes(handle), nfs.start("GETATTR", file=bytes(handle))))
    for handle, call in calls:
        reply = nfs.wait(call)
        if reply.status != NFS3_OK:
            reply.fails(*REFUSED)
    nfs.getattr(home).ok()


@rule("esxi.md 10b")
def test_survives_renames(nfs, home, fh):
    """A handle is the file's, not its name's: it goes on through renames of file and
    directories."""
    nfs.write(fh, 0, b"data").ok()
    a, b = nfs.new_dir(home, b"a"), nfs.new_dir(home, b"b")
    nfs.rename(home, b"file", a, b"inside").ok()
    nfs.rename(home, b"a", b, b"a").ok()
    assert nfs.read_all(fh) == b"data"
    assert nfs.names(a) == [b"inside"]
    assert nfs.find(nfs.find(nfs.find(home, b"b"), b"a"), b"inside") == fh


@rule("esxi.md 10c")
def test_same_after_mounting_again(server, nfs, root, home, fh):
    """Mounting again, over a new connection, gives the same handles."""
    assert server.mounted() == root
    second = server.nfs()
    second.getattr(fh).ok()
    assert second.find(home, b"file") == fh
    second.connection.close()


@rule("RFC 1813 2.3.3")
def test_different_objects_have_different_handles(nfs, home):
    """Two objects never have the same handle; nor does a new file get a removed one's."""
    seen = set()
    for i in range(100):
        handle = nfs.new_file(home, b"f")
        assert handle not in seen, "the handle of a removed file was given again"
        seen.add(handle)
        nfs.remove(home, b"f").ok()
    nfs.new_file(home, b"g")
    for handle in seen:
        nfs.getattr(handle).fails(NFS3ERR_STALE)


@rule("RFC 1813 2.3.3")
def test_hard_links_share_a_handle(nfs, home, fh):
    """One file has one handle, under whichever name it is found - or at least one identity."""
    other = nfs.new_dir(home, b"d")
    nfs.link(fh, other, b"link").ok()
    reply = nfs.lookup(other, b"link").ok()
    reply.expect(nfs.attributes(reply.fh).fileid == nfs.attributes(fh).fileid, "the same file")
    nfs.write(reply.fh, 0, b"data").ok()
    assert nfs.read_all(fh) == b"data"


@rule("defects.md Handles 2f")
def test_of_another_export(server, nfs, home, second_home):
    """The handles of two exports differ, and each finds its own files."""
    second = nfs.new_file(second_home, b"x", b"second")
    first = nfs.new_file(home, b"x", b"first")
    assert first != second
    assert nfs.read_all(first) == b"first" and nfs.read_all(second) == b"second"


@pytest.mark.parametrize("word", ["dir", "from_dir", "to_dir"])
@rule("defects.md Handles 2a", "RFC 5531 9")
def test_handle_that_ends_early(nfs, home, word):
    """Arguments that end inside a handle are GARBAGE_ARGS."""
    procedure = "RENAME" if word != "dir" else "LOOKUP"
    whole = pack_arguments("RENAME", from_dir=home, from_name=b"a", to_dir=home, to_name=b"b") \
        if procedure == "RENAME" else pack_arguments("LOOKUP", dir=home, name=b"x")
    cut = {"dir": 8, "from_dir": 12, "to_dir": len(whole) - 20}[word]
    header = nfs.connection.call_rpc(PROGRAM, VERSION, NUMBERS[procedure], whole[:cut], nfs.cred)
    assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header
