# SPDX-License-Identifier: Apache-2.0
"""Many calls, many connections, clients that behave badly: esxi.md 5, defects.md RPC 7 to 9."""
import os
import random
import resource
import socket
import threading
import time

import pytest

import rpc
from nfs3 import FILE_SYNC, NFS3_OK, UNSTABLE

rule = pytest.mark.rule


@pytest.fixture
def many_descriptors():
    """Let this process have as many sockets as the machine allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def latency(nfs, handle, rounds=20):
    """The longest of so many GETATTRs, in seconds."""
    longest = 0
    for _ in range(rounds):
        start = time.monotonic()
        nfs.getattr(handle).ok()
        longest = max(longest, time.monotonic() - start)
    return longest


@pytest.mark.parametrize("count", [128, 512, 2000])
@rule("esxi.md 5b", "esxi.md 5d")
def test_calls_in_flight(nfs, home, count):
    """So many calls on one connection before the first reply is read: each gets its answer."""
    pending = [nfs.start("GETATTR", file=home) for _ in range(count)]
    fileids = {nfs.wait(call).ok().attr.fileid for call in pending}
    assert len(fileids) == 1
    assert nfs.connection.silent(0.02), "more replies than calls"


@rule("esxi.md 5b", "esxi.md 5d")
def test_mixed_calls_in_flight(nfs, home):
    """128 calls of all kinds in flight; each answer belongs to its call."""
    files = [nfs.new_file(home, b"f%d" % i, b"%03d" % i * 1000) for i in range(16)]
    chance, pending = random.Random(3), []
    for n in range(128):
        i = chance.randrange(16)
        pending.append((i, chance.choice((
            lambda: nfs.start("READ", file=files[i], offset=0, count=3),
            lambda: nfs.start("GETATTR", file=files[i]),
            lambda: nfs.start("LOOKUP", dir=home, name=b"f%d" % i),
            lambda: nfs.start("WRITE", file=files[i], offset=100000, data=b"tail"),
            lambda: nfs.start("COMMIT", file=files[i]),
            lambda: nfs.start("ACCESS", file=files[i], access=1)))()))
    for i, call in reversed(pending):
        reply = nfs.wait(call).ok()
        if call.procedure == "READ":
            reply.expect(reply.data == b"%03d" % i, "the first bytes of file %d" % i)
        elif call.procedure == "LOOKUP":
            reply.expect(reply.fh == files[i], "the handle of file %d" % i)


@rule("esxi.md 5a", "esxi.md 5b")
def test_eight_connections_of_128_calls(server, home):
    """nconnect=8 with 128 calls in flight on each."""
    clients = [server.nfs() for _ in range(8)]
    pending = [(client, client.start("GETATTR", file=home)) for _ in range(128)
               for client in clients]
    for client, call in pending:
        client.wait(call).ok()
    for client in clients:
        client.connection.close()


@rule("esxi.md 5c", "defects.md RPC 7a")
def test_256_connections(server, nfs, home, many_descriptors):
    """A host with 256 connections is served on each, the first and the last."""
    clients = [server.nfs() for _ in range(256)]
    for client in clients:
        client.getattr(home).ok()
    for client in reversed(clients):
        client.getattr(home).ok()
    nfs.getattr(home).ok()
    for client in clients:
        client.connection.close()


@rule("defects.md RPC 7a", "defects.md RPC 7b")
def test_more_connections_than_anybody_needs(server, nfs, home, many_descriptors):
    """Fifteen hundred connections: taken, queued or refused, but those that were there go on, and
    when the crowd has gone, new ones get in."""
    crowd = []
    try:
        for _ in range(min(1500, many_descriptors - 200)):
            crowd.append(server.connect(timeout=0.5))
    except (rpc.ConnectionLost, OSError):
        pass
    longest = latency(nfs, home)
    for connection in crowd:
        connection.reset()
    assert longest < 2, "beside %d connections a GETATTR took %.1f s" % (len(crowd), longest)
    deadline = time.monotonic() + 10
    while not server.answers(1.0):
        assert time.monotonic() < deadline, "10 s after the crowd went, no new connection is served"


@rule("defects.md RPC 7d")
def test_one_address_cannot_take_all(server, home, many_descriptors):
    """However many connections one address holds, another address still gets in."""
    if not server.options.second_address:
        pytest.skip("needs --second-address")
    crowd = []
    try:
        for _ in range(min(3000, many_descriptors - 200)):
            crowd.append(server.connect(timeout=0.5))
    except (rpc.ConnectionLost, OSError):
        pass
    connection = server.connect(source_address=server.options.second_address, timeout=5)
    server.nfs(connection=connection).getattr(home).ok()
    connection.close()
    for each in crowd:
        each.reset()


@rule("defects.md RPC 7b")
def test_connections_that_come_and_go(server, nfs, home):
    """Five hundred connections, one after the other, some used, some not, some reset."""
    chance = random.Random(5)
    for _ in range(500):
        connection = server.connect()
        if chance.random() < 0.5:
            server.nfs(connection=connection).getattr(home).ok()
        if chance.random() < 0.5:
            connection.reset()
        else:
            connection.close()
    nfs.getattr(home).ok()


@rule("defects.md RPC 9a")
def test_connections_lost_with_calls_in_flight(server, nfs, home):
    """Connections that go while their calls run: no reply ends up with somebody else, and what was
    written is written whole or not at all, with nothing of what another sent."""
    handle = nfs.new_file(home, b"f")
    clients, blocks, size = 60, 8, 65536
    for i in range(clients):
        client = server.nfs()
        for n in range(blocks):  # each its own: whose write is the last is nobody's promise
            offset = (i * blocks + n) * size
            client.start("WRITE", file=handle, offset=offset, data=bytes([i + 1]) * size,
                         stable=FILE_SYNC)
            client.start("READ", file=handle, offset=offset, count=size)
        client.connection.reset()
        nfs.getattr(handle).ok()
        assert nfs.connection.silent(0), "a reply came that nobody here asked for"
    before, now = None, nfs.getattr(handle).ok().attr.mtime
    while now != before:  # the last client's writes may still be under way
        time.sleep(0.5)
        before, now = now, nfs.getattr(handle).ok().attr.mtime
    written = 0
    for n in range(clients * blocks):
        block = nfs.read(handle, n * size, size).ok().data
        assert set(block) <= {n // blocks + 1} or set(block) == {0}, \
            "block %d is mixed of %s" % (n, sorted(set(block)))
        written += set(block) == {n // blocks + 1}
    assert written > 0, "nothing that was sent before a reset was ever written"


@pytest.mark.parametrize("clients", [1, 8])
@rule("defects.md RPC 8a")
def test_client_that_never_reads(server, nfs, home, clients):
    """Clients that ask for 100 MiB and read nothing harm nobody else; what they get later is in
    order, or they are cut off."""
    handle = nfs.new_file(home, b"big")
    nfs.write_all(handle, os.urandom(1 << 20), stable=UNSTABLE, chunk=1 << 20)
    greedy = [server.nfs() for _ in range(clients)]
    pending = [[client.start("READ", file=handle, offset=0, count=1 << 20) for _ in range(100)]
               for client in greedy]
    time.sleep(0.3)
    longest = latency(nfs, home, 50)
    assert longest < 1, "beside clients that do not read, a GETATTR took %.2f s" % longest
    try:
        for call in pending[0][:10]:
            reply = greedy[0].wait(call).ok()
            reply.expect(reply.count == 1 << 20, "count=1048576")
    except rpc.ConnectionLost:
        pass
    for client in greedy:
        client.connection.reset()
    nfs.getattr(home).ok()


@rule("defects.md RPC 8a", "esxi.md 16a")
def test_small_calls_beside_large_ones(server, nfs, home):
    """A GETATTR on one connection does not wait for 32 READs and WRITEs of 1 MiB on another."""
    handle = nfs.new_file(home, b"big")
    nfs.write_all(handle, bytes(1 << 20), stable=UNSTABLE, chunk=1 << 20)
    bulk = server.nfs()
    stop = threading.Event()
    troubles = []

    def pump():
        try:
            while not stop.is_set():
                calls = [bulk.start("READ", file=handle, offset=0, count=1 << 20) for _ in range(8)]
                calls += [bulk.start("WRITE", file=handle, offset=0, data=bytes(1 << 20),
                                     stable=UNSTABLE) for _ in range(4)]
                for call in calls:
                    bulk.wait(call).ok()
        except AssertionError as error:
            troubles.append(str(error))

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    time.sleep(0.2)
    longest = latency(nfs, home, 100)
    stop.set()
    thread.join(15)
    bulk.connection.close()
    assert not troubles, troubles[0]
    assert longest < 1, "the longest of 100 GETATTRs took %.2f s" % longest


@rule("defects.md RPC 9a")
def test_half_closed(server, nfs, home):
    """A client that says it will send no more still reads: it gets its reply, or the door."""
    client = server.nfs()
    call = client.start("GETATTR", file=home)
    client.connection.sock.shutdown(socket.SHUT_WR)
    try:
        client.wait(call).ok()
    except rpc.ConnectionLost:
        pass
    assert client.connection.hung_up(5), "the server keeps a connection that its client has ended"
    nfs.getattr(home).ok()


@rule("defects.md Descriptors 1a", "defects.md Descriptors 1d")
def test_more_files_than_descriptors(nfs, home):
    """Fifteen hundred files written, read and written again in turn: no call fails for good, and no
    file gets another's data."""
    count = 1500
    pending = [nfs.start("CREATE", dir=home, name=b"f%d" % i, how=1) for i in range(count)]
    handles = [nfs.handle_of_new(nfs.wait(call), home, b"f%d" % i)
               for i, call in enumerate(pending)]
    for start in range(0, count, 100):
        calls = [nfs.start("WRITE", file=handles[i], offset=0, data=b"%08d" % i, stable=UNSTABLE)
                 for i in range(start, start + 100)]
        for call in calls:
            nfs.wait(call).ok()
    order = list(range(count))
    random.Random(9).shuffle(order)
    for start in range(0, count, 100):
        part = order[start:start + 100]
        calls = [nfs.start("READ", file=handles[i], offset=0, count=100) for i in part]
        for i, call in zip(part, calls):
            reply = nfs.wait(call).ok()
            reply.expect(reply.data == b"%08d" % i, "%08d" % i)


@rule("defects.md RPC 9b")
def test_large_transfers_are_whole(server, nfs, home):
    """Eight connections write and read 4 MiB each in calls of 1 MiB: no part is short or mixed
    up."""
    rtmax = min(1 << 20, nfs.fsinfo(home).ok().rtmax)
    chunks = [[os.urandom(rtmax) for _ in range(4)] for _ in range(8)]
    clients = [server.nfs() for _ in range(8)]
    handles = [nfs.new_file(home, b"f%d" % i) for i in range(8)]
    calls = []
    for i, client in enumerate(clients):
        for n in range(4):
            calls.append((client, client.start("WRITE", file=handles[i], offset=n * rtmax,
                                               data=chunks[i][n], stable=UNSTABLE)))
    for client, call in calls:
        reply = client.wait(call).ok()
        reply.expect(reply.count == rtmax, "count=%d" % rtmax)
    for i, client in enumerate(clients):
        calls = [client.start("READ", file=handles[i], offset=n * rtmax, count=rtmax)
                 for n in range(4)]
        for n, call in enumerate(calls):
            reply = client.wait(call).ok()
            reply.expect(reply.data == chunks[i][n], "chunk %d of file %d" % (n, i))
        client.connection.close()


@rule("esxi.md 5d")
def test_order_is_not_assumed(server, nfs, home):
    """Dependent calls sent without waiting are each answered for itself: a LOOKUP right behind its
    CREATE finds the file or not, never half of it."""
    for i in range(50):
        name = b"f%d" % i
        create = nfs.start("CREATE", dir=home, name=name, how=1)
        lookup = nfs.start("LOOKUP", dir=home, name=name)
        handle = nfs.handle_of_new(nfs.wait(create), home, name)
        reply = nfs.wait(lookup)
        if reply.status == NFS3_OK:
            reply.expect(reply.fh == handle, "the handle of the file created")
        else:
            reply.fails(2)
