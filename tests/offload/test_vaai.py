# SPDX-License-Identifier: Apache-2.0
"""Procedure 22 of NFS in both dialects, as servers.py starts the programs."""

import os
import signal
import struct
import subprocess
import threading
import time

import pytest

import native
import vaai
from native import Client, RpcError, opaque
from servers import MIB, content, make, port, start_nfsd, start_offloadd, top
from vaai import PlugIn


@pytest.fixture(name="plug")
def fixture_plug():
    client = PlugIn(("127.0.0.1", port))
    yield client
    client.close()


@pytest.fixture(name="root")
def fixture_root(plug):
    return plug.mount(top + "/e")


def sized(plug, root, name, size=16 * MIB, reserve=False):
    """The destination of a full clone, as ESXi leaves it."""
    handle = plug.create(root, name)
    plug.set_size(handle, size)
    if reserve:
        assert plug.o(vaai.RESERVE, handle).status == vaai.OK
    return handle


def poll_o(plug, handle, seconds=30):
    for _ in range(seconds * 20):
        told = plug.o(vaai.PROGRESS, handle)
        if told.status or told.state == vaai.COMPLETE:
            return told
        time.sleep(0.05)
    raise TimeoutError


def poll_q(plug, handle, seconds=30):
    for _ in range(seconds * 20):
        told = plug.q(vaai.INQUIRY, opaque(handle))
        if told.status or told.state not in (vaai.WAITING, vaai.RUNNING):
            return told
        time.sleep(0.05)
    raise TimeoutError


# ---- what each dialect is for

def test_o_supports_all_three(plug, root):
    for number in (vaai.SUPPORT_CLONE, vaai.SUPPORT_RESERVE, vaai.SUPPORT_STAT):
        told = plug.o(number, root)
        assert (told.status, told.result) == (vaai.OK, 0)


def test_o_full_clone(plug, root):
    make("a")
    source = plug.lookup(root, "a")
    handle = sized(plug, root, "b")
    told = plug.o(vaai.CLONE, handle, source, b"b")
    assert told.status == vaai.OK
    told = poll_o(plug, handle)
    assert (told.status, told.state) == (vaai.OK, vaai.COMPLETE)
    assert told.done == told.total == 16 * MIB
    assert content("a") == content("b")


def test_o_full_clone_into_a_file_with_no_attributes_set(plug, root):
    make("a", 3 * MIB + 77, ((0, 1),))
    handle = plug.create(root, "b")
    assert plug.o(vaai.CLONE, handle, plug.lookup(root, "a")).status == vaai.OK
    assert poll_o(plug, handle).state == vaai.COMPLETE
    assert content("a") == content("b")


def test_o_fast_clone(plug, root, shares):
    make("a")
    os.chmod(top + "/e/a", 0o640)
    os.chown(top + "/e/a", 12, 34)
    os.mkdir(top + "/e/vm")
    told = plug.o(vaai.CLONE, plug.lookup(root, "vm"), plug.lookup(root, "a"), b"vm/b.vmdk")
    if not shares:
        assert told.status == vaai.NOTSUPP
        assert os.listdir(top + "/e/vm") == []
        return
    assert (told.status, told.state) == (vaai.OK, vaai.COMPLETE)
    assert content("a") == content("vm/b.vmdk")
    stat = os.stat(top + "/e/vm/b.vmdk")
    assert (stat.st_mode & 0o7777, stat.st_uid, stat.st_gid) == (0o640, 12, 34)


def test_o_reserve_and_statistics(plug, root):
    handle = sized(plug, root, "a")
    told = plug.o(vaai.STAT, handle)
    assert (told.status, told.total) == (vaai.OK, 16 * MIB)
    assert told.allocated < MIB
    assert plug.o(vaai.RESERVE, handle).status == vaai.OK
    told = plug.o(vaai.STAT, handle)
    assert told.total == 16 * MIB
    assert 16 * MIB <= told.allocated < 17 * MIB
    assert told.unique == told.allocated


def test_statistics_know_what_is_shared(plug, root, shares):
    make("a")
    handle = plug.create(root, "b")
    plug.o(vaai.CLONE, handle, plug.lookup(root, "a"))
    assert poll_o(plug, handle).state == vaai.COMPLETE
    told = plug.o(vaai.STAT, handle)
    also = plug.q(vaai.Q_STAT, opaque(handle))
    assert (told.total, told.allocated, told.unique) == (also.total, also.allocated, also.unique)
    assert (told.unique < MIB) == shares
    assert told.allocated >= 3 * MIB


def test_q_registers(plug):
    assert plug.q_register().primitives == 7
    assert plug.q_register(vaai.OLDER_MAGIC).primitives == 7
    assert plug.q_register(vaai.MAGIC + 1).status == vaai.INVAL


def test_q_full_clone(plug, root):
    make("a")
    handle = sized(plug, root, "b")
    assert plug.q_clone(plug.lookup(root, "a"), handle).status == vaai.OK
    told = poll_q(plug, handle)
    assert (told.status, told.state, told.done) == (vaai.OK, vaai.FINISHED, 16 * MIB)
    assert content("a") == content("b")
    assert plug.q(vaai.TASKABORT, opaque(handle)).state == vaai.FINISHED


def test_q_fast_clone(plug, root, shares):
    make("a")
    told = plug.q_fast_clone(root, "a", root, "b")
    if shares:
        assert told.status == vaai.OK
        assert content("a") == content("b")
        assert plug.q_fast_clone(root, "a", root, "b").status == vaai.OK  # resent: joins
        make("c", MIB, ((0, 1),))
        assert plug.q_fast_clone(root, "c", root, "b").status == vaai.EXIST
        assert content("a") == content("b")
    else:
        assert told.status == vaai.NOTSUPP
        assert not os.path.exists(top + "/e/b")


def test_q_reserve_is_polled(plug, root):
    handle = sized(plug, root, "a")
    assert plug.q_reserve(handle).status == vaai.OK
    told = poll_q(plug, handle)
    assert (told.state, told.done) == (vaai.FINISHED, 16 * MIB)
    assert plug.q(vaai.Q_STAT, opaque(handle)).allocated >= 16 * MIB
    part = sized(plug, root, "b")
    assert plug.q_reserve(part, 4 * MIB).status == vaai.OK
    assert poll_q(plug, part).state == vaai.FINISHED
    assert 4 * MIB <= plug.q(vaai.Q_STAT, opaque(part)).allocated < 16 * MIB


def test_q_keeps_thin_on_request(plug, root):
    make("a", 16 * MIB, ((1, 3),))
    with open(top + "/e/a", "r+b") as opened:
        opened.seek(8 * MIB)
        opened.write(bytes(4 * MIB))
        opened.flush()
        os.fsync(opened.fileno())
    handle = sized(plug, root, "b")
    assert plug.q_clone(plug.lookup(root, "a"), handle, vaai.KEEP_THIN).status == vaai.OK
    assert poll_q(plug, handle).state == vaai.FINISHED
    assert content("a") == content("b")
    if os.environ["OFFLOAD_KIND"] == "ext4":
        assert plug.q(vaai.Q_STAT, opaque(handle)).allocated < 4 * MIB


# ---- thick disks

@pytest.mark.parametrize("dialect", "oq")
def test_a_reserved_destination_keeps_its_reservation(plug, root, dialect):
    make("a")
    handle = sized(plug, root, "b", reserve=True)
    source = plug.lookup(root, "a")
    if dialect == "o":
        assert plug.o(vaai.CLONE, handle, source).status == vaai.OK
        assert poll_o(plug, handle).state == vaai.COMPLETE
    else:
        assert plug.q_clone(source, handle, vaai.KEEP_THIN).status == vaai.OK
        assert poll_q(plug, handle).state == vaai.FINISHED
    assert content("a") == content("b")
    told = plug.o(vaai.STAT, handle)
    assert told.unique >= 16 * MIB


# ---- joining, aborting, going on

def test_a_clone_that_is_resent_joins(plug, root):
    make("a")
    source = plug.lookup(root, "a")
    handle = sized(plug, root, "b")
    other = PlugIn(("127.0.0.1", port))
    for client in (plug, other, plug):
        assert client.o(vaai.CLONE, handle, source).status == vaai.OK
    assert poll_o(other, handle).state == vaai.COMPLETE
    assert plug.o(vaai.CLONE, handle, source).state == vaai.COMPLETE
    other.close()
    assert len(Client(("127.0.0.1", port)).jobs().jobs) == 1


def slow_clone(plug, root, size=64):
    """A clone that copies at the rate that the mark says: on every file system, since its
    destination is thick."""
    make("a", size * MIB, ((0, size),))
    handle = sized(plug, root, "b", size * MIB, reserve=True)
    assert plug.o(vaai.CLONE, handle, plug.lookup(root, "a")).status == vaai.OK
    return handle


@pytest.mark.rate("8M")
def test_progress_moves_and_an_abort_puts_back(plug, root):
    handle = slow_clone(plug, root)
    seen = []
    for _ in range(3):
        told = plug.o(vaai.PROGRESS, handle)
        assert (told.status, told.state, told.total) == (vaai.OK, vaai.COPYING, 64 * MIB)
        seen.append(told.done)
        time.sleep(2)
    assert seen == sorted(set(seen)), seen  # it moves every 2 s
    stranger = PlugIn(("127.0.0.1", port))
    began = time.monotonic()
    assert stranger.o(vaai.ABORT, handle).status == vaai.OK
    assert time.monotonic() - began < 10
    told = stranger.o(vaai.PROGRESS, handle)
    assert told.status != vaai.OK
    assert plug.q(vaai.INQUIRY, opaque(handle)).state == vaai.ABORTED
    assert content("b") == bytes(64 * MIB)
    assert plug.o(vaai.ABORT, handle).status == vaai.OK
    assert plug.q(vaai.TASKABORT, opaque(handle)).state == vaai.ABORTED
    assert stranger.o(vaai.STAT, handle).allocated >= 64 * MIB  # the reservation, too
    stranger.close()


@pytest.mark.rate("16M")
def test_a_clone_goes_on_without_its_host_and_over_restarts(plug, root, request):
    handle = slow_clone(plug, root)
    plug.close()
    time.sleep(0.5)
    request.node.offloadd.end(signal.SIGKILL)
    request.node.offloadd = start_offloadd()
    request.node.nfsd.end()
    request.node.nfsd = start_nfsd()
    again = PlugIn(("127.0.0.1", port))
    assert poll_o(again, handle).state == vaai.COMPLETE
    assert content("a") == content("b")
    again.close()


@pytest.mark.rate("4M")
def test_another_clone_into_a_busy_file_is_busy(plug, root):
    handle = slow_clone(plug, root, 16)
    make("c")
    told = plug.o(vaai.CLONE, handle, plug.lookup(root, "c"))
    assert (told.status, told.result) == (vaai.JUKEBOX, vaai.BUSY)
    assert plug.q_clone(plug.lookup(root, "c"), handle).status == vaai.JUKEBOX
    assert plug.o(vaai.ABORT, handle).status == vaai.OK


@pytest.mark.rate("16M")
def test_a_slow_clone_keeps_nobody_else(plug, root):
    handle = slow_clone(plug, root)
    other = PlugIn(("127.0.0.1", port))
    began = time.monotonic()
    for _ in range(50):
        assert other.o(vaai.STAT, handle).status == vaai.OK
        assert other.q(vaai.INQUIRY, opaque(handle)).status == vaai.OK
    assert time.monotonic() - began < 5
    assert plug.o(vaai.ABORT, handle).status == vaai.OK
    other.close()


# ---- what is refused

@pytest.mark.parametrize("path, status", [
    (b"", vaai.INVAL),
    (b"/b", vaai.INVAL),
    (b"../b", vaai.INVAL),
    (b"x/../b", vaai.INVAL),
    (b"b/", vaai.INVAL),
    (b".", vaai.INVAL),
    (b"there", vaai.EXIST),
])
def test_o_names_that_are_refused(plug, root, path, status):
    make("a", MIB, ((0, 1),))
    make("there", MIB, ((0, 1),))
    before = content("there")
    told = plug.o(vaai.CLONE, root, plug.lookup(root, "a"), path)
    assert told.status == status, told
    assert sorted(os.listdir(top + "/e")) == ["a", "there"]
    assert content("there") == before


@pytest.mark.parametrize("data, status", [
    (vaai.command(3)[:-1], vaai.INVAL),
    (vaai.command(3) + b"\0", vaai.INVAL),
    (b"", vaai.INVAL),
    (vaai.command(3, version=2), vaai.INVAL),
    (vaai.command(0), vaai.NOTSUPP),
    (vaai.command(9), vaai.NOTSUPP),
    (vaai.command(1, b"b"), vaai.INVAL),
], ids=["short", "long", "empty", "version 2", "command 0", "command 9", "no source"])
def test_o_commands_that_are_refused(plug, root, data, status):
    make("a", MIB, ((0, 1),))
    told = plug.o_raw(plug.lookup(root, "a"), data)
    assert told.status == status


def test_o_unterminated_and_long_names(plug, root):
    make("a", MIB, ((0, 1),))
    source = plug.lookup(root, "a")
    for length, status in ((1, vaai.INVAL), (256, vaai.INVAL), (257, vaai.NAMETOOLONG),
                           (0xffffffff, vaai.NAMETOOLONG)):
        told = plug.o_raw(root, vaai.command(1, b"b", length=length), source)
        assert told.status == status
    assert os.listdir(top + "/e") == ["a"]


@pytest.mark.parametrize("name, status", [
    ("", vaai.INVAL), ("..", vaai.INVAL), ("a/b", vaai.INVAL), ("/b", vaai.INVAL),
    ("n" * 256, vaai.NAMETOOLONG), ("n" * 8192, vaai.NAMETOOLONG),
], ids=["empty", "dots", "slash", "absolute", "long", "longest"])
def test_q_names_that_are_refused(plug, root, name, status):
    make("a", MIB, ((0, 1),))
    assert plug.q_fast_clone(root, "a", root, name).status == status
    assert plug.q_fast_clone(root, name, root, "b").status == status


@pytest.mark.parametrize("args", [
    b"", b"\0\0\0", struct.pack(">I", 6), struct.pack(">I", 7) + bytes(8),
    struct.pack(">I", 65) + bytes(68), struct.pack(">I", 0xffffffff),
    struct.pack(">I", 0) + bytes(4), struct.pack(">I", 0) + bytes(12),
    struct.pack(">I", 2) + struct.pack(">I", 65) + bytes(68),
    struct.pack(">I", 8) + bytes(8),
    struct.pack(">I", 8) + bytes(8) + struct.pack(">II", 1, 296) + bytes(292),
    struct.pack(">I", 8) + bytes(8) + struct.pack(">II", 1, 1025) + bytes(1028),
], ids=range(12))
def test_what_is_neither_is_garbage(plug, args):
    with pytest.raises(RpcError, match="4"):
        plug.call22(args)
    assert plug.q_register().status == vaai.OK  # on a connection that stays


def test_handles_that_are_not_ours(plug, root):
    make("a", MIB, ((0, 1),))
    file = plug.lookup(root, "a")
    forged = file[:-1] + bytes([file[-1] ^ 1])
    os.unlink(top + "/e/a")
    for handle in (forged, file, bytes(8), bytes(64)):
        for number in (vaai.RESERVE, vaai.STAT, vaai.PROGRESS, vaai.ABORT, vaai.SUPPORT_CLONE):
            assert plug.o(number, handle).status in (vaai.STALE, vaai.BADHANDLE)
        assert plug.o(vaai.CLONE, root, handle, b"b").status in (vaai.STALE, vaai.BADHANDLE)
        assert plug.o(vaai.CLONE, handle, root, b"b").status != vaai.OK
        for operation in (vaai.Q_STAT, vaai.INQUIRY, vaai.TASKABORT):
            assert plug.q(operation, opaque(handle)).status in (vaai.STALE, vaai.BADHANDLE)


def test_what_is_no_file(plug, root):
    make("a", MIB, ((0, 1),))
    os.mkdir(top + "/e/d")
    folder, file = plug.lookup(root, "d"), plug.lookup(root, "a")
    assert plug.o(vaai.STAT, folder).status == vaai.INVAL
    assert plug.o(vaai.RESERVE, folder).status == vaai.INVAL
    assert plug.o(vaai.CLONE, root, folder, b"x").status == vaai.INVAL
    assert plug.q_clone(file, folder).status == vaai.INVAL
    assert plug.o(vaai.CLONE, file, file).status == vaai.INVAL
    assert plug.o(vaai.PROGRESS, file).status == vaai.NOENT
    assert plug.o(vaai.ABORT, file).status == vaai.NOENT


def test_read_only_exports_are_sources_only(plug, root):
    make("a", folder="ro")
    read_only = plug.mount(top + "/ro")
    source = plug.lookup(read_only, "a")
    make("b", MIB, ((0, 1),))
    mine = plug.lookup(root, "b")
    assert plug.o(vaai.CLONE, read_only, mine, b"x").status == vaai.ROFS
    assert plug.o(vaai.CLONE, source, mine).status == vaai.ROFS
    assert plug.o(vaai.RESERVE, source).status == vaai.ROFS
    assert plug.q_clone(mine, source).status == vaai.ROFS
    assert plug.o(vaai.STAT, source).status == vaai.OK
    handle = sized(plug, root, "c")
    assert plug.o(vaai.CLONE, handle, source).status == vaai.OK
    assert poll_o(plug, handle).state == vaai.COMPLETE
    assert content("a", "ro") == content("c")


def test_hosts_that_are_not_listed_and_users(plug, root):
    make("a", MIB, ((0, 1),))
    os.chmod(top + "/e/a", 0o600)
    source, handle = plug.lookup(root, "a"), sized(plug, root, "b", MIB)
    for address, uid in (("127.0.0.2", 0), ("127.0.0.3", 0), ("127.0.0.1", 1234)):
        other = PlugIn(("127.0.0.1", port), uid=uid, source=address)
        assert other.o(vaai.CLONE, handle, source).status == vaai.ACCES
        assert other.o(vaai.CLONE, root, source, b"x").status == vaai.ACCES
        assert other.o(vaai.RESERVE, handle).status == vaai.ACCES
        assert other.q_clone(source, handle).status == vaai.ACCES
        assert other.q_fast_clone(root, "a", root, "x").status == vaai.ACCES
        other.close()
    other = PlugIn(("127.0.0.1", port), source="127.0.0.2")
    assert other.o(vaai.STAT, source).status == vaai.ACCES
    assert other.o(vaai.SUPPORT_CLONE, root).status == vaai.ACCES
    assert other.q_register().primitives == 0
    other.close()
    assert sorted(os.listdir(top + "/e")) == ["a", "b"]


def test_without_credentials_nothing(plug):
    plug.socket.sendall(struct.pack(">I", 0x80000000 | 52) + struct.pack(
        ">IIIIIIQQIQ", 7, 0, 2, 100003, 3, 22, 0, 0, 0, vaai.MAGIC))
    mark, xid, reply, denied = struct.unpack(">IIII", plug.receive_bytes(16))
    assert (xid, reply, denied) == (7, 1, 1)
    plug.receive_bytes((mark & 0x7fffffff) - 12)


# ---- a full disk

def test_a_full_disk_is_said(plug, root):
    """The disk holds a few GiB: what asks for more than that gets none of it."""
    handle = sized(plug, root, "a", 1 << 42)
    told = plug.o(vaai.RESERVE, handle)
    assert (told.status, told.result) == (vaai.NOSPC, vaai.DISK_FULL)
    assert plug.o(vaai.STAT, handle).allocated < MIB
    told = plug.q_reserve(handle)
    if told.status == vaai.OK:
        assert poll_q(plug, handle).state == vaai.FAILED
    else:
        assert told.status == vaai.NOSPC


# ---- without offload

def logged(text):
    """How many lines of nfsd's log have it."""
    with open(top + "/NFSD.log", encoding="utf-8") as log:
        return sum(text in line for line in log)


def check_unavailable(plug, root, file):
    """What plug-ins hear: support "no", and the rest "not supported", in their dialect."""
    for number in (vaai.SUPPORT_CLONE, vaai.SUPPORT_RESERVE, vaai.SUPPORT_STAT):
        told = plug.o(number, root)
        assert (told.status, told.result) == (vaai.OK, 1)
    for number in (vaai.RESERVE, vaai.STAT, vaai.PROGRESS, vaai.ABORT):
        told = plug.o(number, file)
        assert (told.status, told.result) == (vaai.NOTSUPP, 0)
    assert plug.o(vaai.CLONE, root, file, b"x").status == vaai.NOTSUPP
    assert plug.q_clone(file, file).status == vaai.NOTSUPP
    assert plug.q_fast_clone(root, "a", root, "x").status == vaai.NOTSUPP
    assert plug.q_reserve(file).status == vaai.NOTSUPP
    for operation in (vaai.Q_STAT, vaai.INQUIRY, vaai.TASKABORT):
        assert plug.q(operation, opaque(file)).status == vaai.NOTSUPP


def test_a_sidecar_that_is_down(plug, root, request):
    make("a", MIB, ((0, 1),))
    file = plug.lookup(root, "a")
    request.node.offloadd.end()
    request.node.offloadd = None
    began = time.monotonic()
    check_unavailable(plug, root, file)
    assert plug.q_register().primitives == 0
    assert time.monotonic() - began < 2
    assert plug.lookup(root, "a") == file  # NFS goes on
    request.node.offloadd = start_offloadd()
    assert plug.q_register().primitives == 7
    assert plug.o(vaai.STAT, file).status == vaai.OK
    assert logged("does not answer") == logged("answers again") == 1


def test_an_export_without_offload(plug, root, request):
    make("a", MIB, ((0, 1),), folder="off")
    off = plug.mount(top + "/off")
    check_unavailable(plug, off, plug.lookup(off, "a"))
    make("b", MIB, ((0, 1),))
    assert plug.o(vaai.CLONE, off, plug.lookup(root, "b"), b"x").status == vaai.NOTSUPP
    told = Client(("127.0.0.1", port)).stat(native.path(top + "/off/a"))
    assert told.refused == native.UNSUPPORTED
    assert "no_offload" in told.text


@pytest.mark.dialects("none")
def test_no_dialect_is_a_plain_server(plug, root):
    for args in (struct.pack(">IQ", 0, vaai.MAGIC), b"", bytes(512)):
        with pytest.raises(RpcError, match="3"):
            plug.call22(args)
    plug.mount(top + "/e")


@pytest.mark.dialects("qnap")
def test_one_dialect_only(plug, root):
    assert plug.q_register().primitives == 7
    with pytest.raises(RpcError, match="3"):
        plug.o(vaai.SUPPORT_CLONE, root)


def test_a_sidecar_that_hangs_does_nothing_late(plug, root, request):
    """What nfsd has answered for it, it must not begin when it wakes: the host copies by then."""
    make("a", MIB, ((0, 1),))
    source, handle = plug.lookup(root, "a"), sized(plug, root, "b", MIB)
    request.node.offloadd.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    assert plug.o(vaai.CLONE, handle, source).status == vaai.NOTSUPP
    assert 40 < time.monotonic() - began < 60
    request.node.offloadd.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    assert plug.o(vaai.PROGRESS, handle).status == vaai.NOENT
    assert content("b") == bytes(MIB)


# ---- many

@pytest.mark.parametrize("count", [300])
def test_many_clones_in_flight(plug, root, count):
    """From four connections, without waiting for any before all are begun."""
    make("a", MIB, ((0, 1),))
    source = plug.lookup(root, "a")
    handles = [sized(plug, root, f"c{i}", MIB) for i in range(count)]
    failed = []

    def begin(first):
        client = PlugIn(("127.0.0.1", port))
        mine = handles[first::4]
        for handle in mine:  # all are sent before one answer is read
            client.send(22, opaque(handle) + bytes(4) + opaque(source)
                        + opaque(vaai.command(1, b"c")), vaai.NFS, 3)
        statuses = client.receive_statuses(len(mine))
        failed.extend(status for status in statuses if status != vaai.OK)
        client.close()

    threads = [threading.Thread(target=begin, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for handle in handles:
        assert poll_o(plug, handle, 120).state == vaai.COMPLETE
    expected = content("a")
    assert all(content(f"c{i}") == expected for i in range(count))


def test_a_file_of_many_extents_keeps_nobody(plug, root, request):
    """100,000 extents take a while to count; meanwhile others are answered."""
    subprocess.run(["sync", "-f", top], check=True)
    fd = os.open(top + "/e/a", os.O_CREAT | os.O_RDWR, 0o644)
    for i in range(50000):
        os.pwrite(fd, b"x" * 4096, i * 8192)
    os.close(fd)
    file = plug.lookup(root, "a")
    other = PlugIn(("127.0.0.1", port))
    plug.send(22, struct.pack(">I", vaai.Q_STAT) + opaque(file), vaai.NFS, 3)
    began = time.monotonic()
    assert other.q_register().primitives == 7
    assert time.monotonic() - began < 0.5
    reader = plug.receive()
    assert reader.u32() == vaai.OK
    assert (reader.u32(), reader.u64()) == (vaai.Q_STAT, 49999 * 8192 + 4096)
    assert reader.u64() >= 50000 * 4096
    other.close()
