# SPDX-License-Identifier: Apache-2.0
"""MKNOD: RFC 1813 section 3.3.11."""
import pytest

import badnames
import rpc
from nfs3 import (NF3BLK, NF3CHR, NF3DIR, NF3FIFO, NF3LNK, NF3REG, NF3SOCK, NFS3_OK, NFS3ERR_ACCES,
                  NFS3ERR_BADTYPE, NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_PERM, NFS3ERR_ROFS)

rule = pytest.mark.rule
KINDS = pytest.mark.parametrize("type", [NF3FIFO, NF3SOCK, NF3CHR, NF3BLK],
                                ids=["fifo", "socket", "char", "block"])


@KINDS
@rule("RFC 1813 3.3.11")
def test_makes_it(nfs, home, as_root, type):
    """The object is there, of its type, with the mode asked for."""
    reply = nfs.mknod(home, b"x", type, rdev=(7, 9), mode=0o640)
    attr = nfs.attributes(nfs.handle_of_new(reply, home, b"x"))
    assert (attr.type, attr.mode) == (type, 0o640), "expected type %d mode 640: %s" % (type, attr)


@pytest.mark.parametrize("type", [NF3CHR, NF3BLK], ids=["char", "block"])
@pytest.mark.parametrize("rdev", [(1, 3), (0, 0), (8, 255), (259, 300), (511, 262143)])
@rule("RFC 1813 3.3.11", "RFC 1813 2.5")
def test_device_numbers(nfs, home, as_root, type, rdev):
    """Major and minor number come back as they were given."""
    reply = nfs.mknod(home, b"x", type, rdev=rdev, mode=0o600)
    reply = nfs.getattr(nfs.handle_of_new(reply, home, b"x")).ok()
    reply.expect(reply.attr.rdev == rdev, "rdev %s, got %s" % (rdev, reply.attr.rdev))


@pytest.mark.parametrize("type", [NF3REG, NF3DIR, NF3LNK], ids=["file", "directory", "symlink"])
@rule("defects.md Create 9b", "RFC 1813 3.3.11")
def test_wrong_type(nfs, home, type):
    """Files, directories and links are made by other procedures: BADTYPE."""
    nfs.mknod(home, b"x", type).fails(NFS3ERR_BADTYPE)
    assert nfs.names(home) == []


@pytest.mark.parametrize("type", [0, 8, 0xFFFFFFFF])
@rule("defects.md RPC 4f", "defects.md Create 9b", "RFC 5531 9")
def test_no_type_at_all(nfs, home, type):
    """A type that is none: GARBAGE_ARGS, or BADTYPE."""
    try:
        nfs.mknod(home, b"x", type).fails(NFS3ERR_BADTYPE)
    except rpc.Rejected as rejected:
        assert "GARBAGE_ARGS" in str(rejected), str(rejected)
    assert nfs.names(home) == []


@KINDS
@rule("RFC 1813 3.3.11")
def test_by_a_user(nfs, shared, user, type):
    """Anybody makes FIFOs and sockets; devices are root's alone."""
    reply = user.mknod(shared, b"x", type, rdev=(1, 3), mode=0o600)
    if type in (NF3CHR, NF3BLK):
        reply.fails(NFS3ERR_PERM, NFS3ERR_ACCES)
    else:
        assert nfs.attributes(user.handle_of_new(reply, shared, b"x")).uid == 1000


@KINDS
@rule("RFC 1813 3.3.11")
def test_existing_name(nfs, home, fh, as_root, type):
    """A name that is taken is EXIST."""
    nfs.mknod(home, b"file", type, mode=0o600).fails(NFS3ERR_EXIST)


@pytest.mark.parametrize("id", badnames.IDS)
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, id):
    """Impossible names get the RFC's error; nothing appears."""
    name, errors = badnames.bad_name(id, nfs, home)
    nfs.mknod(home, name, NF3FIFO, mode=0o600).fails(*errors)
    assert nfs.names(home) == []


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@rule("RFC 1813 3.3.11", "defects.md Handles 3b", "defects.md Handles 3c")
def test_dot_names(nfs, home, name):
    """"." and ".." exist already."""
    nfs.mknod(home, name, NF3FIFO, mode=0o600).fails(*badnames.DOT_ERRORS["MKNOD"])


@rule("RFC 1813 3.3.11")
def test_in_a_file(nfs, fh):
    """The directory must be one."""
    nfs.mknod(fh, b"x", NF3FIFO, mode=0o600).fails(NFS3ERR_NOTDIR)


@rule("RFC 1813 3.3.11")
def test_without_permission(nfs, home, user):
    """Making a name needs write permission for the directory."""
    user.mknod(home, b"x", NF3FIFO, mode=0o600).fails(NFS3ERR_ACCES)


@rule("defects.md Handles 5a")
@KINDS
def test_in_a_read_only_export(nfs, ro_root, type):
    """ROFS."""
    nfs.mknod(ro_root, b"conformance-x", type, rdev=(1, 3), mode=0o600).fails(NFS3ERR_ROFS)


@rule("RFC 1813 3.3.11", "defects.md Create 7a")
def test_wcc_of_the_directory(nfs, home):
    """The directory's attributes in the reply, if given, are those before and after."""
    before = nfs.attributes(home)
    reply = nfs.mknod(home, b"x", NF3FIFO, mode=0o600).fails(NFS3_OK)
    after = nfs.attributes(home)
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after._replace(atime=after.atime) == after, "after: %s" % (after,))
