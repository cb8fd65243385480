# SPDX-License-Identifier: Apache-2.0
"""Dialect O of procedure 22, byte by byte: little-endian structures of fixed length in XDR opaques.

A wrong call may be refused with GARBAGE_ARGS or with a status; with a status it has the reply of
80 bytes that clients insist on, which vaai.py checks in every answer."""
import os
import random

import pytest

import rpc
from nfs3 import NFS3ERR_EXIST, NFS3ERR_NOENT, NFS3ERR_NOTSUPP
from vaai import (COMPLETE, GARBAGE, O, O_ABORT, O_CLONE, O_COMMAND_BYTES, O_HAS_CLONE,
                  O_HAS_RESERVE, O_HAS_STAT, O_PATH_BYTES, O_PROGRESS, O_RESERVE, O_STAT)
from xdr import Packer

rule = pytest.mark.rule
SUPPORT = (O_HAS_CLONE, O_HAS_RESERVE, O_HAS_STAT)


@pytest.fixture(autouse=True)
def can_offload(has_procedure_22):
    """Nothing here without it."""


@pytest.fixture
def o(nfs, as_root):
    return O(nfs)


@pytest.fixture
def image(nfs, home):
    return nfs.new_file(home, b"image", os.urandom(100000))


@pytest.fixture
def disk(nfs, home):
    return nfs.new_file(home, b"disk")


def untouched(nfs, home, *names):
    """Nothing was made, and what was there is as it was."""
    assert nfs.names(home) == sorted((b"disk", b"image") + names)
    assert nfs.read_all(nfs.find(home, b"disk")) == b""


@pytest.mark.parametrize("number", SUPPORT)
@rule("vaai-wire.md 2e", "vaai-wire.md 2a", "vaai-wire.md 2c")
def test_support(o, root, number):
    """Each primitive by itself: result 0, with its own command's number in the reply."""
    reply = o.call(number, root).ok()
    reply.expect(reply.result == 0, "result 0, supported")


@rule("vaai-wire.md 2e", "vaai-wire.md 4k")
def test_support_of_no_export(o):
    """A handle of nowhere: not a yes."""
    reply = o.call(O_HAS_CLONE, bytes(range(1, 33)))
    reply.expect(reply.status != 0 or reply.result != 0, "an error, or no")


@rule("vaai-wire.md 2a")
def test_clone_reply(o, image, disk):
    """The answer to a clone has result 0 and a state."""
    reply = o.clone(image, disk, b"disk").ok()
    reply.expect(reply.result == 0, "result 0")
    o.finish(disk).ok().expect_state(COMPLETE)


@rule("vaai-wire.md 2a", "vaai-wire.md 4b")
def test_progress_reply(nfs, o, image, disk):
    """When it is complete, total and done are the file's length."""
    reply = o.cloned(image, disk, b"disk")
    reply.expect(reply.done == 100000, "100000 bytes done")


@rule("vaai-wire.md 2a")
@pytest.mark.parametrize("number", range(1, 9))
def test_errors_have_a_reply_too(o, number):
    """Each command's refusal carries 80 bytes; vaai.py insists."""
    source = bytes(range(2, 34)) if number == O_CLONE else None
    reply = o.call(number, bytes(range(1, 33)), source, b"x")
    if number not in SUPPORT:
        reply.refused()
        reply.expect(reply.result not in (1001, 1002, 1004), "no reason that is not true")


@rule("vaai-wire.md 2f")
@pytest.mark.parametrize("flags", [1, 2, 3, 0x10, 0x80000000, 0xFFFFFFFF])
def test_any_flags(nfs, o, image, disk, flags):
    """Flags are passed on as ESXi gave them; nobody knows their bits."""
    o.call(O_CLONE, disk, image, b"disk", flags=flags).ok()
    o.finish(disk).ok().expect_state(COMPLETE)
    assert nfs.read_all(disk) == nfs.read_all(image)


@rule("vaai-wire.md 2f")
def test_padding_and_reserved_do_not_matter(nfs, o, image, disk):
    """A C compiler leaves what it likes in padding."""
    o.call(O_CLONE, disk, image, b"disk", padding=0xDEADBEEF, reserved=b"\xA5" * 16).ok()
    o.finish(disk).ok().expect_state(COMPLETE)
    assert nfs.read_all(disk) == nfs.read_all(image)


@rule("vaai-wire.md 2f")
def test_bytes_behind_the_nul_do_not_matter(nfs, o, image, disk):
    """The rest of the 256 bytes is what was on the stack."""
    field = b"disk\0" + b"\xFF" * (O_PATH_BYTES - 5)
    o.call(O_CLONE, disk, image, field=field, path_bytes=5).ok()
    o.finish(disk).ok().expect_state(COMPLETE)
    assert nfs.read_all(disk) == nfs.read_all(image)


@rule("vaai-wire.md 2b")
@pytest.mark.parametrize("version", [0, 2, 1 << 32 | 1, 1 << 56, (1 << 64) - 1])
def test_wrong_version(nfs, o, home, image, disk, version):
    """Message version 1 is the only one there is."""
    o.refused("clone", o.arguments(disk, image, o.command(O_CLONE, b"disk", version=version)),
              O_CLONE)
    untouched(nfs, home)


@rule("vaai-wire.md 2c")
@pytest.mark.parametrize("number", [0, 9, 255, 0x01000000, 0xFFFFFFFF])
def test_unknown_command(nfs, o, home, image, disk, number):
    """A command's number that is none, big-endian 1 among them."""
    o.refused("command", o.arguments(disk, image, o.command(number, b"disk")), number)
    untouched(nfs, home)


@rule("vaai-wire.md 2b")
@pytest.mark.parametrize("length", [0, 1, 4, 8, 24, 280, 295, 297, 300, 1024])
def test_wrong_command_length(nfs, o, home, image, disk, length):
    """296 bytes, neither more nor less."""
    command = o.command(O_CLONE, b"disk").ljust(length, b"\0")[:length]
    o.refused("clone", o.arguments(disk, image, command), None)
    untouched(nfs, home)


@rule("vaai-wire.md 1c", "defects.md RPC 3a")
@pytest.mark.parametrize("length", [1025, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF])
@pytest.mark.parametrize("where", ["source", "command"])
def test_lengths_that_wrap(o, image, disk, where, length):
    """Lengths beyond the message or their bound are GARBAGE_ARGS."""
    p = Packer().opaque(disk).u32(0)
    if where == "command":
        p.opaque(image)
    arguments = p.u32(length).raw(o.command(O_CLONE, b"disk")).bytes()
    assert o.exchange(arguments) == GARBAGE
    o.progress(disk)


@rule("vaai-wire.md 1c", "defects.md RPC 4h")
def test_cut_short(nfs, o, home, image, disk):
    """Arguments that end early, at each word, are refused; the connection goes on."""
    whole = o.arguments(disk, image, o.command(O_CLONE, b"disk"))
    for end in range(0, len(whole), 4):
        assert o.exchange(whole[:end]) == GARBAGE, "cut to %d of %d bytes" % (end, len(whole))
    untouched(nfs, home)


@rule("vaai-wire.md 1a")
@pytest.mark.parametrize("word", [6, 7, 65, 100, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_first_word_of_neither_dialect(o, disk, word):
    """Neither a handle's length nor an operation's number."""
    assert o.exchange(Packer().u32(word).raw(bytes(600)).bytes()) == GARBAGE
    o.progress(disk)


@rule("vaai-wire.md 1a", "vaai-wire.md 1c")
def test_no_arguments(o, disk):
    """An empty call."""
    assert o.exchange(b"") == GARBAGE
    o.progress(disk)


@rule("vaai-wire.md 4k")
@pytest.mark.parametrize("length", [8, 20, 63, 64])
def test_handles_of_other_lengths(o, image, length):
    """Any length that NFS allows is a handle, of no file here."""
    o.call(O_PROGRESS, b"\x5A" * length).refused()
    o.call(O_CLONE, b"\x5A" * length, image, b"x").refused()


@rule("vaai-wire.md 2b")
@pytest.mark.parametrize("kind", [1, 2, 7, 0xFFFFFFFF])
def test_any_other_kind_is_no_source(o, root, kind):
    """The union's default arm is void."""
    results = o.exchange(o.arguments(root, None, o.command(O_HAS_CLONE), kind=kind))
    assert results != GARBAGE
    o.decode("support", results, O_HAS_CLONE).ok()


@rule("vaai-wire.md 2b")
def test_clone_without_a_source(nfs, o, home, image, disk):
    """There is nothing to clone."""
    o.refused("clone", o.arguments(disk, None, o.command(O_CLONE, b"disk")), O_CLONE)
    untouched(nfs, home)


@rule("vaai-wire.md 2b")
@pytest.mark.parametrize("number", [O_RESERVE, O_STAT, O_PROGRESS, O_ABORT])
def test_a_source_where_none_belongs(o, image, disk, number):
    """Answered, whether it is ignored or refused."""
    results = o.exchange(o.arguments(disk, image, o.command(number)))
    if results != GARBAGE:
        o.decode("command %d" % number, results, number)


@rule("RFC 5531 9", "defects.md RPC 4h")
def test_trailing_bytes(o, disk):
    """Bytes behind the arguments are ignored or refused, and not taken for another call."""
    arguments = o.arguments(disk, None, o.command(O_STAT)) + bytes(64)
    results = o.exchange(arguments)
    if results != GARBAGE:
        o.decode("statistics", results, O_STAT)
    o.usage(disk).ok()


# ---------------------------------------------------------------------------- names of fast clones

BAD_PATHS = {
    "empty": b"", "dot": b".", "dotdot": b"..", "absolute": b"/tmp/x", "root": b"/",
    "up": b"../x", "up inside": b"a/../x", "up at the end": b"a/..", "slash behind": b"x/",
    "dot at the end": b"a/.", "dotdot at the end": b"image/../..",
}


@rule("vaai-wire.md 2d", "defects.md Handles 3g")
@pytest.mark.parametrize("path", list(BAD_PATHS.values()), ids=list(BAD_PATHS))
def test_bad_path(nfs, o, home, image, disk, path):
    """No path leads out of the directory whose handle was given, nor names that itself."""
    o.call(O_CLONE, home, image, path).refused()
    untouched(nfs, home)


@rule("vaai-wire.md 2d")
@pytest.mark.parametrize("path_bytes", [0, 257, 1000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_wrong_name_length(nfs, o, home, image, disk, path_bytes):
    """The length counts the final NUL, and 256 is the field."""
    command = o.command(O_CLONE, b"fast", path_bytes=path_bytes)
    o.refused("fast clone", o.arguments(home, image, command), O_CLONE)
    untouched(nfs, home)


@rule("vaai-wire.md 2d")
@pytest.mark.parametrize("path_bytes", [4, 2, 256])
def test_unterminated_name(nfs, o, home, image, disk, path_bytes):
    """A name without its NUL where the length says is refused, not read on."""
    field = b"fast" + b"f" * (O_PATH_BYTES - 4)
    command = o.command(O_CLONE, field=field, path_bytes=path_bytes)
    o.refused("fast clone", o.arguments(home, image, command), O_CLONE)
    untouched(nfs, home)


@rule("vaai-wire.md 2d", "defects.md Handles 3e")
def test_nul_inside_the_name(nfs, o, home, image, disk):
    """Refused, or ended there; never a name with a NUL."""
    command = o.command(O_CLONE, field=b"fast\0er\0", path_bytes=8)
    o.exchange(o.arguments(home, image, command))
    assert set(nfs.names(home)) <= {b"disk", b"image", b"fast"}


@rule("vaai-wire.md 2d")
def test_longest_name(nfs, o, home, image):
    """255 bytes and the NUL fill the field."""
    name = b"n" * 255
    reply = o.call(O_CLONE, home, image, name)
    if reply.status != NFS3ERR_NOTSUPP:
        reply.ok()
        assert nfs.read_all(nfs.find(home, name)) == nfs.read_all(image)


@rule("vaai-wire.md 2d", "vaai-wire.md 4e")
def test_last_component_is_made_in_the_target(nfs, o, home, image):
    """The path is the one below the mounted directory; the target is the handle of its last
    directory, and there the file is made."""
    folder = nfs.new_dir(home, b"vm1")
    reply = o.call(O_CLONE, folder, image, b"some/where/vm1/vm1-flat.vmdk")
    assert nfs.names(home) == [b"image", b"vm1"]
    if reply.status != NFS3ERR_NOTSUPP:
        reply.ok()
        assert nfs.names(folder) == [b"vm1-flat.vmdk"]
        reply.expect(reply.state == COMPLETE, "complete with the answer")


@rule("vaai-wire.md 4f")
def test_fast_clone_over_a_link(nfs, o, home, image, disk):
    """A symbolic link in the place of the destination is not followed."""
    nfs.new_symlink(home, b"fast", b"disk")
    o.call(O_CLONE, home, image, b"fast").fails(NFS3ERR_EXIST, NFS3ERR_NOTSUPP)
    untouched(nfs, home, b"fast")


@rule("vaai-wire.md 4e", "vaai-wire.md 4k")
def test_fast_clone_into_a_removed_directory(nfs, o, home, image):
    """The directory is gone: STALE or NOENT, nothing made."""
    folder = nfs.new_dir(home, b"gone")
    nfs.rmdir(home, b"gone").ok()
    o.call(O_CLONE, folder, image, b"fast").refused()
    nfs.lookup(home, b"gone").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 1c", "defects.md RPC 4i")
def test_noise(o, nfs, home, image, disk):
    """Calls with bytes changed at random are all answered, on a connection that lives."""
    dice = random.Random(22)
    whole = o.arguments(disk, bytes(range(1, 33)), o.command(O_CLONE, b"disk"))
    for _ in range(300):
        noisy = bytearray(whole)
        for _ in range(dice.randint(1, 8)):
            noisy[dice.randrange(len(noisy))] = dice.randrange(256)
        header = nfs.connection.exchange(o.message(bytes(noisy)))
        assert header.accept_stat in (rpc.SUCCESS, rpc.GARBAGE_ARGS), str(header)
    assert O_COMMAND_BYTES == 296
    untouched(nfs, home)
