# SPDX-License-Identifier: Apache-2.0
"""A short soak: random traffic that is checked against a model, for --soak-seconds each.

The random seed is printed by a failure; --soak-seed N repeats it."""
import os
import random
import threading
import time

import pytest

import rpc
from nfs3 import (DATA_SYNC, FILE_SYNC, GUARDED, NFS3_OK, NFS3ERR_EXIST, NFS3ERR_NOENT,
                  NFS3ERR_NOTEMPTY, UNCHECKED, UNSTABLE)

rule = pytest.mark.rule


@pytest.fixture
def seed(server):
    return server.options.soak_seed or random.SystemRandom().randrange(1, 1 << 31)


@pytest.fixture
def until(server):
    return time.monotonic() + server.options.soak_seconds


@rule("esxi.md 18a", "esxi.md 18b", "esxi.md 17a", "defects.md RPC 9b")
def test_file_content(server, nfs, home, seed, until):
    """One file, random WRITEs of all levels and sizes, truncations, READs, COMMITs, over four
    connections in turn: every byte read is what the model has."""
    chance = random.Random(seed)
    clients = [server.nfs() for _ in range(4)]
    handle, model, steps = nfs.new_file(home, b"f"), bytearray(), 0
    while time.monotonic() < until:
        client, steps = chance.choice(clients), steps + 1
        action = chance.random()
        offset = chance.randrange(0, 1 << 20)
        size = chance.choice((1, 84, 512, 4096, 5000, 65536, 200000))
        if action < 0.45:
            data = chance.randbytes(size)
            reply = client.write(handle, offset, data,
                                 chance.choice((UNSTABLE, UNSTABLE, DATA_SYNC, FILE_SYNC))).ok()
            if offset > len(model):
                model += bytes(offset - len(model))
            model[offset:offset + reply.count] = data[:reply.count]
        elif action < 0.85:
            reply = client.read(handle, offset, size).ok()
            expected = bytes(model[offset:offset + size])
            eof = offset + size >= len(model)
            reply.expect((reply.data == expected, reply.eof) == (True, eof),
                         "%d bytes of the model, eof=%s (seed %d, step %d)" % (
                             len(expected), eof, seed, steps))
        elif action < 0.9:
            client.commit(handle).ok()
        elif action < 0.95:
            reply = client.getattr(handle).ok()
            reply.expect(reply.attr.size == len(model), "size %d (seed %d, step %d)"
                         % (len(model), seed, steps))
        else:
            client.setattr(handle, size=offset).ok()
            model = model[:offset] + bytes(max(0, offset - len(model)))
    assert nfs.read_all(handle, 1 << 20) == bytes(model), "seed %d, after %d steps" % (seed, steps)
    for client in clients:
        client.connection.close()


@rule("RFC 1813 3.3.14", "defects.md Directories 1a", "esxi.md 10b")
def test_names(server, nfs, home, seed, until):
    """Two directories, random creations, removals, renames and links: after each the answer is the
    model's, and again and again the whole listing is."""
    chance = random.Random(seed)
    dirs = [nfs.new_dir(home, b"one"), nfs.new_dir(home, b"two")]
    model = [{}, {}]  # name -> fileid
    steps = 0
    while time.monotonic() < until:
        steps += 1
        here, there = chance.randrange(2), chance.randrange(2)
        name, other = b"n%02d" % chance.randrange(30), b"n%02d" % chance.randrange(30)
        action = chance.random()
        where = "seed %d, step %d" % (seed, steps)
        if action < 0.3:
            reply = nfs.create(dirs[here], name, chance.choice((GUARDED, UNCHECKED)), mode=0o644)
            if name in model[here]:
                if reply.status != NFS3ERR_EXIST:
                    fileid = nfs.attributes(nfs.handle_of_new(reply, dirs[here], name)).fileid
                    reply.expect(fileid == model[here][name], "the existing file (%s)" % where)
            else:
                handle = nfs.handle_of_new(reply, dirs[here], name)
                model[here][name] = nfs.attributes(handle).fileid
        elif action < 0.5:
            reply = nfs.remove(dirs[here], name)
            expected = NFS3_OK if model[here].pop(name, None) else NFS3ERR_NOENT
            reply.expect(reply.status == expected, "as the model has it (%s)" % where)
        elif action < 0.75:
            reply = nfs.rename(dirs[here], name, dirs[there], other)
            if name not in model[here]:
                reply.fails(NFS3ERR_NOENT)
            else:
                reply.ok()
                if model[there].get(other) != model[here][name]:
                    model[there][other] = model[here].pop(name)
        elif action < 0.85:
            if name in model[here]:
                reply = nfs.link(nfs.find(dirs[here], name), dirs[there], other)
                if other in model[there]:
                    reply.fails(NFS3ERR_EXIST)
                else:
                    reply.ok()
                    model[there][other] = model[here][name]
        else:
            reply = nfs.lookup(dirs[here], name)
            reply.expect(reply.status == (NFS3_OK if name in model[here] else NFS3ERR_NOENT),
                         "as the model has it (%s)" % where)
        if steps % 50 == 0:
            for i in (0, 1):
                got = {e.name: e.fileid for e in nfs.list(dirs[i], plus=bool(steps % 100))
                       if e.name not in (b".", b"..")}
                assert got == model[i], "%s: directory %d is %s, expected %s" % (where, i, got,
                                                                                  model[i])
    reply = nfs.rmdir(home, b"one")
    reply.expect(reply.status == (NFS3ERR_NOTEMPTY if model[0] else NFS3_OK), "NOTEMPTY, or OK")


@rule("defects.md RPC 9a", "defects.md Duplicates 1a", "esxi.md 5c")
def test_everything_at_once(server, nfs, home, seed, until):
    """Six connections at once, each with its own directory and files, some breaking off in the
    middle and coming back: everybody goes on finding what is his."""
    troubles = []

    def host(number):
        chance, client = random.Random(seed + number), server.nfs()
        try:
            own = client.new_dir(home, b"host-%d" % number)
            content = {}
            while time.monotonic() < until and not troubles:
                name = b"f%d" % chance.randrange(20)
                action = chance.random()
                if action < 0.4:
                    data = chance.randbytes(chance.choice((10, 4096, 70000)))
                    reply = client.create(own, name, UNCHECKED, mode=0o644, size=0)
                    handle = client.handle_of_new(reply, own, name)
                    client.write_all(handle, data, stable=chance.choice((UNSTABLE, FILE_SYNC)))
                    content[name] = data
                elif action < 0.7 and name in content:
                    got = client.read_all(client.find(own, name))
                    assert got == content[name], "host %d, %r: %d bytes instead of %d" % (
                        number, name, len(got), len(content[name]))
                elif action < 0.8 and name in content:
                    client.remove(own, name).ok()
                    del content[name]
                elif action < 0.95:
                    assert client.names(own) == sorted(content), "host %d: another listing" % number
                else:
                    for _ in range(4):
                        client.start("READDIRPLUS", dir=own)
                    client.connection.reset()
                    client = server.nfs()
            client.connection.close()
        except Exception as error:
            troubles.append("host %d (seed %d): %s" % (number, seed, error))

    threads = [threading.Thread(target=host, args=(i,), daemon=True) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(server.options.soak_seconds + 30)
    assert not troubles, troubles[0]
    nfs.getattr(home).ok()


@rule("esxi.md 18d", "defects.md Durability 3a")
def test_verifier_all_along(server, nfs, home, seed, until):
    """Writing, committing and removing files for a while: the verifier never changes."""
    chance, verifiers, number = random.Random(seed), set(), 0
    while time.monotonic() < until:
        number += 1
        handle = nfs.new_file(home, b"f%d" % number)
        for _ in range(chance.randrange(1, 5)):
            verifiers.add(nfs.write(handle, chance.randrange(1 << 20), os.urandom(4096),
                                    chance.choice((UNSTABLE, FILE_SYNC))).ok().verf)
        verifiers.add(nfs.commit(handle).ok().verf)
        nfs.remove(home, b"f%d" % number).ok()
    assert len(verifiers) == 1, "after %d files there were %d verifiers" % (number, len(verifiers))


@rule("defects.md RPC 1c", "defects.md RPC 8a", "defects.md RPC 4i")
def test_among_vandals(server, nfs, home, seed, until):
    """Connections with noise, half records and unread replies come and go; a good client's
    FILE_SYNC WRITEs and READs stay right and quick."""
    chance, vandals, slowest = random.Random(seed), [], 0
    handle = nfs.new_file(home, b"f")
    nfs.write(handle, 0, bytes(1 << 16)).ok()
    while time.monotonic() < until:
        try:
            vandal = server.connect()
            vandals.append(vandal)
            kind = chance.randrange(4)
            if kind == 0:
                vandal.send_raw(chance.randbytes(chance.randrange(1, 500)))
            elif kind == 1:
                vandal.send_raw(b"\x80\x00\x40\x00" + bytes(chance.randrange(2000)))
            elif kind == 2:
                for _ in range(20):
                    vandal.send(nfs.message("READ", file=handle, offset=0, count=1 << 16))
            else:
                vandal.send(nfs.message("WRITE", file=handle, offset=1 << 20,
                                        data=b"v" * 1000)[:200])
        except rpc.ConnectionLost:
            pass
        while len(vandals) > 40:
            vandals.pop(chance.randrange(len(vandals))).reset()
        text = b"%08d" % chance.randrange(10 ** 8)
        start = time.monotonic()
        nfs.write(handle, 0, text).ok()
        reply = nfs.read(handle, 0, 8).ok()
        slowest = max(slowest, time.monotonic() - start)
        reply.expect(reply.data == text, "%r (seed %d)" % (text, seed))
    for vandal in vandals:
        vandal.reset()
    assert slowest < 2, "the slowest WRITE and READ took %.2f s (seed %d)" % (slowest, seed)
