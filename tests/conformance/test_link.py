# SPDX-License-Identifier: Apache-2.0
"""LINK: RFC 1813 section 3.3.15."""
import pytest

import badnames
from nfs3 import (NF3FIFO, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ISDIR,
                  NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_NOTSUPP, NFS3ERR_PERM, NFS3ERR_ROFS,
                  NFS3ERR_STALE, NFS3ERR_XDEV)

rule = pytest.mark.rule


@rule("RFC 1813 3.3.15")
def test_second_name(nfs, home, fh):
    """Both names are the same file: one fileid, one content, two links."""
    nfs.link(fh, home, b"second").ok()
    second = nfs.find(home, b"second")
    nfs.write(second, 0, b"through the second").ok()
    assert nfs.read_all(fh) == b"through the second"
    one, two = nfs.attributes(fh), nfs.attributes(second)
    assert (one.fileid, one.nlink) == (two.fileid, 2), "expected one file of two names: %s, %s" % (
        one, two)


@rule("RFC 1813 3.3.15")
def test_survives_the_first_name(nfs, home, fh):
    """The file lives as long as a name does, and the first handle with it."""
    nfs.write(fh, 0, b"data").ok()
    other = nfs.new_dir(home, b"other")
    nfs.link(fh, other, b"second").ok()
    nfs.remove(home, b"file").ok()
    assert nfs.read_all(fh) == b"data" and nfs.attributes(fh).nlink == 1
    nfs.remove(other, b"second").ok()
    nfs.getattr(fh).fails(NFS3ERR_STALE)


@rule("RFC 1813 3.3.15")
def test_attributes_in_the_reply(nfs, home, fh):
    """file_attributes, if given, show the new count of links."""
    reply = nfs.link(fh, home, b"second").ok()
    if reply.attr:
        reply.expect(reply.attr.nlink == 2, "nlink 2")


@rule("RFC 1813 3.3.15")
@pytest.mark.parametrize("existing", ["file", "directory", "symlink", "itself"])
def test_existing_name(nfs, home, fh, existing):
    """A name that is taken is EXIST, even if it is the file's own."""
    name = b"file" if existing == "itself" else b"taken"
    if existing == "file":
        nfs.new_file(home, b"taken")
    elif existing == "directory":
        nfs.new_dir(home, b"taken")
    elif existing == "symlink":
        nfs.new_symlink(home, b"taken", b"nowhere")
    nfs.link(fh, home, name).fails(NFS3ERR_EXIST)
    assert nfs.attributes(fh).nlink == 1


@rule("RFC 1813 3.3.15")
def test_of_a_directory(nfs, home):
    """Directories have one name."""
    dir = nfs.new_dir(home, b"d")
    nfs.link(dir, home, b"second").fails(NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_PERM, NFS3ERR_ACCES,
                                         NFS3ERR_NOTSUPP)
    assert nfs.names(home) == [b"d"]


@rule("RFC 1813 3.3.15")
@pytest.mark.parametrize("kind", ["symlink", "fifo"])
def test_of_other_objects(nfs, home, as_root, fh, kind):
    """A link to a symbolic link is to the link itself; special files can have several names."""
    if kind == "symlink":
        handle = nfs.new_symlink(home, b"x", b"file")
    else:
        handle = nfs.handle_of_new(nfs.mknod(home, b"x", NF3FIFO, mode=0o600), home, b"x")
    reply = nfs.link(handle, home, b"second")
    if reply.status == NFS3_OK:
        assert nfs.attributes(nfs.find(home, b"second")).fileid == nfs.attributes(handle).fileid
        assert nfs.attributes(fh).nlink == 1, "the link went to the target"
    else:
        reply.fails(NFS3ERR_NOTSUPP, NFS3ERR_INVAL, NFS3ERR_PERM)


@rule("RFC 1813 3.3.15")
def test_into_a_file(nfs, home, fh):
    """The directory must be one."""
    nfs.link(fh, nfs.new_file(home, b"other"), b"second").fails(NFS3ERR_NOTDIR)


@pytest.mark.parametrize("id", badnames.IDS)
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, fh, id):
    """Impossible names get the RFC's error; no link appears."""
    name, errors = badnames.bad_name(id, nfs, home)
    nfs.link(fh, home, name).fails(*errors)
    assert nfs.names(home) == [b"file"] and nfs.attributes(fh).nlink == 1


@pytest.mark.parametrize("name", [b".", b".."], ids=["dot", "dotdot"])
@rule("RFC 1813 3.3.15", "defects.md Handles 3b", "defects.md Handles 3c")
def test_dot_names(nfs, home, fh, name):
    """"." and ".." exist already."""
    nfs.link(fh, home, name).fails(*badnames.DOT_ERRORS["LINK"])


@rule("RFC 1813 3.3.15")
def test_without_permission(nfs, home, fh, user):
    """Making a name needs write permission for the directory."""
    user.link(fh, home, b"second").fails(NFS3ERR_ACCES, NFS3ERR_PERM)
    assert nfs.names(home) == [b"file"]


@rule("RFC 1813 3.3.15")
def test_of_a_removed_file(nfs, home, fh):
    """A file that has no name left cannot get one."""
    nfs.remove(home, b"file").ok()
    nfs.link(fh, home, b"second").fails(NFS3ERR_STALE, NFS3ERR_NOENT)
    assert nfs.names(home) == []


@rule("defects.md Handles 5a")
def test_in_a_read_only_export(nfs, ro_root, ro_file):
    """ROFS."""
    nfs.link(ro_file, ro_root, b"conformance-x").fails(NFS3ERR_ROFS)


@rule("defects.md Handles 5b", "RFC 1813 3.3.15")
def test_between_exports(nfs, home, fh, second_home):
    """Two exports are two file systems: XDEV."""
    nfs.link(fh, second_home, b"second").fails(NFS3ERR_XDEV)
    assert nfs.names(second_home) == [] and nfs.attributes(fh).nlink == 1


@rule("RFC 1813 3.3.15", "defects.md Create 7a")
def test_wcc_of_the_directory(nfs, home, fh):
    """The directory's attributes in the reply, if given, are those before and after."""
    before = nfs.attributes(home)
    reply = nfs.link(fh, home, b"second").ok()
    after = nfs.attributes(home)
    if reply.wcc.before:
        reply.expect(reply.wcc.before == (before.size, before.mtime, before.ctime),
                     "before: %s" % ((before.size, before.mtime, before.ctime),))
    if reply.wcc.after:
        reply.expect(reply.wcc.after._replace(atime=after.atime) == after, "after: %s" % (after,))
