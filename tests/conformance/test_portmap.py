# SPDX-License-Identifier: Apache-2.0
"""The portmapper: RFC 1833. Skipped when --port says that no portmapper is to be asked."""
import pytest

import mount3
import nfs3
import portmap
import rpc

rule = pytest.mark.rule
TRANSPORTS = pytest.mark.parametrize("transport", ["tcp", "udp"])


@pytest.fixture
def ask(server, transport):
    if not server.uses_portmap:
        pytest.skip("no portmapper in this run: --port was given")
    client = server.portmap_tcp() if transport == "tcp" else server.portmap_udp()
    yield client
    client.transport.close()


@TRANSPORTS
@rule("esxi.md 1c", "esxi.md 1d", "RFC 1833 3")
def test_null(ask, transport):
    """The portmapper answers over TCP and over UDP."""
    ask.null()


@TRANSPORTS
@pytest.mark.parametrize("program", [nfs3.PROGRAM, mount3.PROGRAM], ids=["nfs", "mount"])
@rule("esxi.md 1a", "esxi.md 1b", "esxi.md 1c", "esxi.md 1d", "RFC 1833 3.2")
def test_getport(server, ask, transport, program):
    """NFS 3 and MOUNT 3 over TCP are registered, and what is registered answers."""
    port = ask.getport(program, 3)
    assert 0 < port < 65536, "expected a port, got %d" % port
    connection = rpc.TcpConnection(server.host, port, server.timeout)
    assert connection.call(program, 3, 0, b"") == b""
    connection.close()


@TRANSPORTS
@rule("RFC 1833 3.2", "esxi.md 1d")
def test_getport_of_the_unknown(ask, transport):
    """A program that nobody registered has port 0, as an answer."""
    assert ask.getport(0x20000099, 1) == 0
    assert ask.getport(nfs3.PROGRAM, 99) in (0, ask.getport(nfs3.PROGRAM, 3))


@TRANSPORTS
@rule("RFC 1833 3.2")
def test_udp_mappings_are_true(server, ask, transport):
    """NFS or MOUNT over UDP need not be; if they are registered, they answer, and rightly."""
    root = server.mounted()
    for program in (nfs3.PROGRAM, mount3.PROGRAM):
        port = ask.getport(program, 3, portmap.UDP)
        if not port:
            continue
        udp = rpc.UdpSocket(server.host, port, server.timeout)
        assert udp.call(program, 3, 0) == b""
        if program == mount3.PROGRAM:
            assert mount3.Mount(udp, server.cred).mnt(server.export).ok().fh == root
        else:
            results = udp.call(program, 3, nfs3.NUMBERS["GETATTR"],
                               nfs3.pack_arguments("GETATTR", file=root), server.cred)
            nfs3.decode_result("GETATTR", "GETATTR(root) over UDP", results).ok()
        udp.close()


@TRANSPORTS
@rule("RFC 1833 3.2")
def test_dump(ask, transport):
    """The list has the two services, each once."""
    mappings = ask.dump()
    for program in (nfs3.PROGRAM, mount3.PROGRAM):
        found = [m for m in mappings if m[:3] == (program, 3, portmap.TCP)]
        assert len(found) == 1, "program %d version 3 over TCP: %s" % (program, found)
        assert found[0].port == ask.getport(program, 3)


@TRANSPORTS
@pytest.mark.parametrize("version", [3, 4])
@rule("RFC 1833 2.2", "esxi.md 1c")
def test_getaddr(ask, transport, version):
    """rpcbind's GETADDR, if that version is there, agrees with GETPORT (servers differ in whether
    the netid in the call counts, or the transport that it came over); else PROG_MISMATCH."""
    try:
        address = ask.getaddr(nfs3.PROGRAM, 3, rpcbind_version=version)
    except rpc.Rejected as rejected:
        assert "PROG_MISMATCH" in str(rejected)
        return
    port = portmap.port_of_universal_address(address) if address else 0
    allowed = {ask.getport(nfs3.PROGRAM, 3)}
    if transport == "udp":
        allowed.add(ask.getport(nfs3.PROGRAM, 3, portmap.UDP))
    assert port in allowed, "GETADDR says port %d, GETPORT %s" % (port, allowed)


@TRANSPORTS
@rule("RFC 5531 9", "esxi.md 8a")
def test_unknown_procedure(ask, transport):
    """PROC_UNAVAIL."""
    header = ask.transport.call_rpc(portmap.PROGRAM, 2, 99)
    assert header.accept_stat == rpc.PROC_UNAVAIL, "expected PROC_UNAVAIL, got %s" % header


@TRANSPORTS
@rule("RFC 5531 9")
def test_unknown_version(ask, transport):
    """PROG_MISMATCH with a range that has version 2."""
    header = ask.transport.call_rpc(portmap.PROGRAM, 99, 0)
    assert header.accept_stat == rpc.PROG_MISMATCH and header.low <= 2 <= header.high, \
        "expected PROG_MISMATCH with a range around 2, got %s" % header


@TRANSPORTS
@rule("RFC 5531 9", "esxi.md 8b")
def test_unknown_program(ask, transport):
    """PROG_UNAVAIL."""
    header = ask.transport.call_rpc(0x20000099, 1, 0)
    assert header.accept_stat == rpc.PROG_UNAVAIL, "expected PROG_UNAVAIL, got %s" % header


@pytest.mark.parametrize("transport", ["tcp"])
@rule("RFC 1833 3.2")
def test_arguments_cut_short(ask, transport):
    """GETPORT with half its arguments is GARBAGE_ARGS."""
    header = ask.transport.call_rpc(portmap.PROGRAM, 2, portmap.PROC_GETPORT, bytes(8))
    assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header


@pytest.mark.parametrize("transport", ["udp"])
@rule("esxi.md 1d")
def test_udp_noise(ask, transport):
    """Datagrams that are no calls change nothing for the next one."""
    for noise in (b"", b"\0", b"x" * 3, bytes(24), b"\xff" * 1000):
        ask.transport.sock.send(noise)
    ask.null()
