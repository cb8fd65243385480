# SPDX-License-Identifier: Apache-2.0
"""lodestore-offloadd and nfsd's relay to it, as servers.py starts them."""

import os
import resource
import signal
import struct
import subprocess
import threading
import time

import pytest

import native
import vaai
from native import Client, path
from servers import MIB, content, file, make, port, sock, start_offloadd, top


def test_null_is_answered(net):
    net.call(0).done()


def test_support_tells_the_file_system(net, shares):
    told = net.support(path(top + "/e"))
    assert told.file_system == os.environ["OFFLOAD_KIND"]
    assert bool(told.can & 2) == shares
    assert told.can & 1


def test_clone_over_the_network(net, shares):
    make("a")
    job = net.clone(file("a"), file("b"))
    assert job.state == native.COMPLETE, job
    assert job.engine == ("reflink" if shares else "copy")
    assert content("a") == content("b")
    again = net.clone(file("a"), file("b"))
    assert again.id == job.id
    assert net.job(job.id).state == native.COMPLETE
    assert net.job_of(file("b")).id == job.id


def test_checksum_proves_the_clone(net):
    make("a")
    one = net.clone(file("a"), file("b"), native.VERIFY)
    assert one.checksum, one
    assert net.checksum(file("a")).checksum == one.checksum
    assert net.checksum(file("b")).checksum == one.checksum


def test_reserve_and_stat(net, shares):
    make("a")
    net.clone(file("a"), file("b"))
    told = net.stat(file("b"))
    assert told.total == 16 * MIB
    assert (told.unique < MIB) == shares
    job = net.reserve(file("b"))
    assert job.state == native.COMPLETE, job
    assert net.stat(file("b")).unique >= 16 * MIB
    assert content("a") == content("b")


def test_punch_reports_what_came_back(net):
    make("a")
    with open(top + "/e/a", "r+b") as opened:
        opened.seek(MIB)
        opened.write(bytes(2 * MIB))
        opened.flush()
        os.fsync(opened.fileno())
    before = content("a")
    assert net.punch(file("a"), native.DRY_RUN).moved == 2 * MIB
    job = net.punch(file("a"))
    assert job.moved == 2 * MIB
    assert net.punch(file("a")).id == job.id  # sent again: the same result
    assert content("a") == before


@pytest.mark.parametrize("source, destination, flags, status", [
    ("missing", "b", 0, native.NOENT),
    ("a", "no/such/dir", 0, native.NOENT),
    ("a", "../e/b", 0, native.NOENT),
    ("d", "b", 0, native.NOT_FILE),
    ("a", "d", 0, native.NOT_FILE),
    ("p", "b", 0, native.NOT_FILE),
    ("a", "a", 0, native.SAME_FILE),
    ("a", "x", 64, native.INVALID),
    ("a", "there", native.NEW, native.EXISTS),
    ("a", "n" * 256, 0, native.INVALID),
    ("l", "b", 0, native.NOT_FILE),
    ("a\0", "b", 0, native.INVALID),
])
def test_what_is_refused(net, source, destination, flags, status):
    make("a", MIB, ((0, 1),))
    make("there", MIB, ((0, 1),))
    before = content("there")
    os.mkdir(top + "/e/d")
    os.mkfifo(top + "/e/p")
    os.symlink("a", top + "/e/l")
    told = net.clone(file(source), file(destination), flags)
    assert told.refused == status, told
    assert content("there") == before
    assert not os.path.exists(top + "/e/b")


def test_read_only_exports_are_sources_only(net):
    make("a", folder="ro")
    make("b")
    assert net.clone(file("b"), file("x", "ro")).refused == native.READ_ONLY
    assert net.reserve(file("a", "ro")).refused == native.READ_ONLY
    assert net.punch(file("a", "ro")).refused == native.READ_ONLY
    assert net.clone(file("a", "ro"), file("c")).state == native.COMPLETE
    assert content("a", "ro") == content("c")


@pytest.mark.parametrize("address, uid, status", [
    ("10.0.0.9", 0, native.ACCESS),     # not listed
    ("10.0.0.2", 0, native.READ_ONLY),
    ("10.0.0.3", 0, native.ACCESS),     # squashed: nobody may not write there
    ("127.0.0.1", 1234, native.ACCESS),
    ("127.0.0.1", 0, native.OK),
])
def test_the_envelope_decides(address, uid, status):
    make("a")
    relay = Client(sock, native.RELAY_PROGRAM, native.envelope(address, uid=uid))
    assert relay.clone(file("a"), file("b")).refused == status
    listed = relay.jobs()
    assert len(listed.jobs) == (1 if status == native.OK else 0)
    relay.close()


def test_a_user_clones_what_it_may(net):
    make("a")
    os.chmod(top + "/e/a", 0o644)
    os.mkdir(top + "/e/home")
    os.chown(top + "/e/home", 1234, 1234)
    user = Client(("127.0.0.1", port), uid=1234)
    job = user.clone(file("a"), file("home/b"))
    assert job.state == native.COMPLETE, job
    assert os.stat(top + "/e/home/b").st_uid == 1234
    os.chmod(top + "/e/a", 0o600)
    assert user.clone(file("a"), file("home/c")).refused == native.ACCESS
    user.close()


def test_forged_handles_are_stale(net):
    make("a")
    assert net.clone(native.handle(bytes(36)), file("b")).refused == native.STALE
    assert net.clone(native.handle(b""), file("b")).refused == native.STALE
    assert net.clone(native.below(b"\1" + bytes(43), "a"), file("b")).refused == native.STALE


def test_rubbish_is_garbage_and_unknown_procedures_are_unavailable(net):
    with pytest.raises(native.RpcError, match="4"):
        net.call(native.CLONE, b"\0\0\0\7rubbish!")
    with pytest.raises(native.RpcError, match="4"):
        net.call(native.CLONE, bytes(8192))
    with pytest.raises(native.RpcError, match="3"):
        net.call(11)


@pytest.mark.rate("8M")
def test_cancel_takes_the_new_file_away(net):
    make("a", 64 * MIB, ((0, 64),))
    job = net.clone(file("a"), file("b"), native.VERIFY, wait=0)
    assert net.clone(file("a"), file("b"), native.VERIFY, wait=0).id == job.id
    assert net.clone(file("b"), file("c"), wait=0).refused in (native.BUSY, native.NOENT)
    net.cancel(job.id)
    job = net.wait(job.id)
    assert (job.state, job.status) == (native.CANCELLED, native.CANCELLED_STATUS)
    assert not os.path.exists(top + "/e/b")


@pytest.mark.rate("16M")
def test_others_are_answered_while_one_waits(net):
    make("a", 48 * MIB, ((0, 48),))
    net.send(native.CLONE, file("a") + file("b") + struct.pack(">II", native.VERIFY, 20))
    time.sleep(0.3)
    other = Client(("127.0.0.1", port))
    began = time.monotonic()
    assert other.stat(file("a")).refused == native.OK
    assert time.monotonic() - began < 1
    reader = net.receive()
    assert reader.u32() == native.OK
    assert native.read_job(reader).state == native.COMPLETE
    other.close()


@pytest.mark.rate("8M")
def test_a_host_full_of_waits_keeps_no_other(net):
    """More waits than can be with the sidecar: another host's call is with it at once."""
    make("a", 64 * MIB, ((0, 64),))
    job = net.clone(file("a"), file("b"), native.VERIFY, wait=0)
    hogs = [Client(("127.0.0.1", port)) for _ in range(3)]
    for hog in hogs:
        for _ in range(100):
            hog.send(native.WAIT, struct.pack(">IQI", 0, job.id, 20))
    time.sleep(0.5)
    other = Client(("127.0.0.1", port), source="127.0.0.3")
    began = time.monotonic()
    assert other.support(path(top + "/e")).file_system == os.environ["OFFLOAD_KIND"]
    assert time.monotonic() - began < 1
    for client in (*hogs, other):
        client.close()


@pytest.mark.rate("16M")
def test_killed_and_started_again_the_job_goes_on(net, request):
    make("a", 32 * MIB, ((0, 32),))
    job = net.clone(file("a"), file("b"), native.VERIFY, wait=0)
    time.sleep(0.5)
    request.node.offloadd.end(signal.SIGKILL)
    request.node.offloadd = start_offloadd()
    job = net.wait(job.id)
    assert job.state == native.COMPLETE, job
    assert content("a") == content("b")


def test_a_sidecar_that_is_down_is_said_so_at_once(net, request):
    make("a")
    request.node.offloadd.end()
    request.node.offloadd = None
    began = time.monotonic()
    assert net.stat(file("a")).refused == native.UNAVAILABLE
    assert net.clone(file("a"), file("b")).refused == native.UNAVAILABLE
    assert net.jobs().refused == native.UNAVAILABLE
    assert time.monotonic() - began < 1


def test_a_sidecar_that_hangs_keeps_nobody_else(net, request):
    make("a")
    request.node.offloadd.process.send_signal(signal.SIGSTOP)
    refused = []

    def ask():
        client = Client(("127.0.0.1", port))
        refused.append(client.stat(file("a")).refused)
        client.close()

    threads = [threading.Thread(target=ask) for _ in range(150)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    began = time.monotonic()
    net.call(0).done()
    assert time.monotonic() - began < 0.5
    for thread in threads:
        thread.join()
    request.node.offloadd.process.send_signal(signal.SIGCONT)
    assert refused == [native.UNAVAILABLE] * 150
    time.sleep(0.2)
    assert net.stat(file("a")).refused == native.OK


def test_many_at_once(net):
    make("a", 4 * MIB, ((0, 1),))
    results = []

    def clone_some(first):
        client = Client(("127.0.0.1", port))
        for i in range(first, first + 25):
            results.append(client.clone(file("a"), file(f"c{i}")).state)
        client.close()

    threads = [threading.Thread(target=clone_some, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [native.COMPLETE] * 100
    assert content("c0") == content("a") == content("c324")
    listed, after, ids = None, 0, []
    while listed is None or not listed.eof:
        listed = net.jobs(after, 32)
        ids += [job.id for job in listed.jobs]
        after = ids[-1]
    assert len(ids) == len(set(ids)) == 100
    assert net.jobs(0, 33).refused == native.INVALID


def test_a_stranger_on_the_socket_is_turned_away(net):
    make("a")
    os.chmod(sock, 0o666)
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import native\n"
              "try: native.Client(sys.argv[2]).call(0)\n"
              "except native.RpcError as error: print(error)\n")
    told = subprocess.run(
        ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "python3", "-c",
         script, os.path.dirname(os.path.abspath(__file__)), sock],
        capture_output=True, text=True, check=False)
    assert told.stdout.strip() == "denied" or "Permission" in told.stderr, told


def reload_exports(request, more):
    """@more beside what the exports are; both programs have read it when this returns."""
    with open(top + "/exports", "a", encoding="ascii") as exports:
        exports.write(more)
    for server in request.node.nfsd, request.node.offloadd:
        server.process.send_signal(signal.SIGHUP)
    client = Client(("127.0.0.1", port))
    for _ in range(250):
        if client.stat(path(more.split()[0])).refused == native.NOT_FILE:
            break
        time.sleep(0.02)
    client.close()


def test_one_file_in_two_exports_is_one_file(net, request):
    """A handle says by which export the file was found; what it names is the same."""
    os.mkdir(top + "/e/sub")
    make("a", folder="e/sub")
    reload_exports(request, f"{top}/e/sub 127.0.0.1(rw,no_root_squash)\n")
    plug_in = vaai.PlugIn(("127.0.0.1", port))
    outer = plug_in.lookup(plug_in.lookup(plug_in.mount(top + "/e"), "sub"), "a")
    inner = plug_in.lookup(plug_in.mount(top + "/e/sub"), "a")
    plug_in.close()
    assert outer != inner
    before = content("a", "e/sub")
    job = net.clone(native.handle(outer), native.handle(inner))
    assert job.refused == native.SAME_FILE, job
    assert content("a", "e/sub") == before


@pytest.mark.rate("8M")
def test_one_destination_in_two_exports_is_one(net, request):
    os.mkdir(top + "/e/sub")
    make("a", 64 * MIB, ((0, 60),))
    make("c", 64 * MIB, ((0, 60),))
    make("b", 64 * MIB, ((0, 64),), folder="e/sub")
    reload_exports(request, f"{top}/e/sub 127.0.0.1(rw,no_root_squash)\n")
    plug_in = vaai.PlugIn(("127.0.0.1", port))
    outer = plug_in.lookup(plug_in.lookup(plug_in.mount(top + "/e"), "sub"), "b")
    inner = plug_in.lookup(plug_in.mount(top + "/e/sub"), "b")
    plug_in.close()
    job = net.clone(file("a"), native.handle(outer), wait=0)
    assert job.state in (native.QUEUED, native.RUNNING), job
    assert net.clone(file("c"), native.handle(inner), wait=0).refused == native.BUSY
    net.cancel(job.id)


def test_checksum_where_blocks_are_small(net, request):
    """Holes that begin and end within what direct I/O reads at once."""
    small = top + "/small"
    os.mkdir(small)
    subprocess.run(["truncate", "-s", "32M", small + ".image"], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-b", "1024", small + ".image"], check=True)
    subprocess.run(["mount", "-o", "loop", small + ".image", small], check=True)
    try:
        reload_exports(request, f"{small} 127.0.0.1(rw,no_root_squash)\n")
        with open(small + "/holes", "wb") as holes:
            for at in range(0, 64 << 10, 2048):
                holes.seek(at)
                holes.write(os.urandom(1024))
        with open(small + "/full", "wb") as full:
            full.write(content("holes", "small"))
        one, two = (net.checksum(file(name, "small")) for name in ("holes", "full"))
        assert one.checksum == two.checksum, (one, two)
    finally:
        for server in "nfsd", "offloadd":
            getattr(request.node, server).end()
            setattr(request.node, server, None)
        subprocess.run(["umount", small], check=True)
        os.rmdir(small)


def test_a_second_sidecar_does_not_start(net, request):
    """With the same jobs it would write to the same files; not even for a moment."""
    second = subprocess.run(
        [os.environ["OFFLOADD"], "--foreground", "--config", top + "/conf", "--exports",
         top + "/exports", "--state-dir", top + "/state", "--socket", top + "/second"],
        stderr=subprocess.PIPE, timeout=20, check=False)
    assert second.returncode == 1
    assert b"another lodestore-offloadd works on the jobs in" in second.stderr
    net.call(0).done()


@pytest.mark.rate("4M")
def test_only_who_may_stops_a_job(net, request):
    """Who one is, is who one is in the destination's export."""
    for name in "squashed", "all":
        os.mkdir(f"{top}/{name}")
        os.chmod(f"{top}/{name}", 0o777)
        make("a", 64 * MIB, ((0, 60),), folder=name)
    reload_exports(request, f"{top}/squashed 127.0.0.1(rw) 10.0.0.3(rw)\n"
                            f"{top}/all 127.0.0.1(rw,all_squash,anonuid=1234)\n")
    theirs = Client(sock, native.RELAY_PROGRAM, native.envelope("10.0.0.3", uid=1000))
    user = Client(("127.0.0.1", port), uid=1000)
    job = theirs.clone(file("a", "squashed"), file("b", "squashed"), native.VERIFY, wait=0)
    assert job.refused == native.OK, job
    assert net.cancel(job.id).refused == native.ACCESS
    assert theirs.cancel(job.id).refused == native.OK
    job = user.clone(file("a", "all"), file("b", "all"), native.VERIFY, wait=0)
    assert job.refused == native.OK, job
    assert user.cancel(job.id).refused == native.OK
    user.close()
    theirs.close()


@pytest.mark.rate("4M")
def test_no_descriptors_left(net, request):
    """Who connects then waits; who has an answer coming gets it."""
    make("a", 16 * MIB, ((0, 12),))
    job = net.clone(file("a"), file("b"), native.VERIFY, wait=0)
    waiter = Client(sock)
    waiter.send(native.WAIT, struct.pack(">IQI", 0, job.id, 30))
    time.sleep(0.3)
    pid = request.node.offloadd.process.pid
    used = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
    idle = [Client(sock) for _ in range(100)]
    assert waiter.receive().u32() == native.OK
    for client in idle:
        client.close()
    assert net.job(job.id).state == native.COMPLETE


def test_nothing_is_no_name(net):
    make("a")
    for nothing in path(""), native.handle(b""), native.below(b"", ""):
        for job in net.clone(nothing, file("b")), net.clone(file("a"), nothing), net.stat(nothing):
            assert job.refused in (native.INVALID, native.NOENT, native.STALE), job
    assert net.stat(file("a")).refused == native.OK
