# SPDX-License-Identifier: Apache-2.0
"""The MOUNT protocol: RFC 1813 appendix I; esxi.md 4, defects.md Handles 4 and 7."""
import pytest

import mount3
import rpc
from mount3 import (MNT3ERR_ACCES, MNT3ERR_INVAL, MNT3ERR_NAMETOOLONG, MNT3ERR_NOENT,
                    MNT3ERR_NOTDIR)
from nfs3 import NF3DIR
from xdr import Packer

rule = pytest.mark.rule


@pytest.fixture
def mount(server):
    client = server.mount()
    yield client
    client.transport.close()


def dumped(mount):
    """Paths in DUMP, without trailing slashes."""
    return [path.rstrip(b"/") or b"/" for _, path in mount.dump()]


@rule("RFC 1813 5.2.0", "esxi.md 1a")
@pytest.mark.parametrize("version", [1, 3])
def test_null(server, version):
    """NULL answers in version 3, and in 1 if it is there at all."""
    mount = server.mount(version)
    header = mount.transport.call_rpc(mount3.PROGRAM, version, 0)
    if version == 3:
        assert header.accept_stat == rpc.SUCCESS, "expected SUCCESS, got %s" % header
    else:
        assert header.accept_stat in (rpc.SUCCESS, rpc.PROG_MISMATCH), header


@rule("RFC 1813 5.2.1", "esxi.md 1a")
def test_mnt(server, nfs, mount):
    """MNT gives a handle that NFS takes, and the flavors that can be used: AUTH_SYS is one."""
    reply = mount.mnt(server.export).ok()
    assert 0 < len(reply.fh) <= 64
    assert rpc.AUTH_SYS in reply.flavors, "flavors: %s" % reply.flavors
    assert len(set(reply.flavors)) == len(reply.flavors), "a flavor twice: %s" % reply.flavors
    assert nfs.attributes(reply.fh).type == NF3DIR


@pytest.mark.parametrize("shape", ["no-leading", "trailing", "both", "two-trailing", "two-leading",
                                   "doubled-inside"])
@rule("esxi.md 4a", "defects.md Handles 4c", "defects.md Handles 4d")
def test_slashes(server, root, mount, shape):
    """With or without slashes before and after, single or doubled: one handle."""
    path = server.export.strip(b"/")
    written = {"no-leading": path, "trailing": b"/" + path + b"/", "both": path + b"/",
               "two-trailing": b"/" + path + b"//", "two-leading": b"//" + path,
               "doubled-inside": b"/" + path.replace(b"/", b"//")}[shape]
    reply = mount.mnt(written).ok()
    assert reply.fh == root, "%r: expected the handle %s, got %s" % (written, root.hex(),
                                                                     reply.fh.hex())


@rule("defects.md Handles 4b")
def test_directory_inside(nfs, mount, home_path, home):
    """A directory inside an export can be mounted; its handle is the directory's."""
    reply = mount.mnt(home_path).ok()
    assert nfs.attributes(reply.fh).fileid == nfs.attributes(home).fileid
    assert nfs.attributes(nfs.find(reply.fh, b".")).fileid == nfs.attributes(home).fileid


@rule("defects.md Handles 7c", "RFC 1813 5.2.1")
def test_missing(mount, home_path):
    """NOENT for what is not there, below an export."""
    mount.mnt(home_path + b"/missing").fails(MNT3ERR_NOENT)


@rule("defects.md Handles 7b", "RFC 1813 5.2.1")
def test_file(nfs, mount, home_path, fh):
    """NOTDIR for a file, and for a path through one."""
    mount.mnt(home_path + b"/file").fails(MNT3ERR_NOTDIR)
    mount.mnt(home_path + b"/file/x").fails(MNT3ERR_NOTDIR)


@rule("defects.md Handles 7d", "RFC 1813 5.2.1")
@pytest.mark.parametrize("path", [b"/", b"/etc", b"/proc/self", b"/root"])
def test_not_exported(server, mount, path):
    """ACCES for what is there but not exported, NOENT being as good an answer to a stranger."""
    exported = [p.rstrip(b"/") or b"/" for p, _ in mount.export()]
    if any(path == e or path.startswith(e.rstrip(b"/") + b"/") for e in exported):
        pytest.skip("this server exports %s" % path.decode())
    mount.mnt(path).fails(MNT3ERR_ACCES, MNT3ERR_NOENT)


@rule("defects.md Handles 4a")
@pytest.mark.parametrize("tail", [b"b", b"-old", b"\xff", b".bak", b" "])
def test_longer_name_is_not_granted(server, mount, tail):
    """The export /a grants nothing of /ab."""
    mount.mnt(server.export.rstrip(b"/") + tail).fails(MNT3ERR_ACCES, MNT3ERR_NOENT)


@rule("defects.md Handles 4a")
def test_shorter_name_is_not_granted(server, mount):
    """Nor of the beginning of its name, nor of the directory above."""
    path = server.export.rstrip(b"/")
    exported = [p.rstrip(b"/") or b"/" for p, _ in mount.export()]
    for other in (path[:-1], path.rpartition(b"/")[0] or b"/"):
        if not any(other == e or other.startswith(e.rstrip(b"/") + b"/") for e in exported):
            mount.mnt(other).fails(MNT3ERR_ACCES, MNT3ERR_NOENT)


@rule("defects.md Handles 3g", "defects.md Handles 4e")
@pytest.mark.parametrize("tail", [b"/..", b"/../../../../etc", b"/x/../../.."])
def test_climbing_out(server, nfs, root, mount, tail):
    """".." in a path leads to no directory outside the export."""
    reply = mount.mnt(server.export.rstrip(b"/") + tail)
    if reply.status == mount3.MNT3_OK:
        ids = nfs.attributes(reply.fh).fileid, nfs.attributes(root).fileid
        assert ids[0] == ids[1], "%s gave another directory than the export's root" % tail
    else:
        reply.fails(MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_INVAL, MNT3ERR_NOTDIR)


@rule("defects.md Handles 4e", "defects.md Handles 3g")
@pytest.mark.parametrize("target", [b"/etc", b"../../../../../../../../etc", b"/"])
def test_symlink_out(nfs, mount, home_path, home, target):
    """A symbolic link in an export leads MNT to nothing outside."""
    nfs.symlink(home, b"out", target).ok()
    mount.mnt(home_path + b"/out").fails(MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_NOTDIR,
                                         MNT3ERR_INVAL)


@rule("RFC 1813 5.2.1")
@pytest.mark.parametrize("path", [b"", b"\0", b"x\0y", b"relative-nothing"],
                         ids=["empty", "nul", "nul-inside", "relative"])
def test_strange_path(mount, path):
    """Paths that are none are refused with a status (an export of "/" may be the empty path)."""
    if path == b"" and any(p == b"/" for p, _ in mount.export()):
        pytest.skip("this server exports /")
    mount.mnt(path).fails(MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_INVAL, MNT3ERR_NOTDIR)


@rule("defects.md Handles 3e", "RFC 1813 5.2.1")
def test_nul_does_not_end_the_path(server, mount):
    """The export's path followed by a NUL is not the export's path."""
    mount.mnt(server.export + b"\0").fails(MNT3ERR_ACCES, MNT3ERR_NOENT, MNT3ERR_INVAL)


@pytest.mark.parametrize("length", [1024, 1025, 4096, 100000])
@rule("RFC 1813 5.1.2", "defects.md RPC 3a")
def test_long_path(server, mount, length):
    """A path of up to 1024 bytes gets a status, a longer one GARBAGE_ARGS or NAMETOOLONG."""
    path = (server.export.rstrip(b"/") + b"/n" * length)[:length]
    header = mount.transport.call_rpc(mount3.PROGRAM, 3, mount3.MNT, Packer().opaque(path).bytes(),
                                      server.cred)
    if header.accept_stat == rpc.SUCCESS:
        status = int.from_bytes(header.results[:4], "big")
        assert status in (MNT3ERR_NOENT, MNT3ERR_NAMETOOLONG, MNT3ERR_ACCES), "status %d" % status
    else:
        assert header.accept_stat == rpc.GARBAGE_ARGS and length > 1024, header
    mount.null()


@pytest.mark.parametrize("length", [0xFFFFFFFF, 0xFFFFFFFD, 0x7FFFFFFF])
@rule("defects.md RPC 3a", "RFC 5531 9")
def test_length_that_wraps(server, mount, length):
    """A path length past the message is GARBAGE_ARGS."""
    header = mount.transport.call_rpc(mount3.PROGRAM, 3, mount3.MNT,
                                      Packer().u32(length).raw(b"/abc").bytes(), server.cred)
    assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header


@rule("RFC 1813 5.2.5", "defects.md Handles 7a", "defects.md RPC 6a")
def test_export(server, mount):
    """EXPORT lists the export under test; the list is well-formed."""
    exported = [path.rstrip(b"/") or b"/" for path, _ in mount.export()]
    wanted = b"/" + server.export.strip(b"/")
    assert any(wanted == e or wanted.startswith(e.rstrip(b"/") + b"/") for e in exported), \
        "expected %r in %s" % (wanted, exported)
    assert len(set(exported)) == len(exported), "an export twice: %s" % exported


@rule("RFC 1813 5.2.2", "defects.md Handles 7a")
def test_dump_has_what_was_mounted(server, mount):
    """After MNT the path is in DUMP's list."""
    mount.mnt(server.export).ok()
    wanted = b"/" + server.export.strip(b"/")
    assert wanted in dumped(mount), "expected %r in %s" % (wanted, dumped(mount))


@rule("RFC 1813 5.2.3", "defects.md Handles 7a")
def test_umnt_takes_one(server, mount, home_path):
    """UMNT takes its path from the list and leaves the others; the handle goes on being good."""
    mount.mnt(server.export).ok()
    handle = mount.mnt(home_path).ok().fh
    mount.umnt(home_path)
    paths = dumped(mount)
    assert home_path not in paths and b"/" + server.export.strip(b"/") in paths, paths
    nfs = server.nfs()
    nfs.getattr(handle).ok()
    nfs.connection.close()


@rule("RFC 1813 5.2.3", "defects.md Handles 7a")
def test_umnt_of_the_unknown(mount):
    """UMNT of what was never mounted succeeds; it has no status to say anything else with."""
    mount.umnt(b"/never/mounted")
    mount.umnt(b"")


@rule("RFC 1813 5.2.4", "defects.md Handles 7a")
def test_umntall(server, mount, home_path):
    """UMNTALL takes all of the caller's; the export can be mounted again."""
    mount.mnt(server.export).ok()
    mount.mnt(home_path).ok()
    mount.umntall()
    paths = dumped(mount)
    assert home_path not in paths, "still in the list: %s" % paths
    mount.mnt(server.export).ok()


@rule("defects.md Handles 7e")
def test_failed_mounts_are_not_recorded(mount, home_path, fh):
    """What could not be mounted is not in the list."""
    for path in (home_path + b"/missing", home_path + b"/file", b"/etc/conformance-missing"):
        mount.mnt(path)
        assert path not in dumped(mount), "%r is in the list" % path


@rule("RFC 1813 5.2.1", "esxi.md 10c")
def test_mounting_often_changes_nothing(server, root, mount):
    """Mounting a hundred times gives one handle, and no more than one line in the list."""
    for _ in range(100):
        assert mount.mnt(server.export).ok().fh == root
    wanted = b"/" + server.export.strip(b"/")
    assert dumped(mount).count(wanted) == 1, "%d lines" % dumped(mount).count(wanted)


@rule("esxi.md 3a", "esxi.md 3b")
@pytest.mark.parametrize("source_port", ["unreserved", "reserved"])
def test_source_ports(server, source_port):
    """Mounting and reading work from ports below 1024, and from those above unless the export
    insists."""
    port = "reserved" if source_port == "reserved" else 0
    try:
        mount = server.mount(source_port=port)
    except (PermissionError, rpc.ConnectionLost) as error:
        if source_port == "reserved" and "ermission" in str(error):
            pytest.skip("this user may not bind ports below 1024")
        raise
    handle = mount.mnt(server.export).ok().fh
    connection = server.connect(source_port=port)
    server.nfs(connection=connection).getattr(handle).ok()
    connection.close()
    mount.transport.close()


@rule("esxi.md 2a")
@pytest.mark.parametrize("cred", [rpc.auth_sys(0, 0), rpc.auth_sys(1000, 1000), rpc.auth_none()],
                         ids=["root", "user", "none"])
def test_by_anybody(server, cred):
    """MNT needs no root: whoever asks gets the handle, whose use is checked at each call."""
    mount = server.mount(cred=cred)
    mount.mnt(server.export).ok()
    mount.transport.close()


@rule("defects.md Handles 7a", "RFC 1813 5.2.1")
def test_arguments_cut_short(server, mount):
    """MNT and UMNT without a path are GARBAGE_ARGS."""
    for procedure in (mount3.MNT, mount3.UMNT):
        header = mount.transport.call_rpc(mount3.PROGRAM, 3, procedure, b"", server.cred)
        assert header.accept_stat == rpc.GARBAGE_ARGS, "expected GARBAGE_ARGS, got %s" % header


@rule("RFC 1094 A.5")
def test_version_1(server, root):
    """MOUNT version 1, if there, answers MNT in its own form: 32 bytes of handle, or an error."""
    mount = server.mount(version=1)
    header = mount.transport.call_rpc(mount3.PROGRAM, 1, 0)
    if header.accept_stat != rpc.SUCCESS:
        assert header.accept_stat == rpc.PROG_MISMATCH, header
        return
    mount.mnt(server.export)
    mount.export()
    mount.transport.close()
