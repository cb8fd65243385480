# SPDX-License-Identifier: Apache-2.0
"""Offload by procedure 22, in both dialects: what a VAAI-NAS plug-in and its host rely on.

Each test runs once with dialect O and once with dialect Q (vaai.py). A server without procedure 22
skips them all."""
import os
import threading
import time

import pytest

import rpc
from conftest import other_export
from nfs3 import (NF3FIFO, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_BADHANDLE, NFS3ERR_DQUOT, NFS3ERR_EXIST,
                  NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NOENT, NFS3ERR_NOSPC, NFS3ERR_NOTSUPP,
                  NFS3ERR_PERM, NFS3ERR_ROFS, NFS3ERR_STALE, changed_handle)
from vaai import CAN_CLONE, CAN_RESERVE, CAN_STAT, COMPLETE, O, O_FULL, Q

rule = pytest.mark.rule
IMAGE_BYTES = 1 << 20
MANY = {"O": 1000, "Q": 200}
BAD_HANDLE = (NFS3ERR_STALE, NFS3ERR_BADHANDLE)
NO_FILE = (NFS3ERR_ISDIR, NFS3ERR_INVAL, NFS3ERR_NOTSUPP)
FULL = (NFS3ERR_NOSPC, NFS3ERR_DQUOT)


@pytest.fixture(autouse=True)
def can_offload(has_procedure_22):
    """Nothing here without it."""


@pytest.fixture(params=[O, Q], ids=["O", "Q"])
def plug(request, nfs, as_root):
    return request.param(nfs)


def new_image(nfs, home, name=b"image", data_bytes=300000, size=IMAGE_BYTES):
    """A file with data in front and a hole behind."""
    fh = nfs.new_file(home, name, os.urandom(data_bytes))
    nfs.setattr(fh, size=size).ok()
    return fh


def new_disk(nfs, home, name=b"disk", size=IMAGE_BYTES):
    """What a host has made before it calls its plug-in."""
    fh = nfs.handle_of_new(nfs.create(home, name), home, name)
    nfs.setattr(fh, size=size).ok()
    return fh


@pytest.fixture
def image(nfs, home):
    return new_image(nfs, home)


@pytest.fixture
def disk(nfs, home):
    return new_disk(nfs, home)


def same(nfs, left, right):
    assert nfs.read_all(left) == nfs.read_all(right), "the clone does not equal its source"


def whole_or_empty(nfs, disk, image, size=IMAGE_BYTES):
    """After an abort: all of the clone, or a file as it was before."""
    data = nfs.read_all(disk)
    assert len(data) == size, "the destination has %d bytes instead of %d" % (len(data), size)
    assert data == nfs.read_all(image) or not any(data), "half a clone was left"


# ----------------------------------------------------------------------------------- full clone

@rule("vaai-wire.md 4a", "esxi.md 22a")
def test_full_clone(nfs, plug, image, disk):
    """A clone into the file that the host has made is complete in the end, and equal."""
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)
    assert nfs.attributes(disk).size == IMAGE_BYTES


@rule("vaai-wire.md 4a")
def test_into_a_file_without_length(nfs, plug, home, image):
    """The plug-in may have made the destination itself, with no attributes: it gets its length."""
    disk = nfs.handle_of_new(nfs.create(home, b"new"), home, b"new")
    plug.cloned(image, disk, b"new")
    same(nfs, disk, image)


@rule("vaai-wire.md 4a")
@pytest.mark.parametrize("size", [0, 1, 4095, 4097, 65536 * 3 + 511])
def test_sizes(nfs, plug, home, size):
    """Images of any length, also none."""
    image = nfs.new_file(home, b"image", os.urandom(size))
    disk = new_disk(nfs, home, size=size)
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)


@rule("vaai-wire.md 4a")
def test_over_old_content(nfs, plug, home, image):
    """Content and length of the destination do not shine through."""
    disk = nfs.new_file(home, b"disk", b"old" * 700000)
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)


@rule("vaai-wire.md 4a")
def test_source_is_left_alone(nfs, plug, image, disk):
    """A clone only reads its source."""
    before = nfs.attributes(image)
    plug.cloned(image, disk, b"disk")
    after = nfs.attributes(image)
    assert (after.mtime, after.size, after.mode, after.uid) == \
        (before.mtime, before.size, before.mode, before.uid)


@rule("vaai-wire.md 4a")
def test_clone_and_source_part(nfs, plug, image, disk):
    """Writing to the clone does not change the source, nor the other way round."""
    plug.cloned(image, disk, b"disk")
    source_data = nfs.read_all(image)
    nfs.write(disk, 4096, b"clone").ok()
    assert nfs.read_all(image) == source_data
    nfs.write(image, 8192, b"source").ok()
    assert nfs.read(disk, 8192, 6).ok().data == source_data[8192:8198]


@rule("vaai-wire.md 4a")
def test_a_clone_of_a_clone(nfs, plug, home, image):
    """Chains, as linked templates are made."""
    source = image
    for number in range(4):
        name = b"disk%d" % number
        disk = new_disk(nfs, home, name)
        plug.cloned(source, disk, name)
        source = disk
    same(nfs, source, image)


@rule("vaai-wire.md 4b")
def test_done_equals_size(plug, image, disk):
    """The last progress has passed all bytes."""
    reply = plug.cloned(image, disk, b"disk")
    reply.expect(reply.done == IMAGE_BYTES, "%d bytes done" % IMAGE_BYTES)


@rule("vaai-wire.md 4b")
def test_progress_from_another_connection(server, nfs, plug, image, disk):
    """Each session of a plug-in is a new connection; that of the clone may be gone."""
    plug.clone(image, disk, b"disk").ok()
    nfs.connection.close()
    other = type(plug)(server.nfs())
    other.finish(disk).ok().expect_state(COMPLETE)
    same(other.nfs, disk, image)


@rule("vaai-wire.md 4b")
def test_host_vanishes_without_the_reply(server, plug, image, disk):
    """A clone whose host went before the answer goes on all the same."""
    lost = server.nfs()
    type(plug)(lost).start_clone(image, disk, b"disk")
    time.sleep(0.05)
    lost.connection.reset()
    plug.finish(disk).ok().expect_state(COMPLETE)
    same(plug.nfs, disk, image)


@rule("vaai-wire.md 1b", "vaai-wire.md 4b")
def test_the_other_dialect_sees_the_clone(nfs, plug, image, disk):
    """The jobs are the same whoever asks."""
    plug.clone(image, disk, b"disk").ok()
    (Q if plug.name == "O" else O)(nfs).finish(disk).ok().expect_state(COMPLETE)


@rule("vaai-wire.md 4b")
def test_progress_of_nothing(plug, image):
    """A file that nothing was cloned into is not said to be a complete clone."""
    reply = plug.progress(image)
    if reply.status == NFS3_OK:
        reply.expect(reply.state != COMPLETE, "any state but complete")


@rule("vaai-wire.md 4c")
def test_sent_again_while_it_runs(server, plug, image, disk):
    """The same clone twice at the same time, on two connections, is one."""
    other = type(plug)(server.nfs())
    calls = [(client, client.start_clone(image, disk, b"disk")) for client in (plug, other)]
    for client, call in calls:
        client.wait(call).ok()
    plug.finish(disk).ok().expect_state(COMPLETE)
    same(plug.nfs, disk, image)


@rule("vaai-wire.md 4c")
def test_sent_again_after_it_completed(nfs, plug, image, disk):
    """A clone whose reply was lost is sent again: the file is not written twice."""
    plug.cloned(image, disk, b"disk")
    before = nfs.attributes(disk)
    plug.cloned(image, disk, b"disk")
    assert nfs.attributes(disk).mtime == before.mtime, "it was cloned a second time"


@rule("vaai-wire.md 4c")
def test_two_sources_at_once(nfs, plug, home, image, disk):
    """Two clones into one file: the destination equals a source that was said to be complete."""
    second = new_image(nfs, home, b"second")
    calls = [plug.start_clone(source, disk, b"disk") for source in (image, second)]
    replies = [plug.wait(call) for call in calls]
    assert NFS3_OK in [reply.status for reply in replies], [str(reply) for reply in replies]
    plug.finish(disk).ok().expect_state(COMPLETE)
    if replies[1].status != NFS3_OK:
        same(nfs, disk, image)
    else:
        assert nfs.read_all(disk) in (nfs.read_all(image), nfs.read_all(second))


@rule("vaai-wire.md 4a")
def test_onto_itself(nfs, plug, image):
    """A file cannot be cloned into itself, and is as it was."""
    data = nfs.read_all(image)
    plug.clone(image, image, b"image").refused()
    assert nfs.read_all(image) == data


@rule("vaai-wire.md 4n")
def test_destination_removed_meanwhile(nfs, plug, home, image, disk):
    """The server survives, and does not say that it is complete for ever."""
    call = plug.start_clone(image, disk, b"disk")
    nfs.remove(home, b"disk").ok()
    plug.wait(call)
    plug.progress(disk)
    nfs.lookup(home, b"disk").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 4i", "esxi.md 22a")
def test_between_exports(nfs, plug, image, second_home):
    """From one export to another, on another file system perhaps: by copying, if not else."""
    disk = new_disk(nfs, second_home)
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)


# ---------------------------------------------------------------------------------------- abort

@rule("vaai-wire.md 4d")
def test_abort_before(plug, disk):
    """There is nothing to abort: an answer, and no harm."""
    plug.abort(disk)
    assert plug.nfs.attributes(disk).size == IMAGE_BYTES


@rule("vaai-wire.md 4d")
def test_abort_after(nfs, plug, image, disk):
    """A complete clone stays complete."""
    plug.cloned(image, disk, b"disk")
    plug.abort(disk)
    same(nfs, disk, image)


@rule("vaai-wire.md 4d")
@pytest.mark.parametrize("pause", [0, 0.002, 0.02])
def test_abort_during(nfs, plug, home, disk, pause):
    """Aborted at any moment, what is left is the whole clone or a file as before; and it can be
    cloned again."""
    image = new_image(nfs, home, data_bytes=IMAGE_BYTES)
    begun = plug.start_clone(image, disk, b"disk")
    time.sleep(pause)
    aborted = plug.start_abort(disk)
    begun = plug.wait(begun)
    plug.wait(aborted)
    if begun.status == NFS3_OK:
        plug.finish(disk)
    whole_or_empty(nfs, disk, image)
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)


@rule("vaai-wire.md 4d", "vaai-wire.md 4b")
def test_abort_from_another_connection(server, nfs, plug, image, disk):
    """The session that aborts need not be the one that began."""
    other = type(plug)(server.nfs())
    plug.clone(image, disk, b"disk").ok()
    other.abort(disk)
    plug.finish(disk)
    whole_or_empty(nfs, disk, image)


# ----------------------------------------------------------------------------------- fast clone

def fast(plug, home, image, name=b"fast", source_name=b"image"):
    """The new file's handle; None if this file system shares no extents, which must leave
    nothing."""
    reply = plug.fast(home, source_name, image, home, name)
    if reply.status == NFS3ERR_NOTSUPP:
        plug.nfs.lookup(home, name).fails(NFS3ERR_NOENT)
        return None
    reply.ok()
    return plug.nfs.find(home, name)


@rule("vaai-wire.md 4e", "esxi.md 22a")
def test_fast_clone(nfs, plug, home, image):
    """It makes its destination with the source's mode, owner and length; answered is done. Where
    extents cannot be shared it is refused and leaves nothing."""
    nfs.setattr(image, mode=0o640, uid=1000, gid=1001).ok()
    disk = fast(plug, home, image)
    if disk:
        attr = nfs.attributes(disk)
        assert (attr.mode & 0o7777, attr.uid, attr.gid, attr.size) == (0o640, 1000, 1001,
                                                                       IMAGE_BYTES)
        same(nfs, disk, image)


@rule("vaai-wire.md 4f")
@pytest.mark.parametrize("there", ["file", "directory"])
def test_fast_clone_over_something(nfs, plug, home, image, there):
    """What is there already stays as it is."""
    if there == "file":
        nfs.new_file(home, b"fast", b"mine")
    else:
        nfs.new_dir(home, b"fast")
    plug.fast(home, b"image", image, home, b"fast").fails(NFS3ERR_EXIST, NFS3ERR_NOTSUPP)
    if there == "file":
        assert nfs.read_all(nfs.find(home, b"fast")) == b"mine"


@rule("vaai-wire.md 4c", "vaai-wire.md 4e")
def test_fast_clone_sent_again(plug, home, image):
    """Its reply was lost: the same call again is not told that its own work is in the way."""
    if fast(plug, home, image):
        plug.fast(home, b"image", image, home, b"fast").ok()


@rule("vaai-wire.md 4e", "vaai-wire.md 4f")
def test_fast_clones_of_many_hosts(server, nfs, plug, home, image):
    """One name, four hosts, different sources: the file equals one of them, and nobody is told
    that his is done but he whose it is."""
    if not fast(plug, home, image, b"probe"):
        return
    sources = [new_image(nfs, home, b"image%d" % i) for i in range(4)]
    clients = [type(plug)(server.nfs()) for _ in sources]
    statuses = [None] * len(sources)

    def one(i):
        statuses[i] = clients[i].fast(home, b"image%d" % i, sources[i], home, b"fast").status
    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(len(sources))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    winners = [i for i, status in enumerate(statuses) if status == NFS3_OK]
    assert len(winners) == 1, statuses
    same(nfs, nfs.find(home, b"fast"), sources[winners[0]])


# ------------------------------------------------------------------------- reserve, statistics

@rule("vaai-wire.md 4g", "esxi.md 23a")
def test_reserve(plug, nfs, home):
    """Every byte up to the file's length gets its place; length and content stay."""
    disk = new_disk(nfs, home, size=4 << 20)
    nfs.write(disk, 5000, b"data").ok()
    before = nfs.read_all(disk)
    plug.reserved(disk).ok()
    usage = plug.usage(disk).ok()
    usage.expect(usage.allocated >= 4 << 20, "at least 4 MiB allocated")
    assert nfs.read_all(disk) == before


@rule("vaai-wire.md 4g")
def test_reserve_again_and_of_nothing(plug, nfs, home, disk):
    """Twice is once, and an empty file has nothing to reserve."""
    plug.reserved(disk).ok()
    plug.reserved(disk).ok()
    assert nfs.attributes(disk).size == IMAGE_BYTES
    plug.reserved(new_disk(nfs, home, b"empty", 0)).ok()


@rule("vaai-wire.md 4g", "esxi.md 23a")
def test_thick_stays_thick(nfs, plug, image, disk):
    """A clone takes no reservation away: all of the destination is its own."""
    plug.reserved(disk).ok()
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)
    usage = plug.usage(disk).ok()
    usage.expect(usage.unique >= IMAGE_BYTES, "%d bytes of its own" % IMAGE_BYTES)


@rule("vaai-wire.md 4g")
def test_thin_stays_thin(nfs, plug, home):
    """Of an image with 64 KiB in 64 MiB the clone takes as little."""
    image = new_image(nfs, home, b"image", 65536, 64 << 20)
    disk = new_disk(nfs, home, size=64 << 20)
    plug.cloned(image, disk, b"disk")
    usage = plug.usage(disk).ok()
    usage.expect(usage.total == 64 << 20, "64 MiB in all")
    usage.expect(usage.allocated <= 4 << 20, "at most 4 MiB allocated")
    assert nfs.read(disk, 0, 65536).ok().data == nfs.read(image, 0, 65536).ok().data


@rule("vaai-wire.md 4h")
def test_statistics(nfs, plug, home):
    """Length, what is allocated, and what removing it would free: in this order of size, and the
    same as the attributes say."""
    data = nfs.new_file(home, b"data", os.urandom(300000))
    nfs.setattr(data, size=8 << 20).ok()
    usage = plug.usage(data).ok()
    usage.expect(usage.total == 8 << 20, "8 MiB in all")
    usage.expect(300000 <= usage.allocated < 8 << 20, "300000 bytes allocated, or somewhat more")
    usage.expect(usage.unique <= usage.allocated, "no more unique than allocated")


@rule("vaai-wire.md 4h")
def test_statistics_of_shared_extents(nfs, plug, home, image):
    """What a fast clone shares is nobody's own."""
    before = plug.usage(image).ok()
    if fast(plug, home, image):
        after = plug.usage(image).ok()
        after.expect(after.unique < max(before.unique, 1), "less than %d unique" % before.unique)


# --------------------------------------------------------------------------------- who may what

@rule("vaai-wire.md 4i")
def test_support(plug, root):
    """All three primitives, on an export that is read-write."""
    assert plug.can(root) == CAN_CLONE | CAN_RESERVE | CAN_STAT


@rule("vaai-wire.md 4i")
def test_destination_in_a_read_only_export(plug, image, ro_file):
    """Nothing is cloned or reserved there."""
    plug.clone(image, ro_file, b"conformance-file").fails(NFS3ERR_ROFS)
    plug.reserve(ro_file).fails(NFS3ERR_ROFS)


@rule("vaai-wire.md 4i")
def test_fast_clone_in_a_read_only_export(plug, home, image, ro_dir):
    """Nothing is made there."""
    plug.fast(home, b"image", image, ro_dir, b"conformance-fast").fails(NFS3ERR_ROFS)
    plug.nfs.lookup(ro_dir, b"conformance-fast").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 4i")
def test_source_in_a_read_only_export(nfs, plug, disk, ro_file):
    """Templates may lie there: reading is allowed."""
    plug.usage(ro_file).ok()
    plug.cloned(ro_file, disk, b"disk")
    same(nfs, disk, ro_file)


@rule("vaai-wire.md 4i")
def test_a_host_that_is_not_listed(server, nfs, plug, home, image, private_home):
    """It may use neither source nor destination, even if it has learnt the handles."""
    if not server.options.second_address:
        pytest.skip("needs --second-address")
    theirs, disk = new_image(nfs, private_home), new_disk(nfs, private_home)
    stranger = type(plug)(server.nfs(connection=server.connect(
        source_address=server.options.second_address)))
    plug.cloned(theirs, disk, b"disk")
    for reply in (stranger.clone(image, disk, b"disk"), stranger.reserve(disk),
                  stranger.usage(disk), stranger.progress(disk), stranger.abort(disk),
                  stranger.clone(theirs, new_disk(nfs, home), b"disk"),
                  stranger.fast(home, b"image", image, private_home, b"fast")):
        reply.fails(NFS3ERR_ACCES, *BAD_HANDLE)
    same(nfs, disk, theirs)
    nfs.lookup(private_home, b"fast").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 4i")
def test_a_user_without_rights(nfs, plug, user, image, disk):
    """Who may not write the destination, or not read the source, does neither by a clone."""
    nobody = type(plug)(user)
    nobody.clone(image, disk, b"disk").fails(NFS3ERR_ACCES, NFS3ERR_PERM)
    nobody.reserve(disk).fails(NFS3ERR_ACCES, NFS3ERR_PERM)
    nfs.setattr(disk, mode=0o666).ok()
    nfs.setattr(image, mode=0o600).ok()
    nobody.clone(image, disk, b"disk").fails(NFS3ERR_ACCES, NFS3ERR_PERM)
    assert not any(nfs.read_all(disk))


@rule("vaai-wire.md 4i")
def test_nobody_makes_files_in_roots_directory(nfs, plug, user, home, image):
    """A fast clone needs the right to make its destination."""
    nobody = type(plug)(user)
    nobody.fast(home, b"image", image, home, b"fast").fails(NFS3ERR_ACCES, NFS3ERR_PERM,
                                                           NFS3ERR_NOTSUPP)
    nfs.lookup(home, b"fast").fails(NFS3ERR_NOENT)


@rule("vaai-wire.md 4i")
def test_without_a_credential(plug, nfs, image, disk):
    """AUTH_NONE is nobody: he overwrites no file of root's."""
    anonymous = type(plug)(type(nfs)(nfs.connection, rpc.auth_none()))
    try:
        anonymous.clone(image, disk, b"disk").refused()
    except rpc.Rejected:
        pass  # AUTH_TOOWEAK
    assert not any(nfs.read_all(disk))


# -------------------------------------------------------------------------------------- handles

FILE_CALLS = pytest.mark.parametrize("call", ["clone_to", "clone_from", "reserve", "usage",
                                              "progress", "abort"])


def call_with(plug, call, handle, image, disk):
    """One call of a plug-in's with this handle in its place."""
    if call == "clone_to":
        return plug.clone(image, handle, b"disk")
    if call == "clone_from":
        return plug.clone(handle, disk, b"disk")
    return getattr(plug, call)(handle)


@FILE_CALLS
@rule("vaai-wire.md 4k", "defects.md Handles 2b")
def test_foreign_handle(plug, image, disk, call):
    """A handle that no server made."""
    call_with(plug, call, bytes(range(1, 33)), image, disk).fails(*BAD_HANDLE)


@FILE_CALLS
@rule("vaai-wire.md 4k", "defects.md Handles 2c")
def test_stale_handle(nfs, plug, home, image, disk, call):
    """A handle of a file that was removed."""
    gone = nfs.new_file(home, b"gone", b"data")
    nfs.remove(home, b"gone").ok()
    call_with(plug, call, gone, image, disk).fails(*BAD_HANDLE)


@FILE_CALLS
@rule("vaai-wire.md 4k", "defects.md Handles 2e")
def test_changed_handle(plug, image, disk, call):
    """Each of a handle's last bytes matters."""
    for back in (1, 5):
        handle = changed_handle(image, len(image) - back)
        call_with(plug, call, handle, image, disk).fails(*BAD_HANDLE)


@FILE_CALLS
@rule("vaai-wire.md 4k")
@pytest.mark.parametrize("kind", ["directory", "symlink", "fifo"])
def test_not_a_file(nfs, plug, home, image, disk, call, kind):
    """What is no regular file is neither cloned nor reserved nor measured."""
    if kind == "directory":
        other = nfs.new_dir(home, b"other")
    elif kind == "symlink":
        other = nfs.new_symlink(home, b"other", b"image")
    else:
        other = nfs.handle_of_new(nfs.mknod(home, b"other", NF3FIFO), home, b"other")
    reply = call_with(plug, call, other, image, disk)
    if not (plug.name == "O" and call == "clone_to" and kind == "directory"):  # a fast clone
        reply.refused()
    assert not any(nfs.read_all(disk))


@rule("vaai-wire.md 4k")
def test_fast_clone_into_what_is_no_directory(nfs, plug, home, image):
    """The handle of a file is no place for a new one."""
    place = nfs.new_file(home, b"place", b"x")
    if plug.name == "Q":
        plug.fast(home, b"image", image, place, b"fast").refused()
        plug.fast(image, b"image", image, home, b"fast").refused()
    nfs.lookup(home, b"fast").fails(NFS3ERR_NOENT)
    assert nfs.read_all(place) == b"x"


# ------------------------------------------------------------------------------------ full disk

@pytest.fixture
def small(server, nfs):
    """A folder in the export that may be filled, and how many bytes are free there."""
    root = other_export(server, "full_export")
    free = nfs.fsstat(root).ok().abytes
    if free > 256 << 20:
        pytest.skip("--full-export has more than 256 MiB free: that takes too long")
    nfs.remove_tree(root, b"conformance-vaai")
    yield nfs.new_dir(root, b"conformance-vaai"), free
    nfs.remove_tree(root, b"conformance-vaai")


def expect_full(plug, reply):
    """In dialect O with the code that hosts show as a full disk."""
    reply.fails(*FULL)
    if plug.name == "O":
        reply.expect(reply.result == O_FULL, "result %d" % O_FULL)


@rule("vaai-wire.md 4l", "esxi.md 23a")
def test_reserve_on_a_full_disk(nfs, plug, small):
    """What does not fit is said, as a full disk; the file has its length and nothing else."""
    folder, free = small
    disk = new_disk(nfs, folder, size=free + (8 << 20))
    expect_full(plug, plug.reserved(disk))
    assert nfs.attributes(disk).size == free + (8 << 20)
    assert nfs.attributes(disk).used < free, "what could not be reserved keeps its space"


@rule("vaai-wire.md 4l")
def test_clone_to_a_full_disk(nfs, plug, home, small):
    """A copy that does not fit fails as a full disk, and leaves the destination empty at its
    former length."""
    folder, free = small
    size = free + (1 << 20)
    image = nfs.new_file(home, b"image")
    piece = os.urandom(1 << 20)
    for at in range(0, size, len(piece)):
        nfs.write_all(image, piece, at, chunk=len(piece) // 2, stable=0)
    disk = new_disk(nfs, folder, size=12345)
    begun = plug.clone(image, disk, b"disk")
    expect_full(plug, begun if begun.status != NFS3_OK else plug.finish(disk))
    assert nfs.read_all(disk) == bytes(12345)


# ------------------------------------------------------------------------------------- in flight

@rule("vaai-wire.md 4m")
def test_many_in_flight(server, nfs, plug, home):
    """A thousand clones (of dialect Q 200, since the jobs are the same) begun at once over four
    connections: each is taken, NFS goes on meanwhile, and all end equal in bounded time."""
    image = nfs.new_file(home, b"image", os.urandom(20000))
    creates = [nfs.start("CREATE", dir=home, name=b"d%d" % i) for i in range(MANY[plug.name])]
    disks = [nfs.wait(call).ok().fh or nfs.find(home, b"d%d" % i)
             for i, call in enumerate(creates)]
    clients = [type(plug)(server.nfs()) for _ in range(4)]
    begun = [(clients[i % 4], clients[i % 4].start_clone(image, disk, b"d%d" % i))
             for i, disk in enumerate(disks)]
    asked = time.monotonic()
    nfs.getattr(home).ok()
    assert time.monotonic() - asked < 5, "a GETATTR waited behind clones"
    for client, call in begun:
        client.wait(call, timeout=40).ok()
    for disk in disks:
        plug.finish(disk).ok().expect_state(COMPLETE)
    data = nfs.read_all(image)
    reads = [nfs.start("READ", file=disk, offset=0, count=65536) for disk in disks]
    assert all(nfs.wait(call).ok().data == data for call in reads)


# --------------------------------------------------------------------- what may break meanwhile

def hook(server, name):
    if not getattr(server.options, name):
        pytest.skip("needs --%s" % name.replace("_", "-"))
    return lambda: server.hook(name)


@rule("vaai-wire.md 4j")
def test_service_down(server, nfs, plug, root, home, image, disk):
    """Support says no, the rest is NOTSUPP, so that hosts copy themselves; NFS goes on. When the
    service is back, so are clones."""
    stop, start = hook(server, "offload_stop_cmd"), hook(server, "offload_start_cmd")
    stop()
    try:
        assert plug.can(root) == 0
        plug.clone(image, disk, b"disk").fails(NFS3ERR_NOTSUPP)
        plug.fast(home, b"image", image, home, b"fast").fails(NFS3ERR_NOTSUPP)
        plug.reserve(disk).fails(NFS3ERR_NOTSUPP)
        plug.usage(disk).fails(NFS3ERR_NOTSUPP)
        plug.progress(disk).fails(NFS3ERR_NOTSUPP)
        plug.abort(disk).fails(NFS3ERR_NOTSUPP)
        nfs.write(disk, 0, b"goes on").ok()
    finally:
        start()
    assert plug.can(root) == CAN_CLONE | CAN_RESERVE | CAN_STAT
    plug.cloned(image, disk, b"disk")
    same(nfs, disk, image)


@rule("vaai-wire.md 4n")
def test_service_restarted_meanwhile(server, nfs, plug, image, disk):
    """A clone that was begun is finished by the service that comes after, or was never begun."""
    stop, start = hook(server, "offload_stop_cmd"), hook(server, "offload_start_cmd")
    plug.clone(image, disk, b"disk").ok()
    stop()
    start()
    plug.finish(disk).ok().expect_state(COMPLETE)
    same(nfs, disk, image)


@rule("vaai-wire.md 4n", "vaai-wire.md 4b")
def test_server_killed_meanwhile(server, plug, image, disk):
    """The clone goes on without the NFS server, and is found again by its destination."""
    kill = hook(server, "kill_cmd")
    plug.clone(image, disk, b"disk").ok()
    kill()
    again = type(plug)(server.nfs())
    again.finish(disk).ok().expect_state(COMPLETE)
    same(again.nfs, disk, image)


@rule("vaai-wire.md 4d")
def test_states_are_final(plug, image, disk):
    """Asked again and again, complete stays complete."""
    plug.cloned(image, disk, b"disk")
    for _ in range(20):
        plug.progress(disk).ok().expect_state(COMPLETE)
