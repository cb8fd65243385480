# SPDX-License-Identifier: Apache-2.0
"""What an ESXi host does, as far as it is known, replayed.

Each scenario says what is KNOWN (vendor documents, bug reports, captures described in public - the
certainty [H] and [M] of the rules) and what is ASSUMED by us. None of this was recorded by us from
a real host; the order of calls inside a step is always our assumption."""
import os
import struct
import threading
import time

import pytest

import mount3
import nfs3
import rpc
from nfs3 import (ACCESS_ALL, FILE_SYNC, GUARDED, NF3DIR, NFS3ERR_EXIST, NFS3ERR_NOENT,
                  NFS3ERR_STALE, UNCHECKED, UNSTABLE)
from parallel import in_parallel, tally

rule = pytest.mark.rule
GIB = 1 << 30

DESCRIPTOR = b"""# Disk DescriptorFile
version=1
encoding="UTF-8"
CID=fffffffe
parentCID=ffffffff
createType="vmfs"

# Extent description
RW 4294967296 VMFS "vm-flat.vmdk"

# The Disk Data Base
ddb.adapterType = "lsilogic"
ddb.virtualHWVersion = "19"
"""


def lock_name(fileid):
    """.lck- and the file's id as 16 hex digits of its little-endian bytes. KNOWN."""
    return b".lck-" + struct.pack("<Q", fileid).hex().encode()


def lock_block(host, beat):
    """84 bytes that a host writes into its lock. The size is KNOWN, the content ASSUMED."""
    return struct.pack("<QQ", host, beat).ljust(84, b"\0")


@pytest.fixture
def host_a(server):
    client = server.nfs()
    yield client
    client.connection.close()


@pytest.fixture
def host_b(server):
    client = server.nfs()
    yield client
    client.connection.close()


class Bulk:
    """Other traffic: connections that write and read 1 MiB at a time until told to stop."""

    def __init__(self, server, nfs, home, writers=3, readers=1):
        self.stopping, self.troubles, self.done_bytes = threading.Event(), [], 0
        self.threads = []
        for i in range(writers + readers):
            handle = nfs.new_file(home, b"bulk-%d" % i)
            if i >= writers:
                nfs.write_all(handle, bytes(8 << 20), stable=UNSTABLE, chunk=1 << 20)
            self.threads.append(threading.Thread(
                target=self._pump, args=(server, handle, i < writers), daemon=True))
        for thread in self.threads:
            thread.start()

    def _pump(self, server, handle, writing):
        try:
            client = server.nfs()
            data, at = os.urandom(1 << 20), 0
            while not self.stopping.is_set():
                if writing:
                    calls = [client.start("WRITE", file=handle, offset=(at + n) % 64 << 20,
                                          data=data, stable=UNSTABLE) for n in range(4)]
                else:
                    calls = [client.start("READ", file=handle, offset=n << 20, count=1 << 20)
                             for n in range(4)]
                for call in calls:
                    self.done_bytes += client.wait(call).ok().count
                at += 4
                if writing and at % 16 == 0:
                    client.commit(handle).ok()
            client.connection.close()
        except AssertionError as error:
            self.troubles.append(str(error))

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(15)
        assert not self.troubles, "the other traffic failed: %s" % self.troubles[0]


# -------------------------------------------------------------------------- the datastore

@rule("esxi.md 1a", "esxi.md 1b", "esxi.md 1d", "esxi.md 3b", "esxi.md 12a")
@pytest.mark.parametrize("asking", ["tcp", "udp"])
def test_mounting_a_datastore(server, asking):
    """KNOWN: the portmapper is asked over TCP by the host, over UDP by offload plug-ins; MOUNT 3
    and NFS 3 over TCP; MNT with the path as the administrator typed it. ASSUMED: the questions
    after it."""
    if not server.uses_portmap:
        pytest.skip("no portmapper in this run: --port was given")
    ask = server.portmap_tcp() if asking == "tcp" else server.portmap_udp()
    ports = ask.getport(mount3.PROGRAM, 3), ask.getport(nfs3.PROGRAM, 3)
    ask.transport.close()
    mount = mount3.Mount(rpc.TcpConnection(server.host, ports[0], server.timeout), server.cred)
    mount.null()
    root = mount.mnt(server.export).ok().fh
    mount.transport.close()
    nfs = nfs3.Nfs3(rpc.TcpConnection(server.host, ports[1], server.timeout), server.cred)
    nfs.null()
    examine_datastore(nfs, root)
    nfs.connection.close()


def examine_datastore(nfs, root):
    info = nfs.fsinfo(root).ok()
    info.expect(info.rtmax >= 65536 and info.wtmax >= 65536, "transfers of at least 64 KiB")
    stat = nfs.fsstat(root).ok()
    stat.expect(stat.tbytes > 0, "a capacity")
    nfs.pathconf(root).ok()
    attr = nfs.attributes(root)
    assert attr.type == NF3DIR
    above = nfs.lookup(root, b"..").ok()
    above.expect(above.fh == root, "the root itself")
    granted = nfs.access(root, ACCESS_ALL).ok()
    granted.expect(granted.access & 0x1F == 0x1F, "read, look up, modify, extend and delete")


@rule("esxi.md 1b", "esxi.md 12a", "esxi.md 2a")
def test_examining_a_datastore(server, nfs, root):
    """ASSUMED: FSINFO, FSSTAT, PATHCONF, GETATTR, LOOKUP "..", ACCESS of the root, as uid 0."""
    examine_datastore(nfs, root)


@rule("esxi.md 10c", "esxi.md 4a")
def test_unmounting_and_mounting_again(server, nfs, root, home):
    """KNOWN: a host that mounts again, perhaps with the path spelled otherwise, must see the same
    handle: it names the datastore by what MNT was given and hosts compare."""
    handle = nfs.new_file(home, b"vm.vmx", b"config")
    mount = server.mount()
    mount.umnt(server.export)
    for path in (server.export, server.export.rstrip(b"/") + b"/", server.export.strip(b"/")):
        assert mount.mnt(path).ok().fh == root
    mount.transport.close()
    assert nfs.read_all(handle) == b"config"


@rule("esxi.md 14c")
def test_dot_folders(nfs, home):
    """KNOWN: hosts keep folders and files whose names begin with a dot on the volume. ASSUMED:
    these names. They are made, found, listed and removed like any other."""
    names = [b".dvsData", b".vSphere-HA", b".sdd.sf", b".vmware-hidden", b".iormstats.sf"]
    for name in names:
        nfs.lookup(home, name).fails(NFS3ERR_NOENT)
        folder = nfs.new_dir(home, name)
        nfs.new_file(folder, b".inside", b"state")
    assert nfs.names(home, plus=True) == sorted(names)
    for name in names:
        nfs.remove(nfs.find(home, name), b".inside").ok()
        nfs.rmdir(home, name).ok()


@rule("esxi.md 8a", "esxi.md 8b", "esxi.md 8c", "esxi.md 3b")
def test_plug_ins_probe(server, nfs, root):
    """KNOWN: vendors' plug-ins try procedures and programs of their own on every server, from
    unreserved ports. One connection hears one "unavailable" after the other and is used
    afterwards."""
    connection = server.connect(source_port=0)
    for program, version, procedure in ((nfs3.PROGRAM, 3, 22), (nfs3.PROGRAM, 3, 23),
                                        (nfs3.PROGRAM, 3, 100), (400010, 1, 0), (0x2000BEEF, 1, 3),
                                        (nfs3.PROGRAM, 99, 0)):
        header = connection.call_rpc(program, version, procedure, b"", server.cred)
        assert header.accept_stat in (rpc.PROC_UNAVAIL, rpc.PROG_UNAVAIL, rpc.PROG_MISMATCH,
                                      rpc.GARBAGE_ARGS), \
            "program %d version %d procedure %d: %s" % (program, version, procedure, header)
    server.nfs(connection=connection).getattr(root).ok()
    connection.close()


# -------------------------------------------------------------------- a machine and its disks

@rule("esxi.md 19a", "esxi.md 19b", "esxi.md 20a", "esxi.md 20c", "esxi.md 2a")
def test_creating_a_machine(nfs, home):
    """A folder, a descriptor and a thin disk. KNOWN: the flat file is grown by SETATTR in steps of
    10 GiB right after its creation, to terabytes, and must stay sparse. ASSUMED: 2 TiB, the
    names."""
    folder = nfs.new_dir(home, b"vm")
    descriptor = nfs.new_file(folder, b"vm.vmdk", mode=0o600)
    nfs.write(descriptor, 0, DESCRIPTOR).ok()
    free = nfs.fsstat(folder).ok().abytes
    flat = nfs.new_file(folder, b"vm-flat.vmdk", mode=0o600)
    for size in range(10 * GIB, 2048 * GIB + 1, 10 * GIB):
        nfs.setattr(flat, size=size).ok()
    nfs.setattr(flat, size=2048 * GIB).ok()
    reply = nfs.getattr(flat).ok()
    reply.expect(reply.attr.size == 2048 * GIB, "a size of 2 TiB")
    reply.expect(reply.attr.used < 16 << 20, "next to nothing used")
    after = nfs.fsstat(folder).ok().abytes
    assert free - after < GIB, "the sparse disk took %d bytes" % (free - after)
    tail = nfs.read(flat, 2048 * GIB - 512, 512).ok()
    tail.expect((tail.count, tail.eof, tail.data) == (512, True, bytes(512)), "512 zeros and eof")
    nfs.write(flat, 1024 * GIB, b"\x55" * 4096).ok()
    middle = nfs.read(flat, 1024 * GIB - 512, 5120).ok()
    middle.expect(middle.data == bytes(512) + b"\x55" * 4096 + bytes(512),
                  "the block between zeros")
    assert nfs.read_all(descriptor) == DESCRIPTOR


@rule("esxi.md 19a")
def test_removing_a_large_sparse_disk_is_quick(nfs, home):
    """ASSUMED: a host gives a REMOVE of 2 TiB of nothing a few seconds."""
    flat = nfs.new_file(home, b"vm-flat.vmdk")
    nfs.setattr(flat, size=2048 * GIB).ok()
    start = time.monotonic()
    nfs.remove(home, b"vm-flat.vmdk").ok()
    assert time.monotonic() - start < 5, "REMOVE took %.1f s" % (time.monotonic() - start)


@rule("esxi.md 20a", "esxi.md 18a")
def test_thick_disk_is_thick(nfs, home):
    """A disk whose blocks were written as zeros: those bytes are on the disk, or the server stores
    zeros as holes and says so in `used`; they read as zeros in both cases."""
    flat = nfs.new_file(home, b"vm-flat.vmdk")
    nfs.setattr(flat, size=8 << 20).ok()
    for at in range(0, 8 << 20, 1 << 20):
        nfs.write(flat, at, bytes(1 << 20), UNSTABLE).ok()
    nfs.commit(flat).ok()
    reply = nfs.getattr(flat).ok()
    reply.expect(reply.attr.size == 8 << 20 and reply.attr.used <= 16 << 20, "8 MiB, honestly used")
    assert nfs.read_all(flat, 1 << 20) == bytes(8 << 20)


@rule("esxi.md 17a", "esxi.md 17b", "esxi.md 21a", "esxi.md 21b")
def test_powering_on(nfs, home):
    """ASSUMED: the guest reads the boot sector, then runs of 512 bytes to 64 KiB all over the disk,
    and the swap file appears. Every READ inside the disk is full; eof only at its end."""
    disk = os.urandom(1 << 20)
    flat = nfs.new_file(home, b"vm-flat.vmdk", disk)
    for offset, count in ((0, 512), (512, 512), (0, 4096), (1024, 8192), (65536, 65536),
                          (123 * 512, 7 * 512), (0, 65536), ((1 << 20) - 65536, 65536),
                          ((1 << 20) - 512, 512)):
        reply = nfs.read(flat, offset, count).ok()
        reply.expect((reply.count, reply.eof) == (count, offset + count == 1 << 20),
                     "count=%d eof=%s" % (count, offset + count == 1 << 20))
        assert reply.data == disk[offset:offset + count]
    swap = nfs.new_file(home, b"vm-1a2b3c4d.vswp", mode=0o600)
    nfs.setattr(swap, size=4 * GIB).ok()
    assert nfs.read(swap, 0, 4096).ok().data == bytes(4096)


@rule("esxi.md 18a", "RFC 1813 3.3.14")
def test_rewriting_the_configuration(nfs, home):
    """ASSUMED: .vmx files are rewritten as a new file that is renamed over the old one, so that a
    host that dies leaves one or the other."""
    old = nfs.new_file(home, b"vm.vmx", b"generation 0")
    for generation in range(1, 20):
        text = b"generation %d" % generation
        new = nfs.new_file(home, b"vm.vmx~", mode=0o755)
        nfs.write(new, 0, text, FILE_SYNC).ok()
        nfs.rename(home, b"vm.vmx~", home, b"vm.vmx").ok()
        assert nfs.read_all(nfs.find(home, b"vm.vmx")) == text
        nfs.getattr(old).fails(NFS3ERR_STALE)
        old = new
    assert nfs.names(home) == [b"vm.vmx"]


@rule("esxi.md 10b", "RFC 1813 3.3.14")
def test_snapshot(nfs, home):
    """ASSUMED: taking a snapshot renames nothing that is open but the descriptor, and makes a delta
    file beside it; consolidating renames back. KNOWN: handles in use stay good through renames."""
    descriptor = nfs.new_file(home, b"vm.vmdk", DESCRIPTOR)
    flat = nfs.new_file(home, b"vm-flat.vmdk", b"base" * 1000)
    nfs.rename(home, b"vm.vmdk", home, b"vm-base.vmdk").ok()
    delta = nfs.new_file(home, b"vm-000001-delta.vmdk")
    nfs.setattr(delta, size=16 << 20).ok()
    nfs.new_file(home, b"vm.vmdk", DESCRIPTOR.replace(b"vm-flat", b"vm-000001-delta"))
    assert nfs.read_all(flat) == b"base" * 1000
    assert nfs.read_all(descriptor) == DESCRIPTOR
    nfs.write(delta, 65536, b"new blocks").ok()
    nfs.rename(home, b"vm-base.vmdk", home, b"vm.vmdk").ok()
    nfs.remove(home, b"vm-000001-delta.vmdk").ok()
    assert nfs.find(home, b"vm.vmdk") == descriptor
    assert nfs.names(home) == [b"vm-flat.vmdk", b"vm.vmdk"]


@rule("esxi.md 21a", "esxi.md 18b")
def test_copying_a_disk(nfs, home):
    """Without offload a host copies a disk through itself: READs and UNSTABLE WRITEs of up to 1
    MiB, COMMIT at the end, every verifier the same - or it would have to begin again."""
    size = 1 << 20
    data = [os.urandom(size) for _ in range(8)]
    source, target = nfs.new_file(home, b"source"), nfs.new_file(home, b"target")
    for i, chunk in enumerate(data):
        nfs.write(source, i * size, chunk, UNSTABLE).ok()
    nfs.commit(source).ok()
    verifiers = set()
    for i in range(len(data)):
        reply = nfs.read(source, i * size, size).ok()
        reply.expect(reply.count == size, "count=%d" % size)
        verifiers.add(nfs.write(target, i * size, reply.data, UNSTABLE).ok().verf)
    verifiers.add(nfs.commit(target).ok().verf)
    assert len(verifiers) == 1, "several verifiers: %s" % verifiers
    assert nfs.read_all(target, size) == b"".join(data)


@rule("esxi.md 5a", "esxi.md 18b")
def test_nconnect(server, nfs, home):
    """KNOWN: from 8.0U2 a host spreads the calls of one file over up to eight connections. What was
    written over one is read over another as soon as it was answered, and committed over a third."""
    flat = nfs.new_file(home, b"vm-flat.vmdk")
    clients = [server.nfs() for _ in range(8)]
    for i in range(64):
        block = os.urandom(4096)
        clients[i % 8].write(flat, i * 4096, block, UNSTABLE).ok()
        reply = clients[(i + 3) % 8].read(flat, i * 4096, 4096).ok()
        reply.expect(reply.data == block, "what was just written over another connection")
    clients[5].commit(flat).ok()
    for client in clients:
        client.connection.close()


# ------------------------------------------------------------------------ locks and heartbeats

@rule("esxi.md 14a", "esxi.md 14b", "esxi.md 15b")
def test_two_hosts_want_one_disk(host_a, host_b, home):
    """KNOWN: a lock is the file .lck-<fileid, 16 hex digits of its little-endian bytes>, made by
    CREATE GUARDED beside the disk, refreshed by WRITEs of 84 bytes. The host that loses sees who
    won."""
    flat = host_a.new_file(home, b"vm-flat.vmdk")
    name = lock_name(host_a.attributes(flat).fileid)
    assert name == lock_name(host_b.attributes(host_b.find(home, b"vm-flat.vmdk")).fileid), \
        "the two hosts see different fileids"
    lock = host_a.handle_of_new(host_a.create(home, name, GUARDED, mode=0o644), home, name)
    host_a.write(lock, 0, lock_block(1, 0)).ok()
    host_b.create(home, name, GUARDED, mode=0o644).fails(NFS3ERR_EXIST)
    seen = host_b.find(home, name)
    assert seen == lock, "the hosts see different handles of one lock"
    for beat in range(1, 10):
        reply = host_a.write(lock, 0, lock_block(1, beat), FILE_SYNC).ok()
        reply.expect((reply.count, reply.committed) == (84, FILE_SYNC), "84 bytes, FILE_SYNC")
        got = host_b.read(seen, 0, 84).ok()
        got.expect((got.data, got.eof) == (lock_block(1, beat), True), "beat %d" % beat)
    host_a.remove(home, name).ok()
    host_b.read(seen, 0, 84).fails(NFS3ERR_STALE)
    host_b.create(home, name, GUARDED, mode=0o644).ok()


@rule("esxi.md 14b")
def test_many_hosts_want_one_lock(server, nfs, home):
    """Sixteen hosts ask at the same moment, twenty times: each time exactly one gets the lock."""
    for round in range(20):
        name = lock_name(0x1000 + round)
        outcomes = in_parallel(server, 16, lambda client, i: client.create(
            home, name, GUARDED, mode=0o644).status)
        assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_EXIST": 15}, "round %d: %s" % (
            round, tally(outcomes))


@rule("esxi.md 14a", "esxi.md 14b", "esxi.md 10c")
def test_taking_over_a_stale_lock(server, host_b, home):
    """Host A vanishes with its lock; host B watches it, sees no beat and takes over. KNOWN: a lock
    is stale after about 35 s (shortened here). ASSUMED: B renames the stale lock away - of several
    that try, one succeeds - and makes its own."""
    host_a = server.nfs()
    flat = host_a.new_file(home, b"vm-flat.vmdk", b"disk")
    name = lock_name(host_a.attributes(flat).fileid)
    lock = host_a.new_file(home, name, lock_block(1, 7))
    host_a.connection.reset()
    host_c = server.nfs()
    assert host_b.read(lock, 0, 84).ok().data == host_c.read(lock, 0, 84).ok().data
    outcomes = [client.rename(home, name, home, b".stale-%d" % i).status
                for i, client in enumerate((host_b, host_c))]
    assert tally(outcomes) == {"NFS3_OK": 1, "NFS3ERR_NOENT": 1}, tally(outcomes)
    host_b.create(home, name, GUARDED, mode=0o644).ok()
    host_c.create(home, name, GUARDED, mode=0o644).fails(NFS3ERR_EXIST)
    assert host_b.read_all(flat) == b"disk"
    host_c.connection.close()


@rule("esxi.md 15a", "esxi.md 15b")
def test_lock_refresh_under_load(server, nfs, home):
    """KNOWN: a refresh that takes 35 s costs a running machine its disk; the target is one second,
    under any load. Four seconds of bulk writing and reading over four connections beside it."""
    lock = nfs.new_file(home, lock_name(42), lock_block(1, 0))
    bulk = Bulk(server, nfs, home)
    times = []
    deadline = time.monotonic() + 4
    beat = 0
    while time.monotonic() < deadline:
        beat += 1
        start = time.monotonic()
        nfs.write(lock, 0, lock_block(1, beat), FILE_SYNC).ok()
        times.append(time.monotonic() - start)
        time.sleep(0.05)
    bulk.stop()
    assert bulk.done_bytes > 4 << 20, "the load was none: %d bytes" % bulk.done_bytes
    assert max(times) < 1, "of %d refreshes the slowest took %.2f s" % (len(times), max(times))
    assert nfs.read(lock, 0, 84).ok().data == lock_block(1, beat)


@rule("esxi.md 16a")
def test_heartbeat_under_load(server, nfs, root, home):
    """KNOWN: the heartbeat is GETATTR of the root; 125 s without an answer mark the datastore down.
    It takes less than a second beside bulk traffic and a crowd of synchronous writers."""
    bulk = Bulk(server, nfs, home)
    sync = server.nfs()
    handle = nfs.new_file(home, b"sync")
    times = []
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        pending = [sync.start("WRITE", file=handle, offset=i * 4096, data=bytes(4096))
                   for i in range(16)]
        start = time.monotonic()
        nfs.getattr(root).ok()
        times.append(time.monotonic() - start)
        for call in pending:
            sync.wait(call).ok()
    bulk.stop()
    sync.connection.close()
    assert max(times) < 1, "of %d heartbeats the slowest took %.2f s" % (len(times), max(times))


# ------------------------------------------------------------------- paths, hosts and failures

@rule("esxi.md 6a")
@pytest.mark.parametrize("how", ["closed", "reset", "vanished"])
def test_source_port_is_used_again(server, root, how):
    """KNOWN: after a path flip a host connects again from the port it had. The old connection may
    have ended in order, by a reset, or - the server does not know yet - not at all."""
    first = server.nfs()
    first.getattr(root).ok()
    first.start("GETATTR", file=root)
    port = first.connection.source_port
    if how == "closed":
        first.connection.sock.shutdown(2)
        first.connection.hung_up(2)
        first.connection.reset()
    elif how == "reset":
        first.connection.reset()
    else:
        try:
            first.connection.vanish()
        except PermissionError:
            pytest.skip("making a connection vanish needs CAP_NET_ADMIN")
    start = time.monotonic()
    try:
        second = server.connect(source_port=port)
    except rpc.ConnectionLost as error:
        if how == "closed" and "in use" in str(error):
            pytest.skip("this machine keeps the port for itself")
        raise
    client = server.nfs(connection=second)
    client.getattr(root).ok()
    passed = time.monotonic() - start
    client.connection.reset()
    assert passed < 5, "it took %.1f s to be served again" % passed


@rule("esxi.md 10c", "esxi.md 16c")
def test_host_failover(server, nfs, home):
    """Host A dies; host B, which never looked anything up itself, goes on with the handles from the
    machine's memory: same bytes, same file."""
    host_a = server.nfs()
    flat = host_a.new_file(home, b"vm-flat.vmdk", os.urandom(65536))
    data = host_a.read(flat, 0, 65536).ok().data
    for i in range(8):
        host_a.start("WRITE", file=flat, offset=65536 + i * 4096, data=b"%04d" % i * 1024)
    host_a.connection.reset()
    host_b = server.nfs()
    assert host_b.read(flat, 0, 65536).ok().data == data
    host_b.write(flat, 0, b"host B").ok()
    tail = host_b.read(flat, 65536, 32768).ok()
    for i in range(len(tail.data) // 4096):
        block = tail.data[i * 4096:(i + 1) * 4096]
        assert block in (b"%04d" % i * 1024, bytes(4096)), "block %d is torn" % i
    host_b.connection.close()


@rule("esxi.md 7a")
def test_machine_removed_by_another_host(host_a, host_b, home):
    """KNOWN: NFS3ERR_STALE with the connection kept; a server that closed it took hosts off
    vCenter. Fifty stale calls in a row on one connection, good ones between them."""
    flat = host_a.new_file(home, b"vm-flat.vmdk", b"disk")
    alive = host_a.new_file(home, b"other.vmdk", b"alive")
    host_b.remove(home, b"vm-flat.vmdk").ok()
    for i in range(50):
        host_a.write(flat, 0, b"late", UNSTABLE).fails(NFS3ERR_STALE)
        host_a.read(flat, 0, 4).fails(NFS3ERR_STALE)
        host_a.getattr(flat).fails(NFS3ERR_STALE)
        assert host_a.read(alive, 0, 5).ok().data == b"alive"


@rule("esxi.md 13a", "esxi.md 14c")
def test_browsing_a_datastore(nfs, home):
    """The datastore browser: READDIRPLUS in pages of 4 KiB to the end, and past it; names, sizes
    and types right, dot-files and locks shown."""
    expected = {}
    for i in range(60):
        name = b"machine-%02d" % i
        folder = nfs.new_dir(home, name)
        expected[name] = nfs.attributes(folder).fileid
        lock = lock_name(expected[name])
        expected[lock] = nfs.attributes(nfs.new_file(home, lock, lock_block(1, 1))).fileid
    got, cookie, verf = {}, 0, bytes(8)
    while True:
        reply = nfs.readdirplus(home, cookie, verf, 4096, 4096).ok()
        for entry in reply.entries:
            got[entry.name] = entry.fileid
        if reply.entries:
            cookie, verf = reply.entries[-1].cookie, reply.verf
        if reply.eof:
            break
    assert {n: i for n, i in got.items() if n not in (b".", b"..")} == expected
    for old in (verf, bytes(8)):
        reply = nfs.readdirplus(home, cookie, old, 4096, 4096).ok()
        reply.expect(not reply.entries and reply.eof, "nothing and eof")


@rule("esxi.md 2a")
def test_uid_0_does_everything(nfs, home, as_root):
    """KNOWN: a host acts as uid 0. Files of others are read, written, renamed, given away,
    removed."""
    handle = nfs.new_file(home, b"theirs", b"x", mode=0o600, uid=1000, gid=1000)
    nfs.setattr(handle, uid=1000, gid=1000, mode=0o400).ok()
    nfs.write(handle, 0, b"y").ok()
    assert nfs.read_all(handle) == b"y"
    closed = nfs.new_dir(home, b"closed", mode=0)
    nfs.rename(home, b"theirs", closed, b"mine").ok()
    nfs.setattr(handle, uid=0, gid=0, mode=0o644).ok()
    nfs.remove(closed, b"mine").ok()


@rule("esxi.md 14b", "RFC 1813 3.3.8")
def test_unchecked_create_of_a_log(nfs, home):
    """ASSUMED: logs are opened by CREATE UNCHECKED, again and again; what is in them stays."""
    for i in range(5):
        handle = nfs.handle_of_new(nfs.create(home, b"vmware.log", UNCHECKED, mode=0o644), home,
                                   b"vmware.log")
        size = nfs.attributes(handle).size
        assert size == i * 10, "after %d openings: %d bytes" % (i, size)
        nfs.write(handle, size, b"line %04d\n" % i).ok()
