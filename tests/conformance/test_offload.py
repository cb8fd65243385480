# SPDX-License-Identifier: Apache-2.0
"""lodestore's offload program: how files are named, who may, clone, reserve, stat, checksum, punch.

rpcgen/offload.x says what is held to here; test_offload_jobs.py is about jobs. Sources are up to
some MiB, so that a server which can only copy is done in a moment as well.
"""
import os

import pytest

import nfs3
import offload as o
import rpc
from offload import by_handle, by_path, below
from parallel import in_parallel
from xdr import Packer

rule = pytest.mark.rule
MIB = 1 << 20
FORMS = pytest.mark.parametrize("form", ["handle", "path", "below"])


def content(count):
    """Bytes that do not repeat and do not compress to holes."""
    return os.urandom(count)


@pytest.fixture
def data():
    return content(300000)


@pytest.fixture
def source(nfs, home, data):
    return nfs.new_file(home, b"source", data)


@pytest.fixture
def named(home, home_path):
    """A name in home, written in one of the three forms; `form` handle needs the handle."""
    def write(form, name, fh=None):
        if form == "handle":
            return by_handle(fh)
        return by_path(home_path + b"/" + name) if form == "path" else below(home, name)
    return write


def sparse_file(nfs, home, name, size, pieces):
    """A file of this size, with data only at the given (offset, bytes)."""
    fh = nfs.new_file(home, name)
    nfs.setattr(fh, size=size).ok()
    for offset, piece in pieces:
        nfs.write_all(fh, piece, offset)
    return fh


def absent(nfs, directory, name):
    nfs.lookup(directory, name).fails(nfs3.NFS3ERR_NOENT)


# ---------------------------------------------------------------------------------- the calls

@rule("offload.x rpc a")
def test_null(offload):
    """NULL answers, with nothing."""
    offload.null()


@rule("offload.x rpc a")
@pytest.mark.parametrize("procedure", [11, 22, 0xFFFFFFFF])
def test_unknown_procedure(offload, procedure):
    """A procedure that version 1 does not have is PROC_UNAVAIL."""
    header = offload.call_rpc(procedure)
    assert header.accept_stat == rpc.PROC_UNAVAIL, "expected PROC_UNAVAIL, got %s" % header


@rule("offload.x rpc a")
@pytest.mark.parametrize("version", [0, 2, 0xFFFFFFFF])
def test_unknown_version(offload, version):
    """Another version is PROG_MISMATCH, and the answer says that there is just version 1."""
    header = offload.call_rpc(o.NULL, version=version)
    assert str(header) == "PROG_MISMATCH(low 1, high 1)", header


@rule("offload.x rpc b")
def test_relay_is_not_for_clients(offload, home):
    """The program in which a server's own parts vouch for callers is not there for clients."""
    envelope = bytes(10) + b"\xff\xff\x7f\0\0\x01" + bytes(16)
    header = offload.call_rpc(o.STAT, envelope + by_handle(home).data, program=o.RELAY_PROGRAM)
    assert header.accept_stat == rpc.PROG_UNAVAIL, "expected PROG_UNAVAIL, got %s" % header


def arguments_of(procedure, file):
    """Good arguments for any procedure but NULL."""
    numbers = {o.CLONE: file + Packer().u32(0).u32(0).bytes(), o.RESERVE: bytes(12),
               o.CHECKSUM: bytes(4), o.PUNCH: bytes(8), o.WAIT: bytes(4), o.JOBS: bytes(12)}
    if procedure in (o.JOB, o.CANCEL, o.WAIT):
        file = Packer().u32(1).raw(file).bytes()
    return (b"" if procedure == o.JOBS else file) + numbers.get(procedure, b"")


@rule("offload.x rpc c")
@pytest.mark.parametrize("procedure", range(o.SUPPORT, o.WAIT + 1), ids=o.PROCEDURE_NAMES[1:])
def test_arguments_cut_short(offload, source, procedure):
    """Arguments that end early are GARBAGE_ARGS at every length, and nothing happens."""
    arguments = arguments_of(procedure, by_handle(source).data)
    for length in range(0, len(arguments), 4):
        header = offload.call_rpc(procedure, arguments[:length])
        assert header.accept_stat == rpc.GARBAGE_ARGS, "%d of %d bytes: expected GARBAGE_ARGS, " \
            "got %s" % (length, len(arguments), header)


@rule("offload.x rpc c")
@pytest.mark.parametrize("procedure", [o.SUPPORT, o.CLONE, o.CHECKSUM, o.JOB, o.CANCEL])
def test_bad_kind(offload, source, procedure):
    """A way to name a file, or a job, that there is not: GARBAGE_ARGS."""
    good = arguments_of(procedure, by_handle(source).data)
    for kind in (3, 0xFFFFFFFF):
        header = offload.call_rpc(procedure, Packer().u32(kind).raw(good[4:]).bytes())
        assert header.accept_stat == rpc.GARBAGE_ARGS, "kind %d: %s" % (kind, header)


@rule("offload.x rpc c")
@pytest.mark.parametrize("file", [
    by_handle(bytes(o.HANDLE_BYTES_MAX + 1)), by_path(b"/" + b"p" * o.PATH_BYTES_MAX),
    below(bytes(o.HANDLE_BYTES_MAX + 1), b"x"), below(bytes(8), b"p" * (o.PATH_BYTES_MAX + 1)),
    o.Argument(Packer().u32(1).u32(0xFFFFFFFF).bytes(), "a length that wraps"),
], ids=["handle", "path", "dir", "below", "wraps"])
def test_too_long(offload, file):
    """A handle or path beyond the protocol's bound is GARBAGE_ARGS."""
    header = offload.call_rpc(o.STAT, file.data)
    assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header


@rule("offload.x rights a")
def test_auth_none(offload, source):
    """Without AUTH_SYS a file is not told of."""
    nobody = o.Offload(offload.connection, rpc.auth_none())
    header = nobody.call_rpc(o.STAT, by_handle(source).data)
    assert header.reject_stat == rpc.AUTH_ERROR, "expected AUTH_ERROR, got %s" % header


# ------------------------------------------------------------------------------ naming a file

@FORMS
@rule("offload.x files a")
def test_three_names_of_one_file(offload, source, data, named, form):
    """By handle, by path, below a directory: the same file."""
    file = named(form, b"source", source)
    reply = offload.stat(file).ok()
    reply.expect(reply.total_bytes == len(data), "a length of %d" % len(data))
    offload.support(file).ok()


@FORMS
@rule("offload.x files a", "offload.x clone a")
def test_source_in_each_form(offload, nfs, home, source, data, named, form):
    """A clone's source is named in any form."""
    offload.clone(named(form, b"source", source), below(home, b"copy")).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == data


@FORMS
@rule("offload.x files a", "offload.x clone a")
def test_destination_in_each_form(offload, nfs, home, source, data, named, form):
    """A clone's destination, too; by handle it must exist."""
    there = nfs.new_file(home, b"copy") if form == "handle" else None
    offload.clone(by_handle(source), named(form, b"copy", there)).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == data


@pytest.mark.parametrize("path", [b"one/two/file", b"/one//two/file", b"./one/./two/file"])
@rule("offload.x files a")
def test_deep_path(offload, nfs, home, path):
    """A path goes down; slashes and dots between names do not matter."""
    inner = nfs.new_dir(nfs.new_dir(home, b"one"), b"two")
    nfs.new_file(inner, b"file", b"deep")
    reply = offload.stat(below(home, path)).ok()
    reply.expect(reply.total_bytes == 4, "a length of 4")


@pytest.mark.parametrize("path", [b"../source", b"one/../source", b".."])
@pytest.mark.parametrize("form", ["path", "below"])
@rule("offload.x files b")
def test_no_way_up(offload, nfs, home, source, named, form, path):
    """".." is refused, even if it would stay in the export; as source and as destination."""
    nfs.new_dir(home, b"one")
    offload.stat(named(form, path)).fails(o.INVALID, o.NOENT)
    offload.clone(by_handle(source), named(form, path)).fails(o.INVALID, o.NOENT)


@pytest.mark.parametrize("path", [b"link", b"dirlink/file"])
@rule("offload.x files b")
def test_links_are_not_followed(offload, nfs, home, source, path):
    """A symbolic link is no file, neither at the end of a path nor in the middle."""
    nfs.new_symlink(home, b"link", b"source")
    nfs.new_file(nfs.new_dir(home, b"dir"), b"file", b"text")
    nfs.new_symlink(home, b"dirlink", b"dir")
    offload.clone(below(home, path), below(home, b"copy")).fails(o.NOT_FILE, o.NOENT)
    offload.checksum(below(home, path)).fails(o.NOT_FILE, o.NOENT)
    absent(nfs, home, b"copy")


@rule("offload.x files b")
def test_link_as_destination(offload, nfs, home, source):
    """A clone onto a symbolic link neither follows nor replaces it."""
    victim = nfs.new_file(home, b"victim", b"as it was")
    nfs.new_symlink(home, b"link", b"victim")
    offload.clone(by_handle(source), below(home, b"link")).fails(o.NOT_FILE, o.EXISTS)
    assert nfs.read_all(victim) == b"as it was"


@rule("offload.x files c")
def test_missing(offload, nfs, home, source):
    """What is not there is NOENT: the source, a directory on the way, an export."""
    offload.clone(below(home, b"missing"), below(home, b"copy")).fails(o.NOENT)
    offload.clone(by_handle(source), below(home, b"missing/copy")).fails(o.NOENT)
    offload.clone(below(home, b"source/x"), below(home, b"copy")).fails(o.NOENT)
    offload.stat(by_path(b"/no/such/export/file")).fails(o.NOENT, o.ACCESS)
    absent(nfs, home, b"copy")


@pytest.mark.parametrize("name", [b"a\0b", b"n" * 256, b""], ids=["nul", "256", "empty"])
@rule("offload.x files c")
def test_name_that_cannot_be(offload, nfs, home, source, name):
    """A destination's name with NUL, or too long, or none: refused, nothing cut to fit."""
    offload.clone(by_handle(source), below(home, name)).fails(o.INVALID, o.NOT_FILE, o.NOENT)
    assert nfs.names(home) == [b"source"]


BEGINNING = {
    "stat": lambda offload, file, home: offload.stat(file),
    "clone": lambda offload, file, home: offload.clone(file, below(home, b"copy")),
    "onto": lambda offload, file, home: offload.clone(below(home, b"source"), file),
    "reserve": lambda offload, file, home: offload.reserve(file),
    "checksum": lambda offload, file, home: offload.checksum(file),
    "punch": lambda offload, file, home: offload.punch(file),
}
EVERY_USE = pytest.mark.parametrize("use", BEGINNING)


@EVERY_USE
@pytest.mark.parametrize("kind", ["directory", "fifo"])
@rule("offload.x files d")
def test_not_a_file(offload, nfs, home, source, use, kind):
    """A directory or a pipe is neither measured, cloned, written over, reserved nor read."""
    if kind == "directory":
        nfs.new_dir(home, b"other")
    else:
        nfs.mknod(home, b"other", nfs3.NF3FIFO).ok()
    before = nfs.attributes(nfs.find(home, b"other"))
    BEGINNING[use](offload, below(home, b"other"), home).fails(o.NOT_FILE)
    after = nfs.attributes(nfs.find(home, b"other"))
    assert (after.type, after.fileid) == (before.type, before.fileid)
    absent(nfs, home, b"copy")


@EVERY_USE
@rule("offload.x files e")
def test_stale_handle(offload, nfs, home, source, use):
    """The handle of a file that was removed is STALE."""
    removed = nfs.new_file(home, b"removed", b"text")
    nfs.remove(home, b"removed").ok()
    BEGINNING[use](offload, by_handle(removed), home).fails(o.STALE)
    absent(nfs, home, b"copy")


@pytest.mark.parametrize("shape", ["first", "middle", "last", "cut", "longer", "empty"])
@rule("offload.x files e")
def test_forged_handle(offload, home, source, shape):
    """A handle with one bit changed, cut, made longer, or empty is of no file."""
    made = {"first": nfs3.changed_handle(source, 0, 1), "cut": source[:-4],
            "middle": nfs3.changed_handle(source, len(source) // 2, 1), "empty": b"",
            "last": nfs3.changed_handle(source, len(source) - 1, 1),
            "longer": source + bytes(4)}[shape]
    offload.stat(by_handle(made)).fails(o.STALE, o.INVALID)
    offload.clone(by_handle(made), below(home, b"copy")).fails(o.STALE, o.INVALID)
    offload.clone(by_handle(source), below(made, b"copy")).fails(o.STALE, o.INVALID)


# ------------------------------------------------------------------------------------- rights

@rule("offload.x rights b")
def test_unreadable_source(offload, nfs, home, source, as_root):
    """Whoever may not read a file may not have it cloned or summed."""
    nfs.setattr(source, mode=0o600).ok()
    nfs.setattr(home, mode=0o777).ok()
    user = offload.as_user(1000, 1000)
    user.clone(by_handle(source), below(home, b"copy")).fails(o.ACCESS)
    user.checksum(by_handle(source)).fails(o.ACCESS)
    absent(nfs, home, b"copy")


@rule("offload.x rights b")
def test_unwritable_destination(offload, nfs, home, source, as_root):
    """Nor clone to where one may not write: into a directory, over a file; nor reserve or punch."""
    there = nfs.new_file(home, b"there", b"as it was")
    user = offload.as_user(1000, 1000)
    user.clone(by_handle(source), below(home, b"copy")).fails(o.ACCESS)
    user.clone(by_handle(source), by_handle(there)).fails(o.ACCESS)
    user.reserve(by_handle(there)).fails(o.ACCESS)
    user.punch(below(home, b"there")).fails(o.ACCESS)
    absent(nfs, home, b"copy")
    assert nfs.read_all(there) == b"as it was"


@rule("offload.x rights b")
def test_no_way_through_a_closed_directory(offload, nfs, home, as_root):
    """A path through a directory that one may not search is ACCESS."""
    nfs.new_file(nfs.new_dir(home, b"closed", mode=0o700), b"file", b"text", mode=0o666)
    offload.as_user(1000, 1000).stat(below(home, b"closed/file")).fails(o.ACCESS)


@rule("offload.x rights b")
def test_clone_of_a_user_is_his(offload, nfs, shared, as_root):
    """A user's clone belongs to him; root's has the source's owner and mode."""
    source = nfs.new_file(shared, b"source", b"text", mode=0o644, uid=1001, gid=1001)
    offload.as_user(1000, 1000).clone(by_handle(source), below(shared, b"his")).complete()
    offload.clone(by_handle(source), below(shared, b"like")).complete()
    his, like = (nfs.attributes(nfs.find(shared, name)) for name in (b"his", b"like"))
    assert (his.uid, his.mode & 0o777) == (1000, 0o644), his
    assert (like.uid, like.gid, like.mode & 0o777) == (1001, 1001, 0o644), like


@rule("offload.x rights c")
def test_read_only_export(offload, nfs, home, ro_root, ro_file):
    """From a read-only export one may clone, but not into it, nor reserve or punch there."""
    before = nfs.attributes(ro_file)
    offload.clone(by_handle(ro_file), below(home, b"copy")).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == nfs.read_all(ro_file)
    for reply in (offload.clone(below(home, b"copy"), below(ro_root, b"conformance-x")),
                  offload.clone(below(home, b"copy"), by_handle(ro_file)),
                  offload.reserve(by_handle(ro_file)),
                  offload.punch(below(ro_root, b"conformance-file"))):
        reply.fails(o.READ_ONLY)
    assert nfs.attributes(ro_file).ctime == before.ctime
    absent(nfs, ro_root, b"conformance-x")


# ------------------------------------------------------------------------------------ support

@rule("offload.x support a")
def test_support(offload, home, source):
    """What can be done is told for a file, for a directory and for what is still to be."""
    told = [offload.support(file).ok()
            for file in (by_handle(source), by_handle(home), below(home, b"not yet"))]
    for reply in told:
        reply.expect(reply.can & o.CAN_CLONE, "that it can clone")
        reply.expect(reply.can == told[0].can, "the same for the whole file system")
        reply.expect(reply.file_system and reply.server_version, "names of both")


# -------------------------------------------------------------------------------------- clone

@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 65537, 3 * MIB])
@rule("offload.x clone a")
def test_clone_is_equal(offload, nfs, home, count):
    """Length and content are the source's, at every size."""
    data = content(count)
    source = nfs.new_file(home, b"source", data)
    offload.clone(by_handle(source), below(home, b"copy")).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == data


@rule("offload.x clone a")
def test_holes_are_kept(offload, nfs, home):
    """A sparse source gives a sparse clone, with all bytes in their places."""
    pieces = [(0, content(4096)), (8 * MIB, content(70000)), (63 * MIB, content(MIB))]
    source = sparse_file(nfs, home, b"source", 64 * MIB, pieces)
    offload.clone(by_handle(source), below(home, b"copy")).complete()
    copy = nfs.find(home, b"copy")
    attr = nfs.attributes(copy)
    assert attr.size == 64 * MIB and attr.used <= 4 * MIB, "expected a sparse file: %s" % (attr,)
    for offset, piece in pieces:
        reply = nfs.read(copy, offset, 4096).ok()
        reply.expect(reply.data == piece[:4096], "the source's bytes at %d" % offset)


@rule("offload.x clone a", "offload.x jobs a")
def test_clone_tells_of_itself(offload, home, source, data):
    """The job says what it is, who did it, how far it is and when."""
    job = offload.clone(by_handle(source), below(home, b"copy")).complete()
    job.expect(job.kind == o.KIND_CLONE and job.flags == 0, "a clone without flags")
    job.expect(job.engine, "the name of an engine")
    job.expect(job.bytes_total == job.bytes_done == len(data), "all of %d bytes" % len(data))
    job.expect(0 < job.created_ms <= job.started_ms <= job.finished_ms, "times in order")
    job.expect(job.source.endswith(source.hex().encode()), "the source's handle")
    job.expect(job.destination.endswith(b"/copy"), "the destination's name")


@rule("offload.x clone a")
def test_clone_stands_by_itself(offload, nfs, home, source, data):
    """What is done to source or clone afterwards does not show in the other."""
    offload.clone(by_handle(source), below(home, b"copy")).complete()
    copy = nfs.find(home, b"copy")
    nfs.write_all(source, b"changed", 1000)
    nfs.write_all(copy, b"CHANGED", 5000)
    assert nfs.read_all(copy) == data[:5000] + b"CHANGED" + data[5007:]
    nfs.remove(home, b"source").ok()
    assert nfs.read_all(copy)[:5000] == data[:5000]


@pytest.mark.parametrize("former", [0, 5, 600000], ids=["empty", "shorter", "longer"])
@rule("offload.x clone b")
def test_into_an_existing_file(offload, nfs, home, source, data, former):
    """An existing destination gets the source's content and length, and stays the same file."""
    there = nfs.new_file(home, b"there", content(former))
    offload.clone(by_handle(source), below(home, b"there")).complete()
    assert nfs.find(home, b"there") == there
    assert nfs.read_all(there) == data


@rule("offload.x clone b")
def test_new_means_new(offload, nfs, home, source, data):
    """With the flag NEW an existing destination is EXISTS, and stays as it was."""
    there = nfs.new_file(home, b"there", b"as it was")
    offload.clone(by_handle(source), below(home, b"there"), o.CLONE_NEW).fails(o.EXISTS)
    assert nfs.read_all(there) == b"as it was"
    offload.clone(by_handle(source), below(home, b"copy"), o.CLONE_NEW).complete()
    assert nfs.read_all(nfs.find(home, b"copy")) == data


@rule("offload.x clone c")
def test_fast_or_not_at_all(offload, nfs, home, source, data):
    """With the flag FAST extents are shared; where that cannot be, nothing is made."""
    can = offload.support(by_handle(home)).ok().can
    job = offload.clone(by_handle(source), below(home, b"copy"), o.CLONE_FAST)
    if can & o.CAN_FAST_CLONE:
        job.complete()
        assert nfs.read_all(nfs.find(home, b"copy")) == data
        return
    if job.status == o.OK:
        job.job_fails(o.UNSUPPORTED)
    else:
        job.fails(o.UNSUPPORTED)
    absent(nfs, home, b"copy")


@rule("offload.x clone d", "offload.x checksum a")
def test_verified(offload, home, source):
    """With the flag VERIFY the job ends with the checksum of both."""
    job = offload.clone(by_handle(source), below(home, b"copy"), o.CLONE_VERIFY).complete()
    sums = [offload.checksum(file).complete().checksum
            for file in (by_handle(source), below(home, b"copy"))]
    job.expect(job.checksum == sums[0] == sums[1], "the checksum %s" % sums)


@rule("offload.x clone d")
def test_thin(offload, nfs, home, second_home):
    """With the flag THIN a copy has holes where the source has zeros, and equal bytes."""
    data = content(MIB) + bytes(2 * MIB) + content(MIB)
    source = nfs.new_file(home, b"disk", data)
    job = offload.clone(by_handle(source), below(second_home, b"copy"), o.CLONE_THIN).complete()
    copy = nfs.find(second_home, b"copy")
    assert nfs.read_all(copy) == data
    used = nfs.attributes(copy).used
    job.expect(job.engine == "reflink" or used <= 3 * MIB, "2 MiB not written, not %d used" % used)


@pytest.mark.parametrize("flags", [0x40000000, 0x80000000, 0xFFFFFFFF])
@rule("offload.x clone e")
def test_unknown_flags(offload, nfs, home, source, flags):
    """A flag that is not known is refused, whatever else is asked."""
    offload.clone(by_handle(source), below(home, b"copy"), flags).fails(o.INVALID)
    offload.punch(below(home, b"source"), flags).fails(o.INVALID)
    absent(nfs, home, b"copy")


@pytest.mark.parametrize("written", ["twice", "path", "link"])
@rule("offload.x clone e")
def test_same_file(offload, nfs, home, home_path, source, data, written):
    """A file is not cloned onto itself, however it is written."""
    nfs.link(source, home, b"link").ok()
    onto = {"twice": by_handle(source), "path": by_path(home_path + b"/source"),
            "link": below(home, b"link")}[written]
    offload.clone(by_handle(source), onto).fails(o.SAME_FILE)
    assert nfs.read_all(source) == data


@rule("offload.x clone f")
def test_into_another_export(offload, nfs, home, second_home, source, data):
    """Between two exports the content arrives, by whatever engine."""
    offload.clone(by_handle(source), below(second_home, b"copy")).complete()
    assert nfs.read_all(nfs.find(second_home, b"copy")) == data
    offload.clone(below(second_home, b"copy"), below(home, b"back")).complete()
    assert nfs.read_all(nfs.find(home, b"back")) == data


@pytest.fixture
def full_home(server, nfs):
    """A directory on the small file system."""
    if not server.options.full_export:
        pytest.skip("needs --full-export")
    root = server.mounted(server.options.full_export.encode())
    nfs.remove_tree(root, b"conformance-offload")
    yield nfs.new_dir(root, b"conformance-offload")
    nfs.remove_tree(root, b"conformance-offload")


def more_than_fits(nfs, home, full_home):
    """A source that is larger than what is free, most of it data."""
    free = nfs.fsstat(full_home).ok().fbytes
    if free > 200 * MIB:
        pytest.skip("--full-export has %d MiB free: too much to fill here" % (free // MIB))
    source = nfs.new_file(home, b"large")
    block = content(MIB)
    for offset in range(0, free + 4 * MIB, MIB):
        nfs.write_all(source, block, offset, nfs3.UNSTABLE, 1 << 18)
    nfs.commit(source).ok()
    return source


@rule("offload.x clone g")
def test_full_disk(offload, nfs, home, full_home):
    """A clone that does not fit is NO_SPACE and leaves nothing, and the space comes back."""
    source = more_than_fits(nfs, home, full_home)
    before = nfs.fsstat(full_home).ok().fbytes
    offload.clone(by_handle(source), below(full_home, b"copy")).job_fails(o.NO_SPACE)
    absent(nfs, full_home, b"copy")
    after = nfs.fsstat(full_home).ok()
    after.expect(after.fbytes + MIB >= before, "%d bytes free again" % before)


@rule("offload.x clone g")
def test_full_disk_under_an_existing_file(offload, nfs, home, full_home):
    """An existing destination keeps its length when the clone does not fit: never half a copy."""
    source = more_than_fits(nfs, home, full_home)
    there = nfs.new_file(full_home, b"there", content(5000))
    offload.clone(by_handle(source), by_handle(there)).job_fails(o.NO_SPACE)
    attr = nfs.attributes(there)
    assert attr.size == 5000, "expected the former length of 5000: %s" % (attr,)


@rule("offload.x clone a")
def test_many_at_once(server, nfs, offload, home, source, data):
    """Eight hosts clone at the same time; every clone is whole."""
    def clone_some(client, number):
        offload = o.Offload(client.connection, client.cred)
        for turn in range(4):
            offload.clone(by_handle(source), below(home, b"c%d-%d" % (number, turn))).complete()
        return "done"
    assert in_parallel(server, 8, clone_some) == ["done"] * 8
    for name in nfs.names(home):
        assert nfs.read_all(nfs.find(home, name)) == data, name


# ---------------------------------------------------------------------------- reserve and stat

@rule("offload.x reserve a")
def test_reserve(offload, nfs, home):
    """A sparse file gets its space; its length and content stay."""
    piece = content(5000)
    fh = sparse_file(nfs, home, b"thin", 4 * MIB, [(MIB, piece)])
    offload.reserve(below(home, b"thin")).complete()
    told = offload.stat(by_handle(fh)).ok()
    told.expect(told.allocated_bytes >= 4 * MIB, "all of it allocated")
    told.expect(told.unique_bytes >= 4 * MIB, "and its own")
    assert nfs.attributes(fh).size == 4 * MIB
    assert nfs.read_all(fh) == bytes(MIB) + piece + bytes(3 * MIB - len(piece))


@pytest.mark.parametrize("count", [MIB, 8 * MIB], ids=["a-part", "beyond-the-end"])
@rule("offload.x reserve a")
def test_reserve_so_many_bytes(offload, nfs, home, count):
    """As many bytes as were asked for are allocated; the length is not the caller's to change."""
    fh = sparse_file(nfs, home, b"thin", 4 * MIB, [])
    offload.reserve(by_handle(fh), count).complete()
    told = offload.stat(by_handle(fh)).ok()
    told.expect(count <= told.allocated_bytes <= count + MIB, "%d bytes allocated" % count)
    told.expect(told.total_bytes == 4 * MIB, "the length as it was")


@rule("offload.x reserve b")
def test_reserve_of_a_clone(offload, nfs, home, source, data):
    """What a clone shares with its source becomes its own; the content stays."""
    offload.clone(by_handle(source), below(home, b"copy")).complete()
    offload.reserve(below(home, b"copy")).complete()
    told = offload.stat(below(home, b"copy")).ok()
    told.expect(told.unique_bytes >= len(data), "%d bytes of its own" % len(data))
    assert nfs.read_all(nfs.find(home, b"copy")) == data


@rule("offload.x reserve c")
def test_reserve_nothing(offload, nfs, home):
    """An empty file has nothing to reserve, and that is no mistake."""
    offload.reserve(by_handle(nfs.new_file(home, b"empty"))).complete()


@pytest.mark.parametrize("count", [1 << 63, (1 << 64) - 1])
@rule("offload.x reserve c")
def test_reserve_beyond_all_files(offload, home, source, count):
    """More bytes than a file can have is INVALID."""
    offload.reserve(by_handle(source), count).fails(o.INVALID)


@rule("offload.x reserve c")
def test_reserve_without_space(offload, nfs, full_home):
    """What does not fit is NO_SPACE, and the file is as before."""
    fh = sparse_file(nfs, full_home, b"thin", 4 * MIB, [(0, b"text")])
    before = offload.stat(by_handle(fh)).ok()
    offload.reserve(by_handle(fh), 1 << 40).job_fails(o.NO_SPACE)
    after = offload.stat(by_handle(fh)).ok()
    after.expect((after.total_bytes, after.allocated_bytes) == (
        before.total_bytes, before.allocated_bytes), "as before: %s" % before)


@rule("offload.x stat a")
def test_stat_of_a_sparse_file(offload, nfs, home):
    """The length counts holes, the allocated bytes do not; one piece of data is an extent or so."""
    fh = sparse_file(nfs, home, b"thin", 64 * MIB, [(32 * MIB, content(MIB))])
    nfs.commit(fh).ok()
    told = offload.stat(by_handle(fh)).ok()
    told.expect(told.total_bytes == 64 * MIB, "a length of 64 MiB")
    told.expect(MIB <= told.allocated_bytes <= 3 * MIB, "about 1 MiB allocated")
    told.expect(told.unique_bytes <= told.allocated_bytes, "no more its own than allocated")


@rule("offload.x stat b")
def test_stat_of_a_clone(offload, home, source, data):
    """Where sharing is known, a clone's shared bytes are not its own; else unique = allocated."""
    can = offload.support(by_handle(home)).ok().can
    offload.clone(by_handle(source), below(home, b"copy")).complete()
    told = offload.stat(below(home, b"copy")).ok()
    told.expect(told.knows_shared == bool(can & o.CAN_STAT_UNIQUE), "what SUPPORT says")
    if can & o.CAN_FAST_CLONE and told.knows_shared:
        told.expect(told.unique_bytes < len(data) // 2, "little of its own")
    elif not told.knows_shared:
        told.expect(told.unique_bytes == told.allocated_bytes, "unique = allocated")


# -------------------------------------------------------------------------- checksum and punch

@pytest.mark.parametrize("data, checksum", [
    (b"", "99aa06d3014798d86001c324468d497f"),
    (b"a", "a96faf705af16834e6c632b61e964e1f"),
    (b"lodestore", "ae0704eb8eb3c2e0bbddd3e4b8ff8a5f"),
    (bytes(MIB), "b6ef17a3448492b6918780b90550bf34"),
], ids=["empty", "a", "word", "zeros"])
@rule("offload.x checksum a")
def test_checksum(offload, nfs, home, data, checksum):
    """XXH3-128 in its canonical form, as any other program computes it."""
    job = offload.checksum(by_handle(nfs.new_file(home, b"file", data))).complete()
    job.expect(job.checksum == checksum, checksum)


@rule("offload.x checksum a")
def test_checksum_of_holes(offload, nfs, home):
    """A hole counts as the zeros that it reads as."""
    fh = sparse_file(nfs, home, b"hole", MIB, [])
    job = offload.checksum(by_handle(fh)).complete()
    job.expect(job.checksum == "b6ef17a3448492b6918780b90550bf34", "the checksum of zeros")


@rule("offload.x checksum b")
def test_checksum_sees_a_change(offload, nfs, home, source, data):
    """One byte that is written changes it, also when the same was asked a moment ago."""
    before = offload.checksum(by_handle(source)).complete()
    nfs.write_all(source, bytes([data[777] ^ 1]), 777)
    after = offload.checksum(by_handle(source)).complete()
    after.expect(after.checksum != before.checksum, "another checksum than %s" % before.checksum)


def zeros_inside(nfs, home):
    """4 MiB of data, of which 2 MiB are zeros that were written."""
    data = content(MIB) + bytes(2 * MIB) + content(MIB)
    fh = nfs.new_file(home, b"disk", data)
    nfs.commit(fh).ok()
    return fh, data


@rule("offload.x punch a")
def test_punch(offload, nfs, home):
    """Zeros become a hole: space comes back, every byte reads as before."""
    fh, data = zeros_inside(nfs, home)
    before = nfs.attributes(fh)
    job = offload.punch(below(home, b"disk")).complete()
    job.expect(MIB <= job.bytes_moved <= 2 * MIB + 65536, "about 2 MiB that came back")
    after = nfs.attributes(fh)
    assert after.used + MIB <= before.used and after.size == before.size, (before, after)
    assert nfs.read_all(fh) == data


@rule("offload.x punch a")
def test_punch_dry_run(offload, nfs, home):
    """A dry run tells what would come back, and changes nothing."""
    fh, data = zeros_inside(nfs, home)
    before = nfs.attributes(fh)
    job = offload.punch(below(home, b"disk"), o.PUNCH_DRY_RUN).complete()
    job.expect(MIB <= job.bytes_moved <= 2 * MIB, "about 2 MiB that would come back")
    after = nfs.attributes(fh)
    assert after._replace(atime=before.atime) == before
    assert nfs.read_all(fh) == data


@rule("offload.x punch b")
def test_punch_needs_a_name(offload, nfs, home):
    """By its handle alone a file is not punched: nobody could look for its lock."""
    fh, _ = zeros_inside(nfs, home)
    offload.punch(by_handle(fh)).fails(o.INVALID)


@rule("offload.x punch b")
def test_punch_spares_a_machine_that_runs(offload, nfs, home):
    """A file whose lock a host keeps fresh is LOCKED, and stays as it is."""
    fh, data = zeros_inside(nfs, home)
    before = nfs.attributes(fh)
    nfs.new_file(home, b".lck-" + before.fileid.to_bytes(8, "little").hex().encode(), b"lock")
    reply = offload.punch(below(home, b"disk"))
    if reply.status == o.OK:
        reply.job_fails(o.LOCKED)
    else:
        reply.fails(o.LOCKED)
    assert nfs.attributes(fh).used == before.used and nfs.read_all(fh) == data
