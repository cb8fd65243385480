# SPDX-License-Identifier: Apache-2.0
"""Dialect Q of procedure 22, byte by byte: an operation's number, and XDR by operation."""
import os
import random

import pytest

import rpc
from nfs3 import (NFS3_OK, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_NOENT, NFS3ERR_NOTSUPP,
                  NFS3ERR_XDEV)
from vaai import (CAN_CLONE, CAN_RESERVE, CAN_STAT, COMPLETE, GARBAGE, PROCEDURE, Q, Q_ABORT,
                  Q_CLONE, Q_FLAG_THIN, Q_FLAGS_FAST, Q_INQUIRY, Q_MAGIC, Q_MAGIC_OLD, Q_REGISTER,
                  Q_RESERVE, Q_STAT)
from xdr import Packer

rule = pytest.mark.rule
ALL = CAN_CLONE | CAN_RESERVE | CAN_STAT


@pytest.fixture(autouse=True)
def can_offload(has_procedure_22):
    """Nothing here without it."""


@pytest.fixture
def q(nfs, as_root):
    return Q(nfs)


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


@rule("vaai-wire.md 3a")
@pytest.mark.parametrize("magic", [Q_MAGIC, Q_MAGIC_OLD])
def test_register(q, magic):
    """Plug-ins of both generations are told the primitives."""
    reply = q.register(magic).ok()
    reply.expect(reply.primitives == ALL, "clone, reserve and statistics")


@rule("vaai-wire.md 3a")
@pytest.mark.parametrize("magic", [0, 1, Q_MAGIC ^ 1, Q_MAGIC ^ 1 << 63, 0x0341232995266880,
                                   Q_MAGIC & 0xFFFFFFFF, (1 << 64) - 1])
def test_wrong_magic(q, magic):
    """Who is no plug-in of this dialect is INVAL."""
    q.register(magic).fails(NFS3ERR_INVAL)


@rule("vaai-wire.md 1a")
def test_operation_6_and_7(q, disk):
    """Neither an operation nor a handle's length."""
    for word in (6, 7):
        assert q.exchange(Packer().u32(word).opaque(disk).bytes()) == GARBAGE
    q.usage(disk).ok()


def whole_arguments(op, image, disk):
    """One call of each operation."""
    p = Packer().u32(op)
    if op == Q_REGISTER:
        return p.u64(Q_MAGIC).bytes()
    if op == Q_RESERVE:
        return p.opaque(disk).u64(0).bytes()
    if op == Q_CLONE:
        return Q.clone_arguments(image, disk, 0)
    return p.opaque(disk).bytes()


@rule("vaai-wire.md 1c", "defects.md RPC 4h")
@pytest.mark.parametrize("op", range(6))
def test_cut_short(nfs, q, home, image, disk, op):
    """Arguments that end early, at each word, are GARBAGE_ARGS; the connection goes on."""
    whole = whole_arguments(op, image, disk)
    for end in range(4, len(whole), 4):
        assert q.exchange(whole[:end]) == GARBAGE, "cut to %d of %d bytes" % (end, len(whole))
    untouched(nfs, home)


@rule("vaai-wire.md 1c", "defects.md RPC 4h")
@pytest.mark.parametrize("op", range(6))
def test_trailing_bytes(q, image, disk, op):
    """Bytes behind the arguments are ignored or refused, and not taken for another call."""
    results = q.exchange(whole_arguments(op, image, disk) + bytes(40))
    if results != GARBAGE:
        q.decode("operation %d" % op, results, op)
    q.usage(disk).ok()


@rule("vaai-wire.md 1c", "defects.md RPC 3a")
@pytest.mark.parametrize("length", [65, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF])
@pytest.mark.parametrize("op", [Q_RESERVE, Q_STAT, Q_CLONE, Q_INQUIRY, Q_ABORT])
def test_handle_lengths(q, disk, op, length):
    """Handles have at most 64 bytes."""
    assert q.exchange(Packer().u32(op).u32(length).raw(bytes(1100)).bytes()) == GARBAGE
    q.usage(disk).ok()


@rule("vaai-wire.md 1c", "defects.md RPC 3a")
@pytest.mark.parametrize("length", [65, 0x7FFFFFFF, 0xFFFFFFFC])
def test_second_handle_length(q, image, length):
    """Of a clone's destination, too."""
    arguments = Packer().u32(Q_CLONE).opaque(image).u32(length).raw(bytes(1100)).bytes()
    assert q.exchange(arguments) == GARBAGE


@rule("vaai-wire.md 4k")
@pytest.mark.parametrize("length", [0, 1, 7, 20, 64])
def test_handles_of_other_lengths(q, length):
    """No handle of ours is so long: an error, not a crash."""
    for op in (Q_STAT, Q_INQUIRY, Q_ABORT):
        q.refused("operation %d" % op, Packer().u32(op).opaque(b"\x5A" * length).bytes(), op)


@rule("vaai-wire.md 3b")
@pytest.mark.parametrize("flags", [0, Q_FLAG_THIN, 1, 2, 4, 0x13, 0x80000000, 0xFFFFFFFF])
def test_flags_other_than_3_are_a_full_clone(nfs, q, image, disk, flags):
    """Names follow if the flags are 3, not otherwise: here there are none, and files' handles."""
    q.clone(image, disk, flags=flags).ok()
    q.finish(disk).ok().expect_state(COMPLETE)
    assert nfs.read_all(disk) == nfs.read_all(image)


@rule("vaai-wire.md 3b")
def test_fast_clone_without_names(nfs, q, home, image, disk):
    """Flags 3, and nothing behind."""
    assert q.exchange(q.clone_arguments(image, disk, Q_FLAGS_FAST)) == GARBAGE
    untouched(nfs, home)


@rule("vaai-wire.md 3b")
def test_thin_keeps_zeros_thin(nfs, q, home):
    """With flag 0x10 a run of written zeros need not take space; content is the same."""
    image = nfs.new_file(home, b"image", bytes(1 << 20) + b"end")
    disk = nfs.new_file(home, b"disk")
    q.clone(image, disk, flags=Q_FLAG_THIN).ok()
    q.finish(disk).ok().expect_state(COMPLETE)
    assert nfs.read_all(disk) == nfs.read_all(image)


@rule("vaai-wire.md 4b")
def test_finished_state_is_2(q, image, disk):
    """On the wire: operation 4, state 2, and all bytes done."""
    q.cloned(image, disk)
    results = q.exchange(Packer().u32(Q_INQUIRY).opaque(disk).bytes())
    assert results == Packer().u32(NFS3_OK).u32(Q_INQUIRY).u32(2).u64(100000).bytes()


@rule("vaai-wire.md 4d")
def test_abort_tells_a_state(q, image, disk):
    """Of a clone that is finished: that it is, or that there is nothing to abort."""
    q.cloned(image, disk)
    reply = q.abort(disk)
    if reply.status == NFS3_OK:
        reply.expect_state(COMPLETE)


@rule("vaai-wire.md 3c")
def test_reserve_a_part(nfs, q, home):
    """A count reserves so much from the front; the length stays."""
    disk = nfs.new_file(home, b"part")
    nfs.setattr(disk, size=64 << 20).ok()
    q.reserved(disk, 4 << 20).ok()
    usage = q.usage(disk).ok()
    usage.expect(4 << 20 <= usage.allocated < 64 << 20, "some 4 MiB allocated")
    assert nfs.attributes(disk).size == 64 << 20


@rule("vaai-wire.md 3c")
def test_reserve_beyond_the_end(nfs, q, disk):
    """Reserved or refused, but the file gets no longer by it."""
    q.reserved(disk, 1 << 20)
    assert nfs.attributes(disk).size == 0


@rule("vaai-wire.md 3c", "defects.md Create 8d")
@pytest.mark.parametrize("count", [(1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_reserve_sizes_that_cannot_be(nfs, q, disk, count):
    """Sizes near 2^63 and 2^64 are refused, then or by the job."""
    reply = q.reserved(disk, count)
    reply.expect(reply.status != NFS3_OK or reply.state != COMPLETE, "an error, or failed")
    assert nfs.attributes(disk).size == 0


# ---------------------------------------------------------------------------- names of fast clones

BAD_NAMES = {
    "empty": b"", "dot": b".", "dotdot": b"..", "absolute": b"/tmp/x", "up": b"../x",
    "inside": b"a/b", "slash": b"/", "slash behind": b"x/", "nul": b"a\0b",
    "too long": b"n" * 256, "much too long": b"n" * 4000,
}
BAD_NAME = pytest.mark.parametrize("name", list(BAD_NAMES.values()), ids=list(BAD_NAMES))


@BAD_NAME
@rule("vaai-wire.md 3d", "defects.md Handles 3g")
def test_bad_destination_name(nfs, q, home, image, disk, name):
    """A name is one component, of the directory whose handle is given."""
    q.refused("fast clone", q.clone_arguments(home, home, Q_FLAGS_FAST, name, b"image"), Q_CLONE)
    untouched(nfs, home)


@BAD_NAME
@rule("vaai-wire.md 3d", "defects.md Handles 3g")
def test_bad_source_name(nfs, q, home, image, disk, name):
    """The source's likewise."""
    q.refused("fast clone", q.clone_arguments(home, home, Q_FLAGS_FAST, b"fast", name), Q_CLONE)
    untouched(nfs, home)


@rule("vaai-wire.md 1c", "defects.md RPC 3a")
@pytest.mark.parametrize("length", [0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF])
@pytest.mark.parametrize("which", ["destination", "source"])
def test_name_lengths_that_wrap(q, home, which, length):
    """Lengths beyond the message are GARBAGE_ARGS."""
    p = Packer().raw(q.clone_arguments(home, home, Q_FLAGS_FAST))
    if which == "source":
        p.opaque(b"fast")
    assert q.exchange(p.u32(length).raw(bytes(64)).bytes()) == GARBAGE


@rule("vaai-wire.md 4e")
def test_fast_clone_of_the_missing(nfs, q, home, image, disk):
    """No source: NOENT (or NOTSUPP, where fast clones are not)."""
    q.fast(home, b"missing", None, home, b"fast").fails(NFS3ERR_NOENT, NFS3ERR_NOTSUPP)
    untouched(nfs, home)


@rule("vaai-wire.md 4e")
def test_fast_clone_of_a_directory(nfs, q, home, image, disk):
    """Only files are cloned."""
    nfs.new_dir(home, b"folder")
    q.fast(home, b"folder", None, home, b"fast").refused()
    untouched(nfs, home, b"folder")


@rule("vaai-wire.md 4e", "defects.md Handles 3g")
def test_fast_clone_of_a_link(nfs, q, home, image, disk):
    """A symbolic link is not followed: it may lead out of the export."""
    nfs.new_symlink(home, b"link", b"/etc/hostname")
    q.fast(home, b"link", None, home, b"fast").refused()
    untouched(nfs, home, b"link")


@rule("vaai-wire.md 4e")
def test_fast_clone_between_directories(nfs, q, home, image):
    """The two handles are of two directories."""
    folder = nfs.new_dir(home, b"vm1")
    reply = q.fast(home, b"image", image, folder, b"vm1-flat.vmdk")
    if reply.status != NFS3ERR_NOTSUPP:
        reply.ok()
        assert nfs.names(folder) == [b"vm1-flat.vmdk"]
        assert nfs.read_all(nfs.find(folder, b"vm1-flat.vmdk")) == nfs.read_all(image)


@rule("vaai-wire.md 4e", "vaai-wire.md 4i")
def test_fast_clone_between_exports(nfs, q, home, image, second_home):
    """Shared if both are on one file system; else refused, with nothing left."""
    reply = q.fast(home, b"image", image, second_home, b"fast")
    if reply.status == NFS3_OK:
        assert nfs.read_all(nfs.find(second_home, b"fast")) == nfs.read_all(image)
    else:
        reply.fails(NFS3ERR_NOTSUPP, NFS3ERR_XDEV)
        nfs.lookup(second_home, b"fast").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 4f")
def test_fast_clone_onto_its_source(nfs, q, home, image, disk):
    """The name is taken, by the source itself."""
    data = nfs.read_all(image)
    q.fast(home, b"image", image, home, b"image").refused()
    assert nfs.read_all(image) == data
    q.fast(home, b"image", image, home, b"disk").fails(NFS3ERR_EXIST, NFS3ERR_NOTSUPP)
    untouched(nfs, home)


@rule("vaai-wire.md 1b")
def test_procedure_22_of_other_versions(nfs, q):
    """Versions 2 and 4 of NFS have no such procedure here."""
    for version in (2, 4):
        reply = nfs.connection.call_rpc(100003, version, PROCEDURE,
                                        Packer().u32(Q_REGISTER).u64(Q_MAGIC).bytes(), nfs.cred)
        assert reply.accept_stat != rpc.SUCCESS, str(reply)


@rule("vaai-wire.md 1c", "defects.md RPC 4i")
def test_noise(q, nfs, home, image, disk):
    """Calls with bytes changed at random are all answered, on a connection that lives."""
    dice = random.Random(23)
    foreign = bytes(range(1, 33))
    for _ in range(300):
        noisy = bytearray(q.clone_arguments(foreign, disk, Q_FLAGS_FAST, b"fast", b"image"))
        for _ in range(dice.randint(1, 8)):
            noisy[dice.randrange(4, len(noisy))] = dice.randrange(256)
        header = nfs.connection.exchange(q.message(bytes(noisy)))
        assert header.accept_stat in (rpc.SUCCESS, rpc.GARBAGE_ARGS), str(header)
    untouched(nfs, home)
