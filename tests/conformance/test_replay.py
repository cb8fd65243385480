# SPDX-License-Identifier: Apache-2.0
"""Duplicate requests: calls that are sent again (RFC 1813 section 4.5, defects.md Duplicate
requests).

A client sends a call again, byte by byte with the same xid, when it has seen no reply. A second
execution of REMOVE or CREATE would then give the wrong answer - and do the wrong thing."""
import pytest

import rpc
from nfs3 import (GUARDED, NF3FIFO, NFS3_OK, NFS3ERR_EXIST, NFS3ERR_NOENT, Sattr, UNSTABLE)

rule = pytest.mark.rule

# Every call that must not be executed twice: what it needs, and the call.
NON_IDEMPOTENT = {
    "CREATE": ([], dict(name=b"new", how=GUARDED, sattr=Sattr(mode=0o644))),
    "MKDIR": ([], dict(name=b"new", sattr=Sattr(mode=0o755))),
    "SYMLINK": ([], dict(name=b"new", target=b"t")),
    "MKNOD": ([], dict(name=b"new", type=NF3FIFO)),
    "REMOVE": (["file"], dict(name=b"old")),
    "RMDIR": (["dir"], dict(name=b"old")),
    "RENAME": (["file"], dict(from_name=b"old", to_name=b"new")),
    "LINK": (["file"], dict(name=b"new")),
}
EVERY_ONE = pytest.mark.parametrize("procedure", list(NON_IDEMPOTENT))


def prepared(nfs, home, procedure):
    """The bytes of the call, after what it needs was made."""
    needs, arguments = NON_IDEMPOTENT[procedure]
    arguments = dict(arguments)
    if "file" in needs:
        old = nfs.new_file(home, b"old", b"content")
    if "dir" in needs:
        nfs.new_dir(home, b"old")
    if procedure == "RENAME":
        arguments.update(from_dir=home, to_dir=home)
    else:
        arguments.update(dir=home)
    if procedure == "LINK":
        arguments.update(file=old)
    return nfs.message(procedure, **arguments)



@EVERY_ONE
@rule("defects.md Duplicates 1b", "RFC 1813 4.5")
def test_after_the_reply(nfs, home, procedure):
    """The same call again, after its reply, gets the same reply byte by byte, and is not
    executed."""
    message = prepared(nfs, home, procedure)
    first = nfs.connection.exchange(message)
    nfs.decode(first, procedure).ok()
    before = nfs.attributes(home)
    for _ in range(3):
        again = nfs.connection.exchange(message)
        nfs.decode(again, procedure, "%s, sent again" % procedure).ok()
        assert again.message == first.message, "another reply than the first:\n%s\n%s" % (
            first.message.hex(), again.message.hex())
    after = nfs.attributes(home)
    assert after.mtime == before.mtime, "the directory changed: it was executed again"


@EVERY_ONE
@rule("defects.md Duplicates 1a", "RFC 1813 4.5")
def test_while_it_runs(nfs, home, procedure):
    """The same call four times in one segment: every reply that comes is a success, at least one
    does."""
    message = prepared(nfs, home, procedure)
    nfs.connection.send_raw(rpc.frame(message) * 4)
    nfs.decode(nfs.connection.next_reply(), procedure).ok()
    try:
        for _ in range(3):
            nfs.decode(nfs.connection.next_reply(timeout=0.3), procedure,
                       "%s, sent four times at once" % procedure).ok()
    except rpc.NoAnswer:
        pass  # one answer for calls that ran together is enough


@EVERY_ONE
@rule("defects.md Duplicates 1b", "defects.md Duplicates 1c", "esxi.md 6a", "RFC 1813 4.5")
def test_over_a_new_connection(server, nfs, home, procedure):
    """The connection breaks after the reply; the client comes back from the same port and asks
    again."""
    message = prepared(nfs, home, procedure)
    first = server.connect()
    port = first.source_port
    original = first.exchange(message)
    nfs.decode(original, procedure).ok()
    first.reset()
    second = server.connect(source_port=port)
    again = second.exchange(message)
    second.reset()
    nfs.decode(again, procedure, "%s, sent again over a new connection" % procedure).ok()
    assert again.message == original.message, "another reply than the first"


@EVERY_ONE
@rule("defects.md Duplicates 1a", "defects.md Duplicates 1c", "RFC 1813 4.5")
def test_connection_lost_before_the_reply(server, nfs, home, procedure):
    """The connection breaks while the call runs; the client comes back from the same port: it gets
    the reply of the one execution, there. Eight times, for the server may see the two calls in any
    order: what arrived late over the dead connection must not draw the reply to itself."""
    for round in range(8):
        message = prepared(nfs, nfs.new_dir(home, b"round-%d" % round), procedure)
        first = server.connect()
        port = first.source_port
        first.send(message)
        first.reset()
        second = server.connect(source_port=port)
        reply = nfs.decode(second.exchange(message), procedure,
                           "%s, sent again after the connection was lost" % procedure)
        second.reset()
        reply.ok()


@rule("defects.md Duplicates 1b", "RFC 1813 4.5")
def test_an_error_is_kept_too(nfs, home):
    """A REMOVE that found nothing goes on finding nothing, though the file was made meanwhile."""
    message = nfs.message("REMOVE", dir=home, name=b"x")
    nfs.decode(nfs.connection.exchange(message), "REMOVE").fails(NFS3ERR_NOENT)
    nfs.new_file(home, b"x")
    again = nfs.decode(nfs.connection.exchange(message), "REMOVE", "REMOVE, sent again")
    again.fails(NFS3ERR_NOENT)
    nfs.lookup(home, b"x").ok()


@rule("defects.md Duplicates 1d")
@pytest.mark.parametrize("other", ["name", "procedure", "credential"])
def test_same_xid_another_call(nfs, home, as_root, other):
    """An xid that comes again with another call is another call, and gets its own answer."""
    nfs.new_file(home, b"one")
    nfs.new_file(home, b"two")
    nfs.decode(nfs.connection.exchange(nfs.message("REMOVE", xid=77, dir=home, name=b"one")),
               "REMOVE").ok()
    if other == "name":
        message = nfs.message("REMOVE", xid=77, dir=home, name=b"two")
        nfs.decode(nfs.connection.exchange(message), "REMOVE", "REMOVE('two') with the xid of "
                   "REMOVE('one')").ok()
        assert nfs.names(home) == []
    elif other == "procedure":
        message = nfs.message("RMDIR", xid=77, dir=home, name=b"one")
        nfs.decode(nfs.connection.exchange(message), "RMDIR", "RMDIR with the xid of REMOVE").fails(
            NFS3ERR_NOENT)
    else:
        message = nfs.as_user(1000, 1000).message("REMOVE", xid=77, dir=home, name=b"one")
        nfs.decode(nfs.connection.exchange(message), "REMOVE",
                   "the same REMOVE as another user").refused()


@rule("defects.md Duplicates 1d")
def test_same_xid_in_another_direction(nfs, home):
    """CREATE, REMOVE and CREATE again with one xid each in turn: the second CREATE is not the
    first."""
    for round in range(5):
        nfs.decode(nfs.connection.exchange(nfs.message(
            "CREATE", xid=5000 + round, dir=home, name=b"x", how=GUARDED, sattr=Sattr())),
            "CREATE").ok()
        nfs.decode(nfs.connection.exchange(nfs.message("REMOVE", xid=6000 + round, dir=home,
                                                       name=b"x")), "REMOVE").ok()
    assert nfs.names(home) == []


@rule("defects.md Duplicates 1d")
def test_two_clients_with_one_xid(server, nfs, home):
    """Two connections use the same xid for calls of their own at the same time: no reply is
    exchanged."""
    first, second = server.nfs(), server.nfs()
    for i in range(50):
        one = first.message("CREATE", xid=900 + i, dir=home, name=b"one-%d" % i, how=GUARDED,
                            sattr=Sattr(mode=0o600))
        two = second.message("CREATE", xid=900 + i, dir=home, name=b"two-%d" % i, how=GUARDED,
                             sattr=Sattr(mode=0o644))
        first.connection.send(one)
        second.connection.send(two)
        replies = [first.decode(first.connection.wait(900 + i), "CREATE").ok(),
                   second.decode(second.connection.wait(900 + i), "CREATE").ok()]
        for name, reply in zip((b"one-%d" % i, b"two-%d" % i), replies):
            handle = nfs.handle_of_new(reply, home, name)
            assert handle == nfs.find(home, name), "%s got the handle of the other" % name
    first.connection.close()
    second.connection.close()
    assert len(nfs.names(home)) == 100


@rule("defects.md Duplicates 1d")
def test_two_hosts_with_one_xid(server, nfs, home):
    """Two addresses send the very same GUARDED CREATE, xid included: one wins, the other hears
    EXIST."""
    if not server.options.second_address:
        pytest.skip("needs --second-address")
    message = nfs.message("CREATE", xid=4711, dir=home, name=b"lock", how=GUARDED,
                          sattr=Sattr(mode=0o644))
    nfs.decode(nfs.connection.exchange(message), "CREATE").ok()
    second = server.connect(source_address=server.options.second_address)
    nfs.decode(second.exchange(message), "CREATE", "the same CREATE from %s"
               % server.options.second_address).fails(NFS3ERR_EXIST)
    second.close()


@rule("defects.md Duplicates 1e")
@pytest.mark.parametrize("stable", [UNSTABLE, 2], ids=["unstable", "file_sync"])
def test_late_write_is_not_executed(nfs, fh, stable):
    """A WRITE sent again after its reply does not overwrite what was written since."""
    old = nfs.message("WRITE", file=fh, offset=0, data=b"old!", stable=stable)
    nfs.decode(nfs.connection.exchange(old), "WRITE").ok()
    nfs.write(fh, 0, b"new!", stable).ok()
    nfs.decode(nfs.connection.exchange(old), "WRITE", "the first WRITE, sent again").ok()
    data = nfs.read_all(fh)
    assert data == b"new!", "expected what was written last, got %r" % data


@rule("defects.md Duplicates 1e")
def test_write_sent_twice_at_once(nfs, fh):
    """A WRITE that comes twice while it runs is answered with success, and its data are there."""
    message = nfs.message("WRITE", file=fh, offset=0, data=b"d" * 65536)
    nfs.connection.send_raw(rpc.frame(message) * 2)
    nfs.decode(nfs.connection.next_reply(), "WRITE").ok()
    try:
        nfs.decode(nfs.connection.next_reply(timeout=0.3), "WRITE").ok()
    except rpc.NoAnswer:
        pass
    assert nfs.read_all(fh) == b"d" * 65536


@rule("defects.md Duplicates 1b")
def test_setattr_with_a_guard(nfs, fh):
    """A guarded SETATTR sent again is the same success, though the guard holds no more."""
    message = nfs.message("SETATTR", file=fh, sattr=Sattr(mode=0o600),
                          guard=nfs.attributes(fh).ctime)
    nfs.decode(nfs.connection.exchange(message), "SETATTR").ok()
    nfs.decode(nfs.connection.exchange(message), "SETATTR", "the guarded SETATTR, sent again").ok()


@rule("defects.md Duplicates 1b")
def test_among_many_others(nfs, home):
    """A reply is still known after a hundred other calls."""
    nfs.new_file(home, b"x")
    message = nfs.message("REMOVE", dir=home, name=b"x")
    nfs.decode(nfs.connection.exchange(message), "REMOVE").ok()
    for i in range(50):
        nfs.new_file(home, b"f%d" % i)
        nfs.remove(home, b"f%d" % i).ok()
    nfs.decode(nfs.connection.exchange(message), "REMOVE",
               "REMOVE, sent again after 100 calls").ok()


@rule("defects.md Duplicates 1b", "esxi.md 14b")
def test_a_lock_taken_twice_by_one_host(nfs, home):
    """A host whose reply was lost asks for its lock again and is told that it has it; a new call of
    the same host is EXIST."""
    arguments = dict(dir=home, name=b".lck-0100000000000000", how=GUARDED, sattr=Sattr(mode=0o644))
    message = nfs.message("CREATE", **arguments)
    nfs.decode(nfs.connection.exchange(message), "CREATE").ok()
    nfs.decode(nfs.connection.exchange(message), "CREATE", "CREATE of a lock, sent again").ok()
    nfs.call("CREATE", **arguments).fails(NFS3ERR_EXIST)


@rule("defects.md Duplicates 1d")
@pytest.mark.parametrize("procedure", ["GETATTR", "LOOKUP", "READ", "READDIR", "FSSTAT"])
def test_questions_are_asked_anew(nfs, home, fh, procedure):
    """A question sent again is answered, whatever was done in between."""
    arguments = {"GETATTR": dict(file=fh), "LOOKUP": dict(dir=home, name=b"file"),
                 "READ": dict(file=fh, offset=0, count=10), "READDIR": dict(dir=home),
                 "FSSTAT": dict(file=fh)}[procedure]
    message = nfs.message(procedure, **arguments)
    nfs.decode(nfs.connection.exchange(message), procedure).ok()
    nfs.write(fh, 0, b"changed").ok()
    nfs.decode(nfs.connection.exchange(message), procedure).fails(NFS3_OK)
