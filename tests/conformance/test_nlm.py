# SPDX-License-Identifier: Apache-2.0
"""Locks: NLM version 4 and NSM. What is locked here is told apart by owners' bytes and numbers, and
by the address of the machine that asks (--second-address)."""
import threading

import pytest

import nlm
import portmap
import rpc
from nlm import (BLOCKED, DENIED, DENIED_GRACE_PERIOD, FAILED, FBIG, GRANTED, ROFS, STALE_FH,
                 CallbackHost, Locker)
from xdr import Packer, Unpacker

rule = pytest.mark.rule
MAX = (1 << 64) - 1
WAIT_S = 20


@pytest.fixture(scope="session")
def nlm_port(server):
    if server.options.port:
        port = server.options.port
    else:
        port = server.portmap_tcp().getport(nlm.PROGRAM, nlm.VERSION)
    connection = rpc.TcpConnection(server.host, port or server.nfs_port, server.timeout)
    reply = connection.call_rpc(nlm.PROGRAM, nlm.VERSION, 0)
    connection.close()
    if reply.accept_stat == rpc.PROG_UNAVAIL:
        pytest.skip("the server does not serve NLM")
    return port


@pytest.fixture
def connect(server, nlm_port):
    return lambda **more: rpc.TcpConnection(server.host, nlm_port, server.timeout, **more)


@pytest.fixture
def one(connect, fh):
    locker = Locker(connect(), fh)
    yield locker
    Locker(connect(), fh).free_all()


@pytest.fixture
def two(one):
    return one.other()


@pytest.fixture
def far(server, connect, fh):
    """The same owner's bytes from another address."""
    if not server.options.second_address:
        pytest.skip("needs --second-address")
    locker = Locker(connect(source_address=server.options.second_address), fh)
    yield locker
    Locker(connect(source_address=server.options.second_address), fh).free_all()


@pytest.fixture
def host(server, far):
    """The other address, with a port mapper and a lock manager to be called back."""
    try:
        host = CallbackHost(server.options.second_address)
    except OSError as error:
        pytest.skip("port 111 of --second-address cannot be had: %s" % error)
    with host:
        yield host


# ---------------------------------------------------------------------------------- ranges

@rule("RFC 1813 6")
def test_null(connect):
    """NULL answers."""
    assert connect().call(nlm.PROGRAM, nlm.VERSION, nlm.NULL) == b""


@rule("RFC 1813 6")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_of_nfs_2_are_refused(connect, version):
    """Versions 1 to 3 are NFS version 2's: PROG_MISMATCH, with the version that there is."""
    reply = connect().call_rpc(nlm.PROGRAM, version, 0)
    assert reply.accept_stat == rpc.PROG_MISMATCH
    assert (reply.low, reply.high) == (4, 4)


@rule("RFC 1813 6")
@pytest.mark.parametrize("procedure", [17, 18, 19, 24])
def test_unknown_procedures(connect, procedure):
    """There are no procedures 17 to 19 and past 23."""
    assert connect().call_rpc(nlm.PROGRAM, nlm.VERSION,
                              procedure).accept_stat == rpc.PROC_UNAVAIL


@rule("RFC 1813 6")
@pytest.mark.parametrize("held,wanted,status", [
    (True, True, DENIED), (True, False, DENIED), (False, True, DENIED), (False, False, GRANTED)])
def test_modes(one, two, held, wanted, status):
    """Shared locks share, exclusive ones exclude."""
    assert one.lock(0, 10, exclusive=held) == GRANTED
    assert two.lock(5, 10, exclusive=wanted) == status


@rule("RFC 1813 6")
@pytest.mark.parametrize("offset,length,status", [
    (0, 9, GRANTED), (0, 10, GRANTED), (0, 11, DENIED), (19, 1, DENIED), (20, 1, GRANTED),
    (15, 0, DENIED), (20, 0, GRANTED), (0, 0, DENIED)])
def test_ranges_to_the_byte(one, two, offset, length, status):
    """Bytes 10 to 19 are locked: neighbours are free."""
    assert one.lock(10, 10) == GRANTED
    assert two.lock(offset, length) == status


@rule("RFC 1813 6")
def test_length_0_is_to_the_end(one, two):
    """Length 0 goes to the last byte that 64 bits can name."""
    assert one.lock(100, 0) == GRANTED
    assert two.lock(MAX, 1) == DENIED
    assert two.lock(0, 100) == GRANTED


@rule("RFC 1813 6")
@pytest.mark.parametrize("offset,length", [(MAX, 2), (2, MAX), (1 << 63, (1 << 63) + 1)])
def test_past_2_to_the_64(one, offset, length):
    """A range past 2^64 is FBIG, and locks nothing."""
    assert one.lock(offset, length) == FBIG
    assert one.unlock(offset, length) == FBIG
    assert one.test(offset, length) == FBIG


@rule("RFC 1813 6")
def test_ranges_past_what_the_kernel_knows(one, two):
    """Between 2^63 and 2^64 there are locks, too."""
    assert one.lock(1 << 63, 10) == GRANTED
    assert two.lock((1 << 63) + 9, 1) == DENIED
    assert two.lock((1 << 63) + 10, 1) == GRANTED


@rule("RFC 1813 6")
def test_unlock_in_the_middle_splits(one, two):
    """What is left on both sides stays locked."""
    assert one.lock(0, 30) == GRANTED
    assert one.unlock(10, 10) == GRANTED
    assert two.lock(10, 10) == GRANTED
    assert two.lock(9, 1) == DENIED
    assert two.lock(20, 1) == DENIED


@rule("RFC 1813 6")
def test_neighbours_merge(one, two):
    """Two halves are one lock: TEST tells of all of it."""
    assert one.lock(0, 10) == GRANTED
    assert one.lock(10, 10) == GRANTED
    holder = two.test(5, 1)
    assert (holder.offset, holder.length) == (0, 20)


@rule("RFC 1813 6")
def test_upgrade_and_downgrade(one, two):
    """The owner's new lock replaces the old, where others let it."""
    assert one.lock(0, 10, exclusive=False) == GRANTED
    assert two.lock(0, 10, exclusive=False) == GRANTED
    assert one.lock(0, 10, exclusive=True) == DENIED
    assert two.unlock(0, 10) == GRANTED
    assert one.lock(0, 10, exclusive=True) == GRANTED
    assert two.lock(0, 10, exclusive=False) == DENIED
    assert one.lock(0, 10, exclusive=False) == GRANTED
    assert two.lock(0, 10, exclusive=False) == GRANTED


@rule("RFC 1813 6")
def test_denied_upgrade_keeps_what_there_was(one, two):
    """A refusal takes nothing away."""
    assert one.lock(0, 10, exclusive=False) == GRANTED
    assert two.lock(0, 10, exclusive=False) == GRANTED
    assert one.lock(0, 10) == DENIED
    assert two.unlock() == GRANTED
    assert two.lock(0, 10) == DENIED


@rule("RFC 1813 6")
def test_part_of_an_exclusive_lock_becomes_shared(one, two):
    """The rest stays exclusive."""
    assert one.lock(0, 30) == GRANTED
    assert one.lock(10, 10, exclusive=False) == GRANTED
    assert two.lock(10, 10, exclusive=False) == GRANTED
    assert two.lock(0, 1, exclusive=False) == DENIED
    assert two.lock(20, 1, exclusive=False) == DENIED


@rule("RFC 1813 6")
def test_unlock_of_nothing(one, two):
    """UNLOCK of what is not locked is no error, and others' locks stay."""
    assert one.unlock(0, 10) == GRANTED
    assert two.lock(0, 10) == GRANTED
    assert one.unlock(0, 10) == GRANTED
    assert one.lock(0, 10) == DENIED


@rule("RFC 1813 6")
def test_locks_of_two_files_are_apart(nfs, home, one):
    """A lock is on its file only."""
    other = one.other(fh=nfs.new_file(home, b"second"))
    assert one.lock() == GRANTED
    assert other.lock() == GRANTED
    assert other.unlock() == GRANTED


# ---------------------------------------------------------------------------------- owners

@rule("RFC 1813 6")
def test_owners_bytes_tell_apart(one):
    """Two processes of one client exclude each other."""
    assert one.lock() == GRANTED
    assert one.other(b"another", one.svid).lock() == DENIED


@rule("RFC 1813 6")
def test_svid_tells_apart(one):
    """... also by the number alone."""
    assert one.lock() == GRANTED
    assert one.other(one.owner, one.svid + 1).lock() == DENIED


@rule("RFC 1813 6")
def test_the_address_tells_apart(one, far):
    """The same bytes and number from another client are another owner."""
    assert one.lock() == GRANTED
    assert far.lock() == DENIED
    assert far.unlock() == GRANTED
    assert far.lock() == DENIED


@rule("RFC 1813 6")
def test_the_connection_does_not_tell_apart(one, connect, fh):
    """An owner may come over any connection."""
    assert one.lock(0, 10) == GRANTED
    again = Locker(connect(), fh)
    assert again.lock(0, 10) == GRANTED
    assert again.unlock(0, 10) == GRANTED
    assert one.other().lock(0, 10) == GRANTED


@rule("RFC 1813 6")
@pytest.mark.parametrize("count", [0, 1, 1024])
def test_owners_up_to_their_limit(one, two, count):
    """An owner may have 0 to 1024 bytes; TEST tells them."""
    owner = one.other(b"x" * count, -1)
    assert owner.lock() == GRANTED
    holder = two.test()
    assert holder.owner == b"x" * count
    assert holder.svid == 0xFFFFFFFF
    assert owner.unlock() == GRANTED


@rule("RFC 1813 6")
def test_longer_owners_are_garbage(one):
    """1025 bytes do not decode."""
    with pytest.raises(rpc.Rejected):
        one.other(b"x" * 1025).lock()


@rule("RFC 1813 6")
def test_longest_cookie_and_name(one):
    """Cookies and callers' names of 1024 bytes pass, and come back."""
    arguments = (Packer().opaque(b"c" * 1024)
                 .raw(nlm.lock_args(one.fh, b"o", 1, 0, 0, b"n" * 1024)).bytes())
    results = Unpacker(one.call(nlm.UNLOCK, arguments))
    assert results.opaque() == b"c" * 1024
    assert results.u32() == GRANTED


# ------------------------------------------------------------------------------------ TEST

@rule("RFC 1813 6")
def test_test_tells_the_holder(one, two):
    """Mode, number, bytes and range of the lock in the way."""
    assert one.lock(10, 20) == GRANTED
    holder = two.test(0, 0)
    assert holder == nlm.Holder(True, one.svid, one.owner, 10, 20)


@rule("RFC 1813 6")
def test_test_of_an_open_end(one, two):
    """A lock to the end is told with length 0."""
    assert one.lock(10, 0, exclusive=False) == GRANTED
    assert two.test(50, 1) == nlm.Holder(False, one.svid, one.owner, 10, 0)
    assert two.test(50, 1, exclusive=False) == GRANTED


@rule("RFC 1813 6")
def test_test_locks_nothing(one, two):
    """TEST is GRANTED where LOCK would be, for the owner, too, and leaves nothing."""
    assert one.test() == GRANTED
    assert two.lock() == GRANTED
    assert two.test() == GRANTED


# ----------------------------------------------------------------------- files and callers

@rule("RFC 1813 6")
def test_unknown_handles(one):
    """A handle that nobody made is STALE_FH in each procedure."""
    stranger = one.other(fh=b"\0" * 32)
    assert stranger.lock() == STALE_FH
    assert stranger.test() == STALE_FH
    assert stranger.unlock() == STALE_FH
    assert stranger.cancel() == STALE_FH
    assert stranger.share(0, 1) == STALE_FH


@rule("RFC 1813 6")
def test_a_removed_file(nfs, home, connect):
    """LOCK of a removed file is STALE_FH."""
    fh = nfs.new_file(home, b"gone")
    nfs.remove(home, b"gone").ok()
    assert Locker(connect(), fh).lock() == STALE_FH


@rule("RFC 1813 6")
def test_unlock_after_remove(nfs, home, one, connect):
    """What was locked before the file was removed can be unlocked."""
    locker = one.other(fh=nfs.new_file(home, b"gone"))
    assert locker.lock() == GRANTED
    nfs.remove(home, b"gone").ok()
    assert locker.unlock() == GRANTED


@rule("RFC 1813 6")
def test_directories_have_no_locks(one, home):
    """Only regular files do."""
    assert one.other(fh=home).lock() == FAILED


@rule("RFC 1813 6")
def test_read_only_export(server, connect):
    """Shared locks are granted there, exclusive ones are ROFS."""
    if not server.options.ro_export:
        pytest.skip("needs --ro-export")
    root = server.mounted(server.options.ro_export.encode())
    fh = server.nfs().lookup(root, b"conformance-file").ok().fh
    locker = Locker(connect(), fh)
    assert locker.lock(exclusive=False) == GRANTED
    assert locker.lock(exclusive=True) == ROFS
    assert locker.unlock() == GRANTED


@rule("RFC 1813 6")
def test_a_host_that_is_not_listed(server, connect, one):
    """An export's locks are for its hosts."""
    if not (server.options.private_export and server.options.second_address):
        pytest.skip("needs --private-export and --second-address")
    root = server.mounted(server.options.private_export.encode())
    nfs = server.nfs()
    fh = nfs.new_file(root, b"locked")
    far = Locker(connect(source_address=server.options.second_address), fh)
    status = far.lock()
    nfs.remove(root, b"locked").ok()
    assert status == FAILED


@rule("RFC 1813 6")
@pytest.mark.parametrize("mode,exclusive,status", [
    (0o644, False, GRANTED), (0o644, True, FAILED), (0o600, False, FAILED),
    (0o666, True, GRANTED)])
def test_rights_of_the_caller(as_root, nfs, home, fh, connect, one, mode, exclusive, status):
    """A shared lock needs the right to read, an exclusive one to write."""
    nfs.setattr(fh, mode=mode).ok()
    stranger = Locker(connect(), fh, b"stranger", 5, rpc.auth_sys(1000, 1000))
    assert stranger.lock(exclusive=exclusive) == status


@rule("RFC 1813 6")
def test_without_credentials(connect, fh):
    """AUTH_NONE locks nothing."""
    reply = connect().call_rpc(nlm.PROGRAM, nlm.VERSION, nlm.LOCK,
                               Packer().opaque(b"").boolean(False).boolean(True)
                               .raw(nlm.lock_args(fh, b"o", 1, 0, 0)).boolean(False).u32(0)
                               .bytes(), rpc.auth_none())
    assert reply.accept_stat is None


@rule("RFC 1813 6")
@pytest.mark.parametrize("cut", [1, 4, 8, 20, 40])
def test_arguments_cut_short(one, cut):
    """Nothing is decoded beyond what came."""
    arguments = (Packer().opaque(b"x").raw(one.lock_arguments(0, 0, True, False, False))
                 .bytes())
    reply = one.transport.call_rpc(nlm.PROGRAM, nlm.VERSION, nlm.LOCK, arguments[:-cut], one.cred)
    assert reply.accept_stat == rpc.GARBAGE_ARGS


@rule("RFC 1813 6")
def test_reclaim_outside_of_grace(one):
    """Long after a restart nothing can be reclaimed."""
    assert one.lock(reclaim=True) == DENIED_GRACE_PERIOD


@rule("RFC 1813 6")
def test_nm_lock(one, two):
    """NM_LOCK locks, too."""
    assert one.lock(procedure=nlm.NM_LOCK) == GRANTED
    assert two.lock() == DENIED


@rule("RFC 1813 6")
def test_free_all(one, two, far):
    """FREE_ALL gives back all of that client's, and nobody else's."""
    assert one.lock(0, 1) == GRANTED
    assert two.lock(1, 1) == GRANTED
    assert far.lock(2, 1) == GRANTED
    two.free_all()
    assert far.lock(0, 2) == GRANTED
    far.free_all()
    assert one.lock(0, 10) == GRANTED


@rule("RFC 1813 6")
def test_udp(server, nlm_port, fh, one):
    """All of it over UDP."""
    socket = rpc.UdpSocket(server.host, nlm_port, server.timeout)
    locker = Locker(socket, fh, b"udp", 9)
    assert locker.lock(0, 10) == GRANTED
    assert one.lock(0, 10) == DENIED
    assert locker.unlock(0, 10) == GRANTED
    assert one.lock(0, 10) == GRANTED


@rule("RFC 1813 6", "RFC 1833 3")
def test_registered(server, nlm_port):
    """The port mapper knows NLM 4 and NSM 1, over both transports."""
    if not server.uses_portmap:
        pytest.skip("--port was given: the port mapper is not asked")
    mapper = server.portmap_tcp()
    for protocol in (portmap.TCP, portmap.UDP):
        assert mapper.getport(nlm.PROGRAM, nlm.VERSION, protocol)
        assert mapper.getport(nlm.NSM_PROGRAM, nlm.NSM_VERSION, protocol)


# --------------------------------------------------------------------------------- replays

def lock_message(locker, xid, procedure, arguments):
    return rpc.call_message(nlm.PROGRAM, nlm.VERSION, procedure,
                            Packer().opaque(b"r").raw(arguments).bytes(), locker.cred, xid=xid)


@rule("RFC 1813 6", "RFC 1813 4.5")
def test_a_late_copy_of_lock_locks_nothing(one, two):
    """LOCK, UNLOCK, and the LOCK again with its xid: it is answered and not run."""
    message = lock_message(one, 0x10CC0001, nlm.LOCK,
                           one.lock_arguments(0, 10, True, False, False))
    assert one.transport.exchange(message).accept_stat == rpc.SUCCESS
    assert one.unlock(0, 10) == GRANTED
    assert one.transport.exchange(message).accept_stat == rpc.SUCCESS
    assert two.lock(0, 10) == GRANTED


@rule("RFC 1813 6", "RFC 1813 4.5")
def test_a_late_copy_of_unlock_unlocks_nothing(one, two):
    """UNLOCK, LOCK, and the UNLOCK again."""
    message = lock_message(one, 0x10CC0002, nlm.UNLOCK, one.range(0, 10))
    assert one.transport.exchange(message).accept_stat == rpc.SUCCESS
    assert one.lock(0, 10) == GRANTED
    assert one.transport.exchange(message).accept_stat == rpc.SUCCESS
    assert two.lock(0, 10) == DENIED


@rule("RFC 1813 6")
def test_lock_twice_is_one_lock(one, two):
    """The same LOCK with another xid changes nothing; one UNLOCK ends it."""
    assert one.lock(0, 10) == GRANTED
    assert one.lock(0, 10) == GRANTED
    assert one.unlock(0, 10) == GRANTED
    assert two.lock(0, 10) == GRANTED


# --------------------------------------------------------------------------------- waiting

@rule("RFC 1813 6")
def test_blocked_then_granted(one, far, host):
    """A LOCK that waits is answered BLOCKED; when it has the lock, GRANTED is called."""
    assert one.lock(0, 10) == GRANTED
    assert far.lock(0, 10, block=True) == BLOCKED
    assert one.unlock(0, 10) == GRANTED
    call = host.serve(WAIT_S)
    assert call and call.procedure == nlm.GRANTED_CALL
    _, exclusive, owner, svid, offset, length = nlm.decode_granted(call.args)
    assert (exclusive, owner, svid, offset, length) == (True, far.owner, far.svid, 0, 10)
    assert call.address == one.transport.host, "from the address that the client asked"
    assert one.lock(0, 10) == DENIED
    assert far.unlock(0, 10) == GRANTED
    assert one.lock(0, 10) == GRANTED


@rule("RFC 1813 6")
def test_cancel(one, far, host):
    """Who cancels does not wait any more; a second CANCEL finds nothing."""
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert far.cancel() == GRANTED
    assert far.cancel() == DENIED
    assert one.unlock() == GRANTED
    assert host.serve(1) is None
    assert one.lock() == GRANTED


@rule("RFC 1813 6")
def test_cancel_is_of_that_very_lock(one, far):
    """Another range or mode is another lock."""
    assert one.lock() == GRANTED
    assert far.lock(0, 10, block=True) == BLOCKED
    assert far.cancel(0, 11) == DENIED
    assert far.cancel(0, 10, exclusive=False) == DENIED
    assert far.cancel(0, 10) == GRANTED


@rule("RFC 1813 6")
def test_asking_again_while_waiting(one, far, host):
    """A client that asks again waits once, and is called once."""
    assert one.lock() == GRANTED
    assert [far.lock(block=True) for _ in range(3)] == [BLOCKED] * 3
    assert one.unlock() == GRANTED
    assert host.serve(WAIT_S)
    assert host.serve(1) is None
    assert len(host.calls) == 1


@rule("RFC 1813 6")
def test_asking_again_instead_of_the_callback(one, far, host):
    """Who asks again when it has the lock gets GRANTED in the reply."""
    host.answer = None
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert one.unlock() == GRANTED
    assert far.lock(block=True) == GRANTED
    assert one.lock() == DENIED


@rule("RFC 1813 6")
def test_the_client_refuses_what_it_waited_for(one, far, host):
    """DENIED in answer to GRANTED gives the lock back."""
    host.answer = DENIED
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert one.lock(0, 0, block=True) == GRANTED  # its own
    assert one.unlock() == GRANTED
    assert host.serve(WAIT_S)
    deadline = WAIT_S * 10
    while one.lock() != GRANTED:
        host.serve(0.1)
        deadline -= 1
        assert deadline, "the lock was not given back"


@rule("RFC 1813 6")
@pytest.mark.parametrize("cancels", [False, True], ids=["refuses", "cancels"])
def test_an_upgrade_that_is_not_taken_leaves_what_there_was(one, far, host, cancels):
    """Who waits to make a shared lock exclusive, and then does not want it, has the shared one."""
    host.answer = None if cancels else DENIED
    assert far.lock(0, 10, exclusive=False) == GRANTED
    assert one.lock(0, 10, exclusive=False) == GRANTED
    assert far.lock(0, 10, block=True) == BLOCKED
    assert one.unlock(0, 10) == GRANTED
    assert host.serve(WAIT_S)
    if cancels:
        assert one.lock(0, 10, exclusive=False) == DENIED
        assert far.cancel(0, 10) == GRANTED
    for _ in range(WAIT_S * 10):
        if one.lock(0, 10, exclusive=False) == GRANTED:
            break
        host.serve(0.1)
    assert one.test(0, 10, exclusive=False) == GRANTED, "the exclusive lock was not given back"
    assert one.lock(0, 10) == DENIED, "the shared lock went, too"


@rule("RFC 1813 6")
def test_first_come_first_served(one, far, host):
    """Two that wait for the same bytes get them in the order they asked."""
    second = far.other(b"second", 8)
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert second.lock(block=True) == BLOCKED
    assert one.unlock() == GRANTED
    assert nlm.decode_granted(host.serve(WAIT_S).args)[2] == far.owner
    assert host.serve(1) is None
    assert far.unlock() == GRANTED
    assert nlm.decode_granted(host.serve(WAIT_S).args)[2] == b"second"


@rule("RFC 1813 6")
def test_all_readers_at_once(one, far, host):
    """Those who can share are all let in."""
    readers = [far.other(b"reader%d" % i, i) for i in range(5)]
    assert one.lock() == GRANTED
    assert [reader.lock(exclusive=False, block=True) for reader in readers] == [BLOCKED] * 5
    assert one.unlock() == GRANTED
    seen = set()
    host.serve(WAIT_S, lambda call: (seen.add(nlm.decode_granted(call.args)[2]),
                                     len(seen) == 5)[1])
    assert len(seen) == 5


@rule("RFC 1813 6")
def test_unlock_of_a_part_lets_in_who_needs_no_more(one, far, host):
    """Only that part counts."""
    second = far.other(b"second", 8)
    assert one.lock(0, 20) == GRANTED
    assert far.lock(0, 20, block=True) == BLOCKED
    assert second.lock(5, 5, block=True) == BLOCKED
    assert one.unlock(0, 10) == GRANTED
    assert nlm.decode_granted(host.serve(WAIT_S).args)[2] == b"second"


@rule("RFC 1813 6")
def test_a_downgrade_lets_readers_in(one, far, host):
    """Exclusive becomes shared: who waits to share has it."""
    assert one.lock() == GRANTED
    assert far.lock(exclusive=False, block=True) == BLOCKED
    assert one.lock(exclusive=False) == GRANTED
    assert host.serve(WAIT_S)


@rule("RFC 1813 6")
def test_a_lost_callback_is_sent_again(one, far, host):
    """Datagrams get lost: GRANTED comes until it is answered."""
    host.answer = None
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert one.unlock() == GRANTED
    assert host.serve(WAIT_S)
    host.answer = GRANTED
    assert host.serve(WAIT_S)
    assert one.lock() == DENIED


@rule("RFC 1813 6")
def test_a_lock_manager_that_starts_late(one, far, host):
    """The port mapper is asked until it knows the port."""
    host.registered = False
    assert one.lock() == GRANTED
    assert far.lock(block=True) == BLOCKED
    assert one.unlock() == GRANTED
    assert host.serve(1.5) is None
    assert host.asked
    host.registered = True
    assert host.serve(WAIT_S)


@rule("RFC 1813 6")
def test_callbacks_to_nobody_hold_up_nobody(one, far, nfs, home):
    """A client that cannot be called back is no other's business."""
    files = [nfs.new_file(home, b"f%d" % i) for i in range(50)]
    for fh in files:
        assert one.other(fh=fh).lock() == GRANTED
        assert far.other(fh=fh).lock(block=True) == BLOCKED
    for fh in files:
        assert one.other(fh=fh).unlock() == GRANTED
    assert one.lock() == GRANTED
    nfs.getattr(home).ok()


@rule("RFC 1813 6")
def test_waiters_are_bounded(one, two):
    """One client cannot have any number of calls wait: there is an end, and others go on."""
    assert one.lock() == GRANTED
    for i in range(20000):
        status = one.other(b"w%d" % i, i).lock(block=True)
        if status != BLOCKED:
            break
    assert status == nlm.DENIED_NOLOCKS
    assert two.test() != GRANTED


# ------------------------------------------------------------------------------ by message

@rule("RFC 1813 6")
@pytest.mark.parametrize("procedure,answer", [
    (nlm.LOCK_MSG, nlm.LOCK_RES), (nlm.TEST_MSG, nlm.TEST_RES),
    (nlm.UNLOCK_MSG, nlm.UNLOCK_RES), (nlm.CANCEL_MSG, nlm.CANCEL_RES)])
def test_messages(far, host, procedure, answer):
    """The reply is empty; the result is a call, with the cookie."""
    lock = far.range(0, 10)
    arguments = Packer().opaque(b"message")
    if procedure == nlm.LOCK_MSG:
        arguments.raw(far.lock_arguments(0, 10, True, False, False))
    elif procedure == nlm.TEST_MSG:
        arguments.boolean(True).raw(lock)
    elif procedure == nlm.CANCEL_MSG:
        arguments.boolean(True).boolean(True).raw(lock)
    else:
        arguments.raw(lock)
    assert far.call(procedure, arguments.bytes()) == b""
    call = host.serve(WAIT_S)
    assert call and call.procedure == answer
    results = Unpacker(call.args)
    assert results.opaque() == b"message"
    assert results.u32() == (DENIED if procedure == nlm.CANCEL_MSG else GRANTED)


@rule("RFC 1813 6")
def test_granted_by_message(one, far, host):
    """Who asked by LOCK_MSG is told by GRANTED_MSG, and answers by GRANTED_RES."""
    assert one.lock() == GRANTED
    far.call(nlm.LOCK_MSG, Packer().opaque(b"m")
             .raw(far.lock_arguments(0, 0, True, True, False)).bytes())
    assert Unpacker(host.serve(WAIT_S).args[8:]).u32() == BLOCKED
    assert one.unlock() == GRANTED
    call = host.serve(WAIT_S)
    assert call.procedure == nlm.GRANTED_MSG
    cookie = nlm.decode_granted(call.args)[0]
    assert far.call(nlm.GRANTED_RES, Packer().opaque(cookie).u32(DENIED).bytes()) == b""
    assert one.lock() == GRANTED


@rule("RFC 1813 6")
def test_granted_res_from_a_stranger(one, far, host):
    """Only who was told may answer."""
    assert one.lock() == GRANTED
    far.call(nlm.LOCK_MSG, Packer().opaque(b"m")
             .raw(far.lock_arguments(0, 0, True, True, False)).bytes())
    assert host.serve(WAIT_S)
    assert one.unlock() == GRANTED
    cookie = nlm.decode_granted(host.serve(WAIT_S).args)[0]
    assert one.call(nlm.GRANTED_RES, Packer().opaque(cookie).u32(DENIED).bytes()) == b""
    assert one.lock() == DENIED


@rule("RFC 1813 6")
def test_granted_to_the_server(one):
    """A server waits for no locks: GRANTED is denied."""
    assert one.status(nlm.GRANTED_CALL,
                      Packer().boolean(True).raw(one.range(0, 1)).bytes()) == DENIED


# ---------------------------------------------------------------------------------- shares

@rule("RFC 1813 6")
def test_shares(one, two):
    """What one denies the other may not do, in both directions."""
    deny_write, read, write = 2, 1, 2
    assert one.share(deny_write, read) == GRANTED
    assert two.share(0, read) == GRANTED
    assert two.share(0, write) == DENIED
    assert two.share(1, read) == DENIED
    assert one.share(0, 0, nlm.UNSHARE) == GRANTED
    assert two.share(1, write) == GRANTED
    assert two.share(0, 0, nlm.UNSHARE) == GRANTED


@rule("RFC 1813 6")
def test_free_all_ends_shares(one, far):
    """... of that client."""
    assert one.share(3, 3) == GRANTED
    assert far.share(0, 1) == DENIED
    one.free_all()
    assert far.share(0, 1) == GRANTED
    assert far.share(0, 0, nlm.UNSHARE) == GRANTED


@rule("RFC 1813 6")
@pytest.mark.parametrize("mode,access", [(4, 1), (0, 4)])
def test_shares_that_are_none(one, mode, access):
    """Modes and accesses past 3 do not decode."""
    with pytest.raises(rpc.Rejected):
        one.share(mode, access)


# ------------------------------------------------------------------------------------- NSM

@rule("RFC 1813 6")
def test_nsm_state(connect):
    """The server's own number is odd: it is up."""
    status, state = nlm.Monitor(connect()).stat()
    assert status == 0
    assert state & 1


@rule("RFC 1813 6")
def test_notify_releases_locks(one, far, connect, server):
    """A client that has restarted holds nothing any more."""
    far.state = 101
    assert far.lock() == GRANTED
    assert one.lock() == DENIED
    monitor = nlm.Monitor(connect(source_address=server.options.second_address))
    monitor.notify(101)  # the start that it locked in
    assert one.lock() == DENIED
    monitor.notify(103)
    assert one.lock() == GRANTED


@rule("RFC 1813 6")
def test_notify_in_anothers_name(one, far, connect, server):
    """A name in NOTIFY is anybody's: only the address counts."""
    far.state = 105
    assert far.lock() == GRANTED
    nlm.Monitor(connect()).notify(107, server.options.second_address.encode())
    assert one.lock() == DENIED


@rule("RFC 1813 6")
def test_a_lock_with_a_newer_state(one, far):
    """The client's number in LOCK tells of a restart before NOTIFY does."""
    far.state = 111
    assert far.lock(0, 10) == GRANTED
    far.state = 113
    assert far.lock(20, 10) == GRANTED
    assert one.lock(0, 10) == GRANTED
    assert one.lock(20, 10) == DENIED


@rule("RFC 1813 6")
def test_locks_with_a_newer_state_at_once(server, connect, fh, one, far):
    """Of many LOCKs that tell of the same restart none takes another's lock away."""
    count, rounds = 8, 20
    owners = [Locker(connect(source_address=server.options.second_address), fh, b"thread", i)
              for i in range(count)]
    for state in range(201, 201 + 2 * rounds, 2):
        together = threading.Barrier(count)

        def lock(owner, number, state=state, together=together):
            owner.state = state
            together.wait()
            owner.status(nlm.LOCK, owner.lock_arguments(10 * number, 10, True, False, False))

        threads = [threading.Thread(target=lock, args=(owner, i))
                   for i, owner in enumerate(owners)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = [one.test(10 * i, 10) != GRANTED for i in range(count)]
        assert all(held), held


@rule("RFC 1813 6")
def test_mon_from_afar(far):
    """Other programs' hosts are not watched."""
    arguments = (Packer().opaque(b"host").opaque(b"me").u32(100021).u32(4).u32(16)
                 .raw(bytes(16)).bytes())
    results = Unpacker(far.transport.call(nlm.NSM_PROGRAM, nlm.NSM_VERSION, nlm.NSM_MON,
                                          arguments))
    assert results.u32() == 1


@rule("RFC 1813 6")
def test_sm_notify_of_the_lock_manager_is_for_its_own_machine(one, connect, server):
    """Procedure 16 names whom it likes: it is taken from the server's machine only, and drops
    nothing that is not watched."""
    assert one.lock() == GRANTED
    one.call(nlm.SM_NOTIFY, Packer().opaque(b"host").u32(999).raw(bytes(16)).bytes())
    assert one.other().lock() == DENIED


# ------------------------------------------------------------------------------------ many

@rule("RFC 1813 6")
def test_many_locks_on_one_file(one, two):
    """Thousands of locks, all found, and all gone with one UNLOCK."""
    count = 2000
    for i in range(count):
        assert one.lock(2 * i, 1) == GRANTED
    assert two.test(2 * count - 2, 0).offset == 2 * count - 2
    assert two.lock(1, 1) == GRANTED
    assert one.unlock() == GRANTED
    assert two.lock() == GRANTED


@rule("RFC 1813 6")
def test_exclusion_holds_under_many_at_once(connect, fh, one):
    """Eight connections take turns: never two at once have the lock."""
    inside, failures = [], []

    def work(number):
        locker = Locker(connect(), fh, b"thread", number)
        for _ in range(50):
            if locker.lock(0, 10) != GRANTED:
                continue
            inside.append(number)
            if len(inside) != 1:
                failures.append(list(inside))
            inside.remove(number)
            locker.unlock(0, 10)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
