# SPDX-License-Identifier: Apache-2.0
"""SYMLINK and READLINK: RFC 1813 sections 3.3.10 and 3.3.5."""
import pytest

import badnames
import rpc
from nfs3 import (NF3FIFO, NF3LNK, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_INVAL,
                  NFS3ERR_IO, NFS3ERR_NAMETOOLONG, NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_ROFS,
                  NFS3ERR_STALE)

rule = pytest.mark.rule


@pytest.mark.parametrize("target", [
    b"x", b"relative/path", b"/absolute/path", b"../../up", b".", b"/", b"with space\n",
    b"\xff\xfe\x01", b"trailing/", b"//double//slashes", b"n" * 255, b"n" * 256])
@rule("RFC 1813 3.3.5", "RFC 1813 3.3.10")
def test_text_is_kept(nfs, home, target):
    """The server neither reads nor changes a link's text: it comes back byte by byte."""
    link = nfs.new_symlink(home, b"l", target)
    reply = nfs.readlink(link).ok()
    reply.expect(reply.target == target, "%r" % target)
    assert nfs.attributes(link).type == NF3LNK


@pytest.mark.parametrize("length", [512, 1000, 1023])
@rule("defects.md Create 9c", "RFC 1813 3.3.10")
def test_long_text(nfs, home, length):
    """Texts that every file system takes."""
    target = (b"directory/" * 103)[:length]
    reply = nfs.readlink(nfs.new_symlink(home, b"l", target)).ok()
    reply.expect(reply.target == target, "%d bytes as sent" % length)


@pytest.mark.parametrize("length", [1024, 2000, 4094, 4095])
@rule("defects.md Create 9c", "RFC 1813 3.3.10")
def test_text_up_to_path_max(nfs, home, length):
    """Texts up to PATH_MAX are kept whole, or refused as too long where the file system's own limit
    is lower (XFS: 1023 bytes); never cut."""
    target = (b"directory/" * 410)[:length]
    reply = nfs.symlink(home, b"l", target)
    if reply.status == NFS3ERR_NAMETOOLONG:
        assert nfs.names(home) == []
        return
    found = nfs.readlink(nfs.handle_of_new(reply, home, b"l")).ok()
    found.expect(found.target == target, "%d bytes as sent" % length)


@pytest.mark.parametrize("length", [4096, 5000, 65536])
@rule("defects.md Create 9c", "RFC 1813 3.3.10")
def test_text_beyond_path_max(nfs, home, length):
    """A text that is too long is refused, or kept whole; never cut."""
    target = b"t" * length
    try:
        reply = nfs.symlink(home, b"l", target)
    except rpc.Rejected as rejected:
        assert "GARBAGE_ARGS" in str(rejected)
        return
    if reply.status == NFS3_OK:
        found = nfs.readlink(nfs.find(home, b"l")).ok()
        found.expect(found.target == target, "%d bytes as sent" % length)
    else:
        reply.fails(NFS3ERR_NAMETOOLONG, NFS3ERR_INVAL, NFS3ERR_IO)


@rule("RFC 1813 3.3.10")
def test_empty_text(nfs, home):
    """An empty text is refused, or kept as it is; no link points somewhere else."""
    reply = nfs.symlink(home, b"l", b"")
    if reply.status == NFS3_OK:
        nfs.readlink(nfs.find(home, b"l")).ok()
        assert nfs.readlink(nfs.find(home, b"l")).ok().target == b""
    else:
        reply.fails(NFS3ERR_INVAL, NFS3ERR_NOENT, NFS3ERR_ACCES)


@rule("RFC 1813 3.3.10")
def test_text_with_nul(nfs, home):
    """A text with a NUL is refused, or kept whole; it is not cut at the NUL."""
    reply = nfs.symlink(home, b"l", b"be\0fore")
    if reply.status == NFS3_OK:
        found = nfs.readlink(nfs.find(home, b"l")).ok()
        found.expect(found.target == b"be\0fore", "the text as sent")
    else:
        reply.fails(NFS3ERR_INVAL, NFS3ERR_ACCES)


@rule("defects.md Create 9a", "RFC 1813 3.3.5")
@pytest.mark.parametrize("kind", ["file", "directory", "fifo"])
def test_readlink_of_something_else(nfs, home, fh, kind, request):
    """READLINK of what is no symbolic link is INVAL."""
    handle = fh
    if kind == "directory":
        handle = home
    elif kind == "fifo":
        request.getfixturevalue("as_root")
        handle = nfs.handle_of_new(nfs.mknod(home, b"x", NF3FIFO, mode=0o600), home, b"x")
    nfs.readlink(handle).fails(NFS3ERR_INVAL)


@rule("RFC 1813 3.3.10")
@pytest.mark.parametrize("existing", ["file", "directory", "symlink"])
def test_existing_name(nfs, home, existing):
    """A name that is taken is EXIST."""
    if existing == "file":
        nfs.new_file(home, b"x")
    elif existing == "directory":
        nfs.new_dir(home, b"x")
    else:
        nfs.new_symlink(home, b"x", b"nowhere")
    nfs.symlink(home, b"x", b"target").fails(NFS3ERR_EXIST)


@pytest.mark.parametrize("id", badnames.IDS)
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, id):
    """Impossible names get the RFC's error; no link appears."""
    name, errors = badnames.bad_name(id, nfs, home)
    nfs.symlink(home, name, b"target").fails(*errors)
    assert nfs.names(home) == []


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@rule("RFC 1813 3.3.10", "defects.md Handles 3b", "defects.md Handles 3c")
def test_dot_names(nfs, home, name):
    """"." and ".." exist already."""
    nfs.symlink(home, name, b"target").fails(*badnames.DOT_ERRORS["SYMLINK"])


@rule("RFC 1813 3.3.10")
def test_in_a_file(nfs, fh):
    """The directory must be one."""
    nfs.symlink(fh, b"l", b"target").fails(NFS3ERR_NOTDIR)


@rule("RFC 1813 3.3.10")
def test_without_permission(nfs, home, user):
    """Making a name needs write permission for the directory."""
    user.symlink(home, b"l", b"target").fails(NFS3ERR_ACCES)


@rule("RFC 1813 3.3.10")
def test_owner_is_the_caller(nfs, shared, user):
    """A user's link is the user's."""
    link = user.new_symlink(shared, b"l", b"target")
    attr = nfs.attributes(link)
    assert (attr.uid, attr.gid) == (1000, 1000), "expected uid and gid 1000: %s" % (attr,)


@rule("RFC 1813 3.3.10")
def test_attributes_are_of_the_link(nfs, home, fh):
    """Attributes in the call, such as a mode, never reach the target."""
    before = nfs.attributes(fh)
    nfs.symlink(home, b"l", b"file", mode=0o777).ok()
    assert nfs.attributes(fh) == before


@rule("defects.md Handles 5a")
def test_in_a_read_only_export(nfs, ro_root):
    """ROFS."""
    nfs.symlink(ro_root, b"conformance-x", b"target").fails(NFS3ERR_ROFS)


@rule("RFC 1813 3.3.5")
def test_readlink_of_a_removed_link(nfs, home):
    """STALE."""
    link = nfs.new_symlink(home, b"l", b"target")
    nfs.remove(home, b"l").ok()
    nfs.readlink(link).fails(NFS3ERR_STALE)


@rule("RFC 1813 3.3.10", "defects.md Create 7a")
def test_wcc_of_the_directory(nfs, home):
    """The directory's attributes in the reply, if given, are those before and after."""
    before = nfs.attributes(home)
    reply = nfs.symlink(home, b"l", b"target").ok()
    after = nfs.attributes(home)
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after._replace(atime=after.atime) == after, "after: %s" % (after,))
