# SPDX-License-Identifier: Apache-2.0
"""The RPC layer: RFC 5531, record marking and AUTH_SYS; defects.md "RPC and XDR from strangers"."""
import random
import struct
import time

import pytest

import mount3
import rpc
from nfs3 import (NFS3_OK, NFS3ERR_ACCES, NUMBERS, PROGRAM, VERSION, decode_result,
                  pack_arguments)
from rpc import frame, fragments
from samples import arguments
from xdr import Packer

rule = pytest.mark.rule
EVERY_PROCEDURE = pytest.mark.parametrize("procedure", list(NUMBERS))
MARKER = struct.Struct(">I")


@pytest.fixture
def connection(server):
    connection = server.connect()
    yield connection
    connection.close()


def getattr_message(server, root, xid=None, cred=None, **more):
    return rpc.call_message(PROGRAM, VERSION, NUMBERS["GETATTR"],
                            pack_arguments("GETATTR", file=root), cred or server.cred, xid=xid,
                            **more)


def expect_getattr(header):
    decode_result("GETATTR", "GETATTR(root)", header.results).ok()


def still_alive(server, root):
    """A new connection is accepted and its call answered, now."""
    nfs = server.nfs()
    nfs.getattr(root).ok()
    nfs.connection.close()


# ------------------------------------------------------------------- calls that are in order

@pytest.mark.parametrize("cred", [rpc.auth_none(), rpc.auth_sys(0, 0),
                                  rpc.auth_sys(1000, 1000, (1, 2))],
                         ids=["none", "root", "user"])
@rule("RFC 1813 3.3.0", "esxi.md 1b")
def test_null(connection, cred):
    """NULL answers anybody, with nothing."""
    assert connection.call(PROGRAM, VERSION, 0, b"", cred) == b""


@pytest.mark.parametrize("xid", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
@rule("RFC 5531 9")
def test_xid_comes_back(connection, xid):
    """Whatever the xid is, the reply has it."""
    header = connection.exchange(rpc.call_message(PROGRAM, VERSION, 0, xid=xid))
    assert header.xid == xid


@rule("RFC 5531 9")
def test_verifier_of_replies_is_none(server, connection, root):
    """A reply to AUTH_SYS or AUTH_NONE carries an empty AUTH_NONE verifier."""
    header = connection.exchange(getattr_message(server, root))
    assert header.verifier == (rpc.AUTH_NONE, b""), header.verifier


@rule("RFC 5531 9")
def test_auth_none_on_a_real_procedure(server, connection, root):
    """GETATTR without credentials is answered as nobody's, or refused as too weak."""
    header = connection.exchange(getattr_message(server, root, cred=rpc.auth_none()))
    if header.accept_stat == rpc.SUCCESS:
        decode_result("GETATTR", "GETATTR(root) [AUTH_NONE]", header.results).fails(NFS3_OK,
                                                                                    NFS3ERR_ACCES)
    else:
        assert header.auth_stat in (rpc.AUTH_TOOWEAK, rpc.AUTH_REJECTEDCRED, rpc.AUTH_BADCRED), \
            "expected SUCCESS or AUTH_TOOWEAK, got %s" % header


# ------------------------------------------------------------------------- record marking

@rule("defects.md RPC 2a", "RFC 5531 11")
def test_one_byte_fragments(server, connection, root):
    """A call cut into fragments of one byte each."""
    message = getattr_message(server, root)
    connection.send_raw(fragments(message, [1] * (len(message) - 1)))
    expect_getattr(connection.wait(rpc.xid_of(message)))


@pytest.mark.parametrize("sizes", [
    [0], [0, 0, 0], [0, 5, 0, 7, 0], [0] * 200, [1, 0] * 20, [4], [3], [41, 1], [10 ** 6]],
    ids=["one", "three", "between", "two-hundred", "alternating", "after-xid", "inside-xid",
         "inside-header", "all-then-empty-last"])
@rule("defects.md RPC 2b", "RFC 5531 11")
def test_odd_fragments(server, connection, root, sizes):
    """Empty fragments before, between and after, and cuts in any place."""
    message = getattr_message(server, root)
    connection.send_raw(fragments(message, sizes))
    expect_getattr(connection.wait(rpc.xid_of(message)))


@pytest.mark.parametrize("pause", [0, 0.002], ids=["at-once", "slowly"])
@rule("defects.md RPC 2c", "RFC 5531 11")
def test_byte_by_byte(server, connection, root, pause):
    """A record that arrives in segments of one byte, its mark too."""
    message = getattr_message(server, root)
    for byte in frame(message):
        connection.send_raw(bytes([byte]))
        if pause:
            time.sleep(pause)
    expect_getattr(connection.wait(rpc.xid_of(message)))


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 8, 43, 44, 45])
@rule("defects.md RPC 2c", "RFC 5531 11")
def test_cut_in_two_segments(server, connection, root, cut):
    """Two segments with a pause between: inside the mark, after it, inside the header."""
    message = getattr_message(server, root)
    data = frame(message)
    connection.send_raw(data[:cut])
    time.sleep(0.03)
    connection.send_raw(data[cut:])
    expect_getattr(connection.wait(rpc.xid_of(message)))


@pytest.mark.parametrize("count", [2, 10, 128, 400])
@rule("defects.md RPC 2d", "RFC 5531 11")
def test_many_records_at_once(server, connection, root, count):
    """Many calls in one segment: each is answered, once."""
    messages = [getattr_message(server, root) for _ in range(count)]
    connection.send_raw(b"".join(frame(message) for message in messages))
    seen = []
    for _ in messages:
        header = connection.next_reply()
        expect_getattr(header)
        seen.append(header.xid)
    assert sorted(seen) == sorted(rpc.xid_of(message) for message in messages)
    assert connection.silent(0.05), "more came than was asked for"


@rule("defects.md RPC 2c", "defects.md RPC 2d", "RFC 5531 11")
@pytest.mark.parametrize("seed", range(4))
def test_random_segmentation(server, connection, root, seed):
    """Fifty calls in random fragments, the bytes sent in random pieces."""
    chance = random.Random(seed)
    messages = [getattr_message(server, root) for _ in range(50)]
    stream = b"".join(fragments(message, [chance.choice((0, 1, 2, 3, 4, 7, 40, 100))
                                          for _ in range(chance.randrange(6))])
                      for message in messages)
    at = 0
    while at < len(stream):
        size = chance.choice((1, 2, 3, 5, 30, 200, 1460))
        connection.send_raw(stream[at:at + size])
        at += size
    for message in messages:
        expect_getattr(connection.wait(rpc.xid_of(message)))


@pytest.mark.parametrize("sizes", [[1000] * 65, [1] * 300, [65536], [44, 4, 32, 8, 1],
                                   [0, 65600, 0]],
                         ids=["thousands", "ones", "nearly-all", "fields", "empty-around"])
@rule("defects.md RPC 2a", "defects.md RPC 2b", "RFC 5531 11")
def test_large_write_in_fragments(server, connection, nfs, home, sizes):
    """A WRITE of 64 KiB in fragments writes what an unbroken one writes."""
    file = nfs.new_file(home, b"f")
    data = random.Random(1).randbytes(65536)
    message = nfs.message("WRITE", file=file, offset=0, data=data)
    connection.send_raw(fragments(message, sizes))
    reply = nfs.decode(connection.wait(rpc.xid_of(message)), "WRITE", "WRITE(65536 bytes)").ok()
    reply.expect(reply.count == 65536, "count=65536")
    assert nfs.read_all(file) == data


@pytest.mark.parametrize("mark", [0xFFFFFFFF, 0x7FFFFFFF, 0xC0000000, 0x40000000],
                         ids=lambda mark: "%08x" % mark)
@rule("defects.md RPC 1a", "RFC 5531 11")
def test_enormous_record_mark(server, connection, root, mark):
    """A mark of a gigabyte or two: the server hangs up instead of waiting for it, and goes on."""
    connection.send_raw(MARKER.pack(mark) + getattr_message(server, root))
    assert connection.hung_up(5), "5 s after a mark of 0x%08x the connection is still open" % mark
    still_alive(server, root)


@pytest.mark.parametrize("how", ["one-fragment", "many-fragments"])
@rule("defects.md RPC 1a", "defects.md RPC 1b", "RFC 5531 11")
def test_record_larger_than_any_call(server, nfs, root, how):
    """A record of 2 MiB more than wtmax is cut off, in one fragment or summed over many."""
    length = nfs.fsinfo(root).ok().wtmax + (2 << 20)
    if length > 16 << 20:
        pytest.skip("wtmax is %d bytes: the suite does not send so much" % (length - (2 << 20)))
    connection = server.connect()
    head = getattr_message(server, root)
    try:
        if how == "one-fragment":
            connection.send_raw(MARKER.pack(rpc.LAST_FRAGMENT | length) + head)
            connection.send_raw(bytes(length - len(head)))
        else:
            connection.send_raw(MARKER.pack(len(head)) + head)
            for _ in range(length // 65536 + 1):
                connection.send_raw(MARKER.pack(65536) + bytes(65536))
            connection.send_raw(frame(b""))
        header = connection.next_reply()
        assert header.accept_stat == rpc.GARBAGE_ARGS, \
            "expected the connection closed, or GARBAGE_ARGS; got %s" % header
    except rpc.ConnectionLost:
        pass
    connection.close()
    still_alive(server, root)


@pytest.mark.parametrize("payload", [
    frame(b""), frame(b"\0"), frame(b"\0\0\0\1"), frame(bytes(8)), frame(bytes(20)),
    frame(bytes(39)), b"\x80", b"\0\0\0\0" * 100, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00" + bytes(64),
    b"\xff" * 64, b"SSH-2.0-x\r\n", bytes(1000)],
    ids=["empty-record", "one-byte", "xid-only", "xid-and-type", "half-header", "39-bytes",
         "a-byte-of-mark", "empty-fragments", "http", "tls", "ones", "ssh", "zeros"])
@rule("defects.md RPC 4e", "defects.md RPC 1c", "RFC 5531 11")
def test_no_call_at_all(server, connection, root, payload):
    """What is not even a call gets silence, an error or the door; the server goes on for others."""
    connection.send_raw(payload)
    try:
        header = connection.next_reply(timeout=0.1)
        assert header.accept_stat != rpc.SUCCESS, "%s was executed" % rpc.hexdump(payload)
    except (rpc.NoAnswer, rpc.ConnectionLost):
        pass
    still_alive(server, root)


@rule("defects.md RPC 1c")
def test_half_records_disturb_nobody(server, nfs, root):
    """Fifty connections that stop in the middle of a record: everybody else is served."""
    half = []
    for i in range(50):
        connection = server.connect()
        connection.send_raw(MARKER.pack(rpc.LAST_FRAGMENT | 0xFFFF0) + bytes(i * 20))
        half.append(connection)
    start = time.monotonic()
    for _ in range(50):
        nfs.getattr(root).ok()
    passed = time.monotonic() - start
    for connection in half:
        connection.close()
    assert passed < 5, "50 GETATTRs took %.1f s beside half records" % passed
    still_alive(server, root)


# ------------------------------------------------- version, program, procedure, message type

@pytest.mark.parametrize("version", [0, 1, 3, 4, 0x80000000, 0xFFFFFFFF])
@rule("defects.md RPC 4a", "RFC 5531 9")
def test_rpc_version(server, connection, root, version):
    """An RPC version that is not 2 is RPC_MISMATCH, 2 to 2."""
    header = connection.exchange(getattr_message(server, root, rpc_version=version))
    assert header.reject_stat == rpc.RPC_MISMATCH and (header.low, header.high) == (2, 2), \
        "expected RPC_MISMATCH(low 2, high 2), got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("program", [0, 1, 99999, 100099, 300598, 390113, 0x20000099, 0x40000000,
                                     0xFFFFFFFF])
@rule("esxi.md 8b", "defects.md RPC 4b", "RFC 5531 9")
def test_unknown_program(server, connection, root, program):
    """PROG_UNAVAIL, on a connection that stays open."""
    header = connection.call_rpc(program, 1, 0, b"", server.cred)
    assert header.accept_stat == rpc.PROG_UNAVAIL, "expected PROG_UNAVAIL, got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5, 99, 0xFFFFFFFF])
@rule("defects.md RPC 4c", "RFC 5531 9")
def test_unknown_nfs_version(server, connection, root, version):
    """PROG_MISMATCH with the range of versions that there are: 3 is in it, the one asked for is
    not."""
    header = connection.call_rpc(PROGRAM, version, 0, b"", server.cred)
    if version in (2, 4) and header.accept_stat == rpc.SUCCESS:
        return
    assert header.accept_stat == rpc.PROG_MISMATCH, "expected PROG_MISMATCH, got %s" % header
    assert header.low <= 3 <= header.high, "the range leaves out 3: %s" % header
    assert not header.low <= version <= header.high, "the range has %d: %s" % (version, header)
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("version", [0, 4, 99, 0xFFFFFFFF])
@rule("defects.md RPC 4c", "RFC 5531 9")
def test_unknown_mount_version(server, version):
    """The same of the MOUNT program: up to 3."""
    mount = server.mount()
    header = mount.transport.call_rpc(mount3.PROGRAM, version, 0, b"", server.cred)
    assert header.accept_stat == rpc.PROG_MISMATCH, "expected PROG_MISMATCH, got %s" % header
    assert 1 <= header.low <= header.high == 3, "expected a range that ends at 3: %s" % header
    mount.null()


@pytest.mark.parametrize("procedure", [23, 24, 100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
@rule("esxi.md 8a", "defects.md RPC 4d", "RFC 5531 9")
def test_unknown_procedure(server, connection, root, procedure):
    """PROC_UNAVAIL, on a connection that stays open."""
    header = connection.call_rpc(PROGRAM, VERSION, procedure, bytes(64), server.cred)
    assert header.accept_stat == rpc.PROC_UNAVAIL, "expected PROC_UNAVAIL, got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("length", [0, 4, 8, 64, 400, 2048])
@rule("esxi.md 8a", "esxi.md 8c", "RFC 5531 9")
def test_procedure_22(server, connection, root, length):
    """Offload plug-ins send procedure 22: without offload PROC_UNAVAIL; with it, zeros are no
    arguments: GARBAGE_ARGS, or a result with an error. Never a closed connection."""
    header = connection.call_rpc(PROGRAM, VERSION, 22, bytes(length), server.cred)
    if header.accept_stat == rpc.SUCCESS:
        assert header.results[:4] != bytes(4), "zeros were accepted as an offload"
    else:
        assert header.accept_stat in (rpc.PROC_UNAVAIL, rpc.GARBAGE_ARGS), \
            "expected PROC_UNAVAIL or GARBAGE_ARGS, got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("procedure", [6, 7, 100, 0xFFFFFFFF])
@rule("defects.md RPC 4d", "esxi.md 8a", "RFC 5531 9")
def test_unknown_mount_procedure(server, procedure):
    """The same of the MOUNT program."""
    mount = server.mount()
    header = mount.transport.call_rpc(mount3.PROGRAM, 3, procedure, b"", server.cred)
    assert header.accept_stat == rpc.PROC_UNAVAIL, "expected PROC_UNAVAIL, got %s" % header
    mount.null()


@pytest.mark.parametrize("message_type", [1, 2, 0xFFFFFFFF])
@rule("defects.md RPC 4e", "defects.md RPC 4f", "RFC 5531 9")
def test_not_a_call(server, connection, root, message_type):
    """A message of type REPLY, or of no type, is not executed: no answer to it is a success."""
    connection.send(getattr_message(server, root, message_type=message_type))
    try:
        header = connection.next_reply(timeout=0.2)
        assert message_type != 1, "a REPLY was answered: two servers could do so for ever"
        assert header.accept_stat != rpc.SUCCESS, "it was executed: %s" % header
    except (rpc.NoAnswer, rpc.ConnectionLost):
        pass
    still_alive(server, root)


# ----------------------------------------------------------------- credentials and verifiers

@pytest.mark.parametrize("flavor", [2, 3, 6, 7, 99, 300001, 0x80000000, 0xFFFFFFFF])
@rule("RFC 5531 8.2", "defects.md RPC 4f")
def test_unknown_flavor(server, connection, root, flavor):
    """A credential flavor that the server does not have is an AUTH_ERROR."""
    header = connection.exchange(getattr_message(
        server, root, cred=rpc.Credential(flavor, bytes(16), "flavor %d" % flavor)))
    assert header.reject_stat == rpc.AUTH_ERROR, "expected AUTH_ERROR, got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


def raw_auth_sys(machine=b"m", machine_length=None, gids=(), gids_count=None, tail=b""):
    p = Packer().u32(0)
    if machine_length is None:
        p.opaque(machine)
    else:
        p.u32(machine_length).fixed(machine)
    p.u32(0).u32(0).u32(len(gids) if gids_count is None else gids_count)
    for gid in gids:
        p.u32(gid)
    return rpc.Credential(rpc.AUTH_SYS, p.bytes() + tail, "AUTH_SYS, made by hand")


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 254, 255])
@rule("defects.md RPC 3b", "RFC 5531 A")
def test_machine_name(server, connection, root, length):
    """Machine names of 0 to 255 bytes are good."""
    expect_getattr(connection.exchange(getattr_message(server, root,
                                                       cred=raw_auth_sys(b"m" * length))))


@pytest.mark.parametrize("count", [0, 1, 15, 16])
@rule("defects.md RPC 3c", "RFC 5531 A")
def test_groups(server, connection, root, count):
    """0 to 16 groups are good."""
    expect_getattr(connection.exchange(getattr_message(
        server, root, cred=rpc.auth_sys(0, 0, range(100, 100 + count)))))


@pytest.mark.parametrize("cred", [
    raw_auth_sys(b"m" * 256), raw_auth_sys(b"m" * 300),
    raw_auth_sys(b"m", machine_length=0xFFFFFFFF),
    raw_auth_sys(b"m", machine_length=0xFFFFFFFD), raw_auth_sys(b"m", machine_length=200),
    rpc.auth_sys(0, 0, range(17)), rpc.auth_sys(0, 0, range(80)),
    raw_auth_sys(gids_count=0xFFFFFFFF), raw_auth_sys(gids_count=0x40000000),
    raw_auth_sys(gids=(1, 2), gids_count=3),
    rpc.Credential(rpc.AUTH_SYS, b"", ""), rpc.Credential(rpc.AUTH_SYS, bytes(4), ""),
    rpc.Credential(rpc.AUTH_SYS, bytes(12), ""), rpc.Credential(rpc.AUTH_SYS, bytes(16), "")],
    ids=["name-256", "name-300", "name-2^32-1", "name-2^32-3", "name-past-body", "17-gids",
         "80-gids", "gids-2^32-1", "gids-2^30", "gids-past-body", "empty", "stamp-only",
         "no-uid", "no-gids"])
@rule("defects.md RPC 3a", "defects.md RPC 3b", "defects.md RPC 3c", "RFC 5531 A")
def test_bad_auth_sys(server, connection, root, cred):
    """An AUTH_SYS body that is none is AUTH_BADCRED, and the connection goes on."""
    header = connection.exchange(getattr_message(server, root, cred=cred))
    assert header.auth_stat == rpc.AUTH_BADCRED, "expected AUTH_BADCRED, got %s" % header
    expect_getattr(connection.exchange(getattr_message(server, root)))


@pytest.mark.parametrize("length", [401, 404, 1000, 65536])
@rule("defects.md RPC 3d", "RFC 5531 8.2")
def test_credential_body_over_400(server, connection, root, length):
    """An opaque_auth body of more than 400 bytes is AUTH_BADCRED."""
    cred = rpc.Credential(rpc.AUTH_SYS, rpc.auth_sys(0, 0).body.ljust(length, b"\0"), "")
    header = connection.exchange(getattr_message(server, root, cred=cred))
    assert header.auth_stat == rpc.AUTH_BADCRED, "expected AUTH_BADCRED, got %s" % header
    still_alive(server, root)


@pytest.mark.parametrize("place", ["credential", "verifier"])
@pytest.mark.parametrize("length", [0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC, 0x80000000,
                                    0x7FFFFFFF, 4096])
@rule("defects.md RPC 3a", "RFC 5531 8.2")
def test_auth_length_that_wraps(server, connection, root, place, length):
    """A body length that runs past the message, or wraps with its padding: refused or cut off."""
    p = Packer().u32(rpc.new_xid()).u32(0).u32(2).u32(PROGRAM).u32(VERSION).u32(NUMBERS["GETATTR"])
    if place == "verifier":
        p.u32(server.cred.flavor).opaque(server.cred.body)
    p.u32(rpc.AUTH_SYS if place == "credential" else 0).u32(length)
    p.raw(rpc.auth_sys(0, 0).body).u32(0).u32(0).raw(pack_arguments("GETATTR", file=root))
    connection.send(p.bytes())
    try:
        header = connection.next_reply(timeout=0.5)
        assert header.accept_stat != rpc.SUCCESS, "it was executed"
    except (rpc.ConnectionLost, rpc.NoAnswer):
        pass
    still_alive(server, root)


# --------------------------------------------------------------------- arguments, every decoder

def packed(procedure, home, fh):
    first = fh if procedure in ("READ", "WRITE", "COMMIT", "SETATTR", "LINK") else home
    return pack_arguments(procedure, **arguments(procedure, first, home))


@EVERY_PROCEDURE
@pytest.mark.parametrize("cut", ["empty", "four-bytes-short", "half"])
@rule("RFC 5531 9", "defects.md RPC 4h")
def test_arguments_cut_short(server, connection, nfs, home, fh, procedure, cut):
    """Arguments that end too early are GARBAGE_ARGS, in each procedure, and nothing is done."""
    whole = packed(procedure, home, fh)
    length = {"empty": 0, "four-bytes-short": len(whole) - 4, "half": len(whole) // 8 * 4}[cut]
    header = connection.call_rpc(PROGRAM, VERSION, NUMBERS[procedure], whole[:length], server.cred)
    assert header.accept_stat == rpc.GARBAGE_ARGS, \
        "%s with %d of %d bytes of arguments: expected GARBAGE_ARGS, got %s" % (
            procedure, length, len(whole), header)
    assert nfs.names(home) == [b"file"]


@EVERY_PROCEDURE
@rule("defects.md RPC 4h", "RFC 5531 9")
def test_trailing_bytes(server, connection, nfs, home, fh, procedure):
    """Bytes after the arguments: GARBAGE_ARGS, or they are ignored (the RFC has no word on them);
    in either case one well-formed answer."""
    header = connection.call_rpc(PROGRAM, VERSION, NUMBERS[procedure],
                                 packed(procedure, home, fh) + b"\xde\xad\xbe\xef" * 4, server.cred)
    if header.accept_stat == rpc.SUCCESS:
        decode_result(procedure, procedure + " with trailing bytes", header.results)
    else:
        assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header
    nfs.getattr(home).ok()
    assert connection.silent(0.02), "more came than one answer"


@pytest.mark.parametrize("length", [0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC, 0x80000000,
                                    0x7FFFFFFC, 0x00100000])
@pytest.mark.parametrize("field", ["handle", "name", "data", "target", "second-handle"])
@rule("defects.md RPC 3a", "RFC 5531 9")
def test_argument_length_that_wraps(server, connection, nfs, home, fh, field, length):
    """A length inside the arguments that runs past the message, or wraps with its padding, is
    GARBAGE_ARGS."""
    p = Packer()
    if field == "handle":
        procedure = "GETATTR"
    elif field == "name":
        procedure = "LOOKUP"
        p.opaque(home)
    elif field == "data":
        procedure = "WRITE"
        p.opaque(fh).u64(0).u32(min(length, 0xFFFFFFFF)).u32(2)
    elif field == "target":
        procedure = "SYMLINK"
        p.opaque(home).opaque(b"l").u32(0).u32(0).u32(0).u32(0).u32(0).u32(0)
    else:
        procedure = "LINK"
        p.opaque(fh)
    p.u32(length).raw(b"abcdefgh")
    header = connection.call_rpc(PROGRAM, VERSION, NUMBERS[procedure], p.bytes(), server.cred)
    assert header.accept_stat == rpc.GARBAGE_ARGS, \
        "%s with a %s of 0x%08x bytes: expected GARBAGE_ARGS, got %s" % (
            procedure, field, length, header)
    assert nfs.names(home) == [b"file"]


@rule("RFC 4506 4.10", "defects.md RPC 4h")
def test_padding_that_is_not_zero(server, connection, nfs, home):
    """Padding of ones in a name: the call is executed or GARBAGE_ARGS; the padding is not the
    name."""
    body = Packer().opaque(home).u32(1).raw(b"x\xff\xff\xff").u32(1).raw(bytes(24)).bytes()
    header = connection.call_rpc(PROGRAM, VERSION, NUMBERS["CREATE"], body, server.cred)
    if header.accept_stat == rpc.SUCCESS:
        decode_result("CREATE", "CREATE(name='x', padding of ones)", header.results).ok()
        assert nfs.names(home) == [b"x"]
    else:
        assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header


@pytest.mark.parametrize("seed", range(6))
@rule("defects.md RPC 4i")
def test_random_arguments(server, root, nfs, home, fh, seed):
    """Two hundred calls of random procedures with random arguments: each is answered in order or
    the connection closed; what is answered is well-formed; the server lives."""
    chance = random.Random(seed)
    connection = server.connect()
    for _ in range(200):
        procedure = chance.choice([name for name in NUMBERS if name not in ("REMOVE", "RMDIR",
                                                                            "RENAME", "SETATTR")])
        body = bytearray(packed(procedure, home, fh))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(0, len(body) // 4) * 4
            body[at:at + 4] = MARKER.pack(chance.choice((0, 1, 2, 3, 64, 65, 0x7FFFFFFF, 0xFFFFFFFF,
                                                         chance.getrandbits(32))))
        try:
            header = connection.call_rpc(PROGRAM, VERSION, NUMBERS[procedure], bytes(body),
                                         server.cred)
        except rpc.ConnectionLost:
            connection = server.connect()
            continue
        if header.accept_stat == rpc.SUCCESS:
            decode_result(procedure, "%s with arguments %s" % (procedure, body.hex()),
                          header.results)
    connection.close()
    still_alive(server, root)


@pytest.mark.parametrize("seed", range(4))
@rule("defects.md RPC 4i", "defects.md RPC 1a")
def test_random_records(server, root, seed):
    """Connections with nothing but noise in good record marks: the server lives."""
    chance = random.Random(1000 + seed)
    for _ in range(30):
        connection = server.connect()
        try:
            for _ in range(5):
                connection.send(chance.randbytes(chance.randrange(4, 400)))
            connection.hung_up(0.01)
        except rpc.ConnectionLost:
            pass
        connection.close()
    still_alive(server, root)
