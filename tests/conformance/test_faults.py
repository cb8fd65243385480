# SPDX-License-Identifier: Apache-2.0
"""What must hold when something breaks: restart, kill -9, a full, frozen or failing file system.

The suite cannot do these things itself: commands given on the command line do (README.md, "Hooks").
A command returns when the server serves again. kill -9 leaves the machine's page cache alive, so
these tests show what a crash of the server loses, not what a power failure would."""
import os
import threading
import time

import pytest

import rpc
from conftest import other_export
from nfs3 import (DATA_SYNC, FILE_SYNC, GUARDED, NFS3_OK, NFS3ERR_DQUOT, NFS3ERR_EXIST, NFS3ERR_IO,
                  NFS3ERR_NOENT, NFS3ERR_NOSPC, UNSTABLE)

rule = pytest.mark.rule


@pytest.fixture(params=["restart_cmd", "kill_cmd"], ids=["restart", "kill"])
def interrupt(server, request):
    """Calling this restarts the server, politely or not; it returns how long that took."""
    if not getattr(server.options, request.param):
        pytest.skip("needs --%s" % request.param.replace("_", "-"))

    def run():
        start = time.monotonic()
        server.hook(request.param)
        return time.monotonic() - start
    return run


@pytest.fixture
def kill(server):
    if not server.options.kill_cmd:
        pytest.skip("needs --kill-cmd")
    return lambda: server.hook("kill_cmd")


@pytest.fixture
def restart(server):
    if not server.options.restart_cmd:
        pytest.skip("needs --restart-cmd")
    return lambda: server.hook("restart_cmd")


# --------------------------------------------------------------------- identity of everything

@rule("esxi.md 10a", "esxi.md 10c", "esxi.md 11c", "esxi.md 16b", "esxi.md 16c",
      "defects.md Handles 1a")
def test_handles_and_fileids_last(server, root, home, interrupt):
    """Every handle, fileid and the fsid are the same after a restart, whoever holds them, and
    usable at once: a restart takes seconds and has no grace period."""
    nfs = server.nfs()
    objects = [root, home, nfs.new_file(home, b"f", b"data"), nfs.new_dir(home, b"d"),
               nfs.new_symlink(home, b"l", b"t")]
    before = [nfs.attributes(handle) for handle in objects]
    took = interrupt()
    assert took < 30, "the server was away for %.0f s" % took
    nfs = server.nfs()
    start = time.monotonic()
    after = [nfs.attributes(handle) for handle in objects]
    nfs.write(objects[2], 0, b"more").ok()
    assert time.monotonic() - start < 2, "the first calls took %.1f s" % (time.monotonic() - start)
    for old, new in zip(before, after):
        assert old._replace(atime=new.atime) == new, "expected %s, got %s" % (old, new)
    assert server.mounted() == root, "MNT gives another handle than before"
    assert [nfs.find(home, name) for name in (b"f", b"d", b"l")] == objects[2:]
    nfs.connection.close()


@rule("esxi.md 18c", "defects.md Durability 3c")
def test_verifier_changes(server, home, interrupt):
    """The write verifier is another one after each restart: that is how clients learn to send their
    uncommitted data again."""
    nfs = server.nfs()
    handle = nfs.new_file(home, b"f")
    verifiers = [nfs.write(handle, 0, b"x", UNSTABLE).ok().verf]
    for _ in range(2):
        interrupt()
        nfs = server.nfs()
        verifiers.append(nfs.commit(handle).ok().verf)
        assert nfs.write(handle, 0, b"x", UNSTABLE).ok().verf == verifiers[-1]
    assert len(set(verifiers)) == 3, "verifiers of three runs: %s" % [v.hex() for v in verifiers]


@rule("defects.md Create 1b", "RFC 1813 3.3.8")
@pytest.mark.parametrize("verf", [b"verifier", bytes(8), b"\xff" * 8],
                         ids=["text", "zeros", "ones"])
def test_exclusive_retry(server, home, interrupt, verf):
    """An EXCLUSIVE CREATE whose reply was lost in a restart is sent again: the same verifier gets
    the same file, another EXIST."""
    nfs = server.nfs()
    handle = nfs.handle_of_new(nfs.create_exclusive(home, b"x", verf), home, b"x")
    interrupt()
    nfs = server.nfs()
    reply = nfs.create_exclusive(home, b"x", verf).ok()
    if reply.fh:
        reply.expect(reply.fh == handle, "the same handle")
    nfs.create_exclusive(home, b"x", b"another!").fails(NFS3ERR_EXIST)
    nfs.connection.close()


@rule("esxi.md 14b")
def test_lock_lasts(server, home, interrupt):
    """A lock taken before is held after: the other host still hears EXIST, the holder still
    writes."""
    nfs = server.nfs()
    lock = nfs.new_file(home, b".lck-0100000000000000", b"L" * 84)
    interrupt()
    nfs = server.nfs()
    nfs.create(home, b".lck-0100000000000000", GUARDED).fails(NFS3ERR_EXIST)
    nfs.write(lock, 0, b"M" * 84).ok()
    assert nfs.read_all(lock) == b"M" * 84
    nfs.connection.close()


@rule("defects.md Directories 1c", "esxi.md 13b")
@pytest.mark.parametrize("plus", [False, True], ids=["readdir", "readdirplus"])
def test_listing_goes_on(server, home, interrupt, plus):
    """A listing begun before goes on after with its cookie: every name once."""
    nfs = server.nfs()
    names = [b"file-%03d" % i for i in range(200)]
    for name in names:
        nfs.create(home, name).ok()
    first = (nfs.readdirplus(home, maxcount=2048) if plus else nfs.readdir(home, count=2048)).ok()
    first.expect(not first.eof, "a first page that is not all")
    got, cookie, verf = list(first.entries), first.entries[-1].cookie, first.verf
    interrupt()
    nfs = server.nfs()
    while True:
        reply = (nfs.readdirplus if plus else nfs.readdir)(home, cookie, verf).ok()
        got += reply.entries
        if reply.eof:
            break
        cookie, verf = reply.entries[-1].cookie, reply.verf
    assert sorted(e.name for e in got if e.name not in (b".", b"..")) == names
    nfs.connection.close()


@rule("esxi.md 6a", "esxi.md 16b")
def test_same_source_port_after(server, root, interrupt):
    """The client comes back from the port that it had."""
    first = server.connect()
    server.nfs(connection=first).getattr(root).ok()
    port = first.source_port
    interrupt()
    first.reset()
    second = server.connect(source_port=port)
    server.nfs(connection=second).getattr(root).ok()
    second.reset()


# -------------------------------------------------------------------------------- durability

@rule("defects.md Durability 1b", "esxi.md 18a", "esxi.md 18b")
@pytest.mark.parametrize("how", ["file_sync", "data_sync", "unstable-and-commit"])
def test_data_last(server, home, interrupt, how):
    """What was answered as stable, or committed with the verifier unchanged, is there
    afterwards."""
    nfs = server.nfs()
    data = os.urandom(300000)
    handle = nfs.new_file(home, b"f")
    stable = {"file_sync": FILE_SYNC, "data_sync": DATA_SYNC, "unstable-and-commit": UNSTABLE}[how]
    nfs.write_all(handle, data, stable=stable)
    if how == "unstable-and-commit":
        nfs.commit(handle).ok()
    interrupt()
    nfs = server.nfs()
    assert nfs.read_all(handle) == data
    nfs.connection.close()


CHANGES = {
    "CREATE": (lambda nfs, home, fh: nfs.create(home, b"new", GUARDED, mode=0o640),
               lambda nfs, home, fh: nfs.attributes(nfs.find(home, b"new")).mode == 0o640),
    "MKDIR": (lambda nfs, home, fh: nfs.mkdir(home, b"new", mode=0o750),
              lambda nfs, home, fh: nfs.attributes(nfs.find(home, b"new")).mode == 0o750),
    "SYMLINK": (lambda nfs, home, fh: nfs.symlink(home, b"new", b"target"),
                lambda nfs, home, fh: nfs.readlink(nfs.find(home, b"new")).target == b"target"),
    "MKNOD": (lambda nfs, home, fh: nfs.mknod(home, b"new", 7, mode=0o600),
              lambda nfs, home, fh: nfs.attributes(nfs.find(home, b"new")).type == 7),
    "REMOVE": (lambda nfs, home, fh: nfs.remove(home, b"file"),
               lambda nfs, home, fh: nfs.lookup(home, b"file").status == NFS3ERR_NOENT),
    "RMDIR": (lambda nfs, home, fh: nfs.rmdir(home, b"dir"),
              lambda nfs, home, fh: nfs.lookup(home, b"dir").status == NFS3ERR_NOENT),
    "RENAME": (lambda nfs, home, fh: nfs.rename(home, b"file", home, b"new"),
               lambda nfs, home, fh: nfs.find(home, b"new") == fh
               and nfs.lookup(home, b"file").status == NFS3ERR_NOENT),
    "LINK": (lambda nfs, home, fh: nfs.link(fh, home, b"new"),
             lambda nfs, home, fh: nfs.attributes(fh).nlink == 2),
    "SETATTR": (lambda nfs, home, fh: nfs.setattr(fh, mode=0o611, size=77, mtime=(1000, 0)),
                lambda nfs, home, fh: nfs.attributes(fh)[1] == 0o611
                and nfs.attributes(fh).size == 77 and nfs.attributes(fh).mtime == (1000, 0)),
}


@pytest.mark.parametrize("procedure", list(CHANGES))
@rule("defects.md Durability 4a")
def test_changes_last(server, home, kill, procedure):
    """What was answered with success survives a kill right after the reply."""
    nfs = server.nfs()
    fh = nfs.new_file(home, b"file")
    nfs.new_dir(home, b"dir")
    change, holds = CHANGES[procedure]
    change(nfs, home, fh).ok()
    kill()
    nfs = server.nfs()
    assert holds(nfs, home, fh), "%s was answered with NFS3_OK and is undone" % procedure
    nfs.connection.close()


def write_until_cut_off(server, home, interrupt, writers=4):
    """FILE_SYNC writers run into the interruption; for each: handle, records acknowledged."""
    nfs = server.nfs()
    outcome = []

    def writer(handle, acknowledged):
        client = server.nfs()
        try:
            for number in range(100000):
                client.write(handle, number * 512, b"%08d" % number * 64, FILE_SYNC).ok()
                acknowledged.append(number)
        except (rpc.ConnectionLost, rpc.NoAnswer):
            pass

    threads = []
    for i in range(writers):
        handle, acknowledged = nfs.new_file(home, b"w%d" % i), []
        outcome.append((handle, acknowledged))
        threads.append(threading.Thread(target=writer, args=(handle, acknowledged), daemon=True))
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    took = interrupt()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a writer neither got a reply nor lost its connection"
    return outcome, took


@rule("defects.md Durability 1b", "esxi.md 18a", "defects.md RPC 9c", "esxi.md 16b")
def test_under_load(server, home, interrupt):
    """Interrupted while four clients write: every record that was acknowledged is there, whole. A
    polite stop under load is over in seconds."""
    outcome, took = write_until_cut_off(server, home, interrupt)
    assert took < 20, "the server was away for %.0f s" % took
    nfs = server.nfs()
    for handle, acknowledged in outcome:
        assert acknowledged, "a writer was never answered"
        data = nfs.read_all(handle, 1 << 16)
        for number in acknowledged:
            record = data[number * 512:(number + 1) * 512]
            assert record == b"%08d" % number * 64, "record %d was acknowledged and is %r" % (
                number, record[:16])
    nfs.connection.close()


@rule("defects.md RPC 9c")
def test_polite_stop_under_load_is_quick(server, home, restart):
    """Stopped by its own command while clients write, the server is back within ten seconds: five
    for the replies that are due, the rest for starting."""
    outcome, took = write_until_cut_off(server, home, lambda: timed(restart))
    assert took < 10, "stopping and starting took %.1f s" % took
    assert all(acknowledged for _, acknowledged in outcome)


def timed(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


@rule("defects.md Durability 3c", "esxi.md 18b")
def test_uncommitted_data_or_another_verifier(server, home, kill):
    """Data written UNSTABLE and not committed may be lost by a kill, and then the verifier says
    so."""
    nfs = server.nfs()
    handle = nfs.new_file(home, b"f")
    data = os.urandom(200000)
    verifiers = set()
    for at in range(0, len(data), 50000):
        verifiers.add(nfs.write(handle, at, data[at:at + 50000], UNSTABLE).ok().verf)
    kill()
    nfs = server.nfs()
    reply = nfs.commit(handle).ok()
    reply.expect(reply.verf not in verifiers, "another verifier than before the kill")
    nfs.write_all(handle, data, stable=UNSTABLE)
    nfs.commit(handle).ok()
    assert nfs.read_all(handle) == data
    nfs.connection.close()


@rule("defects.md Durability 4a", "esxi.md 10a")
def test_several_kills(server, root, home, kill):
    """Three kills in a row, with work in between: nothing acknowledged is lost, no handle goes
    bad."""
    made = {}
    for round in range(3):
        nfs = server.nfs()
        for i in range(20):
            name, data = b"r%d-%d" % (round, i), os.urandom(1000)
            made[name] = (nfs.new_file(home, name, data), data)
        kill()
    nfs = server.nfs()
    assert nfs.names(home) == sorted(made)
    for name, (handle, data) in made.items():
        assert nfs.read_all(handle) == data and nfs.find(home, name) == handle
    assert server.mounted() == root
    nfs.connection.close()


# --------------------------------------------------------------------- a full file system

@pytest.fixture
def full(server):
    """A directory on the small file system, and a client. What a test puts there goes
    afterwards."""
    root = other_export(server, "full_export")
    nfs = server.nfs()
    name = b"conformance-full-%d" % os.getpid()
    yield nfs, nfs.new_dir(root, name)
    nfs = server.nfs()
    nfs.remove_tree(root, name)
    nfs.connection.close()


def fill_up(nfs, dir, name, stable=UNSTABLE, limit=2 << 30):
    """Write a file until the disk is full; the handle, the chunks that were taken, the last
    reply."""
    handle, chunks, at = nfs.new_file(dir, name), [], 0
    for size in (1 << 20, 65536, 4096):
        while at < limit:
            chunk = os.urandom(16) * (size // 16)
            reply = nfs.write(handle, at, chunk, stable)
            if reply.status != NFS3_OK:
                break
            chunks.append((at, chunk[:reply.count]))
            at += reply.count
    if at >= limit:
        pytest.skip("--full-export has more than %d MiB free" % (limit >> 20))
    return handle, chunks, reply


@rule("defects.md Durability 3d", "RFC 1813 3.3.7")
@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC], ids=["unstable", "file_sync"])
def test_full_disk(full, stable):
    """A full disk is NOSPC (or DQUOT), not an I/O error; what was written before is there; space
    that is freed can be used."""
    nfs, dir = full
    handle, chunks, reply = fill_up(nfs, dir, b"big", stable)
    reply.fails(NFS3ERR_NOSPC, NFS3ERR_DQUOT)
    nfs.commit(handle).fails(NFS3_OK, NFS3ERR_NOSPC, NFS3ERR_DQUOT)
    for at, chunk in chunks[:3] + chunks[-3:]:
        assert nfs.read(handle, at, len(chunk)).ok().data == chunk, "the chunk at %d changed" % at
    nfs.remove(dir, b"big").ok()
    deadline = time.monotonic() + 15
    while True:
        reply = nfs.create(dir, b"again")
        if reply.status == NFS3_OK:
            again = nfs.write(nfs.handle_of_new(reply, dir, b"again"), 0, bytes(65536), FILE_SYNC)
            if again.status == NFS3_OK:
                return
        assert time.monotonic() < deadline, "15 s after a REMOVE there is still no space"
        time.sleep(0.5)


@rule("defects.md Create 9e", "esxi.md 20c", "RFC 1813 3.3.18")
def test_questions_on_a_full_disk(full):
    """GETATTR, READ, READDIR, FSSTAT, FSINFO and PATHCONF work on a full disk and tell the
    truth."""
    nfs, dir = full
    handle, chunks, reply = fill_up(nfs, dir, b"big")
    nfs.commit(handle)
    stat = nfs.fsstat(dir).ok()
    stat.expect(stat.abytes < max(4 << 20, stat.tbytes // 50), "next to nothing available")
    nfs.fsinfo(handle).ok()
    nfs.pathconf(handle).ok()
    nfs.getattr(handle).ok()
    assert nfs.names(dir, plus=True) == [b"big"]
    for at, chunk in chunks[:2]:
        assert nfs.read(handle, at, len(chunk)).ok().data == chunk


@rule("defects.md Durability 3d")
def test_no_commit_lies_on_a_full_disk(full):
    """Whatever WRITE and COMMIT said was written is written: UNSTABLE data that found no room are
    refused by WRITE, or by COMMIT, or with another verifier."""
    nfs, dir = full
    handle, chunks, reply = fill_up(nfs, dir, b"big", UNSTABLE)
    committed = nfs.commit(handle)
    if committed.status == NFS3_OK:
        for at, chunk in chunks:
            assert nfs.read(handle, at, len(chunk)).ok().data == chunk, \
                "the chunk at %d was committed and is lost" % at
    else:
        committed.fails(NFS3ERR_NOSPC, NFS3ERR_DQUOT)


# ------------------------------------------------------------------- a frozen file system

@pytest.fixture
def frozen(server):
    """A file on the export that can be frozen, and a way to freeze it; thawed afterwards."""
    for option in ("freeze_cmd", "thaw_cmd"):
        if not getattr(server.options, option):
            pytest.skip("needs --%s" % option.replace("_", "-"))
    root = other_export(server, "frozen_export")
    nfs = server.nfs()
    name = b"conformance-frozen-%d" % os.getpid()
    dir = nfs.new_dir(root, name)
    handle = nfs.new_file(dir, b"f", b"before")
    state = {"frozen": False}

    def freeze():
        state["frozen"] = True
        server.hook("freeze_cmd")

    def thaw():
        server.hook("thaw_cmd")
        state["frozen"] = False

    yield root, handle, freeze, thaw
    if state["frozen"]:
        thaw()
    nfs = server.nfs()
    nfs.remove_tree(root, name)
    nfs.connection.close()


@rule("esxi.md 15a", "esxi.md 16a")
def test_frozen_disk_freezes_nothing_else(server, frozen, root, home):
    """While WRITEs hang on a frozen file system, heartbeats of both exports and small synchronous
    WRITEs to the other are answered within a second - on the connection of the hanging calls, too.
    After the thaw the WRITEs are answered."""
    frozen_root, handle, freeze, thaw = frozen
    nfs, hanging = server.nfs(), server.nfs()
    lock = nfs.new_file(home, b"lock")
    freeze()
    pending = [hanging.start("WRITE", file=handle, offset=i * 4096, data=b"%04d" % i * 1024)
               for i in range(64)]
    time.sleep(0.3)
    slowest = {}
    for _ in range(20):
        for name, client, act in (
                ("GETATTR of the other root", nfs, lambda c: c.getattr(root)),
                ("GETATTR of the frozen root", nfs, lambda c: c.getattr(frozen_root)),
                ("WRITE to the other export", nfs, lambda c: c.write(lock, 0, bytes(84))),
                ("GETATTR beside the hanging calls", hanging, lambda c: c.getattr(root))):
            start = time.monotonic()
            act(client).ok()
            slowest[name] = max(slowest.get(name, 0), time.monotonic() - start)
    thaw()
    for i, call in enumerate(pending):
        hanging.wait(call, 20).ok()
    late = {name: "%.2f s" % seconds for name, seconds in slowest.items() if seconds > 1}
    assert not late, "behind a frozen file system: %s" % late
    assert nfs.read_all(handle) == b"".join(b"%04d" % i * 1024 for i in range(64))
    nfs.connection.close()
    hanging.connection.close()


@rule("defects.md Duplicates 1a", "defects.md Duplicates 1e")
def test_sent_again_while_it_hangs(server, frozen):
    """A CREATE-like call and a WRITE that hang are sent again over a new connection: after the thaw
    each was done once and is answered there."""
    frozen_root, handle, freeze, thaw = frozen
    first = server.nfs()
    freeze()
    message = first.message("WRITE", file=handle, offset=0, data=b"written once")
    port = first.connection.source_port
    first.connection.send(message)
    time.sleep(0.3)
    first.connection.reset()
    second = server.nfs(connection=server.connect(source_port=port))
    second.connection.send(message)
    second.connection.send(message)
    time.sleep(0.3)
    thaw()
    second.decode(second.connection.wait(rpc.xid_of(message), 20), "WRITE",
                  "WRITE, sent again while it hung").ok()
    assert second.read_all(handle).startswith(b"written once")
    second.connection.reset()


# ------------------------------------------------------------------ a disk that fails

@rule("defects.md Durability 2a", "defects.md Durability 2b", "esxi.md 18c")
def test_failed_flush(server):
    """Data written UNSTABLE, then the disk fails: COMMIT says so once with its error, and the
    verifier is another one for everybody, so that all uncommitted data are sent again. After the
    disk is healed they can be."""
    for option in ("fail_cmd", "heal_cmd"):
        if not getattr(server.options, option):
            pytest.skip("needs --%s" % option.replace("_", "-"))
    root = other_export(server, "failing_export")
    nfs = server.nfs()
    name = b"conformance-failing-%d" % os.getpid()
    try:
        break_a_flush(server, nfs, nfs.new_dir(root, name))
    finally:
        nfs = server.nfs()
        nfs.remove_tree(root, name)
        nfs.connection.close()


def break_a_flush(server, nfs, dir):
    one, two = nfs.new_file(dir, b"one"), nfs.new_file(dir, b"two")
    nfs.commit(one).ok()
    data = os.urandom(1 << 20)
    before = nfs.write(two, 0, b"x", UNSTABLE).ok().verf
    try:
        server.hook("fail_cmd")
        replies = [nfs.write(one, i << 20, data, UNSTABLE) for i in range(8)]
        if all(reply.status == NFS3_OK for reply in replies):
            replies = [nfs.commit(one)]
        next((r for r in replies if r.status != NFS3_OK), replies[0]).fails(NFS3ERR_IO,
                                                                            NFS3ERR_NOSPC)
    finally:
        server.hook("heal_cmd")
    after = nfs.write(two, 0, b"x", UNSTABLE).ok()
    after.expect(after.verf != before, "another verifier than %s" % before.hex())
    nfs.write_all(one, data, stable=UNSTABLE, chunk=1 << 20)
    reply = nfs.commit(one).ok()
    reply.expect(reply.verf == after.verf, "the new verifier, %s" % after.verf.hex())
    assert nfs.read_all(one, 1 << 20)[:len(data)] == data
