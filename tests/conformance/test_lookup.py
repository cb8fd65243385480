# SPDX-License-Identifier: Apache-2.0
"""LOOKUP: RFC 1813 section 3.3.3, and file names in general: section 3.2."""
import pytest

import badnames
import rpc
from nfs3 import (NF3DIR, NF3LNK, NFS3ERR_ACCES, NFS3ERR_NAMETOOLONG, NFS3ERR_NOENT,
                  NFS3ERR_NOTDIR, NFS3ERR_STALE, NUMBERS, PROGRAM, VERSION, decode_result,
                  pack_arguments)

rule = pytest.mark.rule


@rule("RFC 1813 3.3.3")
def test_finds_what_create_made(nfs, home, fh):
    """LOOKUP gives a handle of the same object that CREATE made, with its attributes."""
    reply = nfs.lookup(home, b"file").ok()
    expected = nfs.attributes(fh)
    reply.expect(nfs.attributes(reply.fh).fileid == expected.fileid, "fileid %d" % expected.fileid)
    if reply.attr:
        reply.expect(reply.attr == expected, "the attributes of GETATTR: %s" % (expected,))


@rule("RFC 1813 3.3.3")
def test_handle_is_the_same_every_time(nfs, home, fh):
    """The same object has the same handle, byte by byte, whenever it is looked up."""
    handles = {nfs.find(home, b"file") for _ in range(5)} | {fh}
    assert len(handles) == 1, "several handles for one file: %s" % [h.hex() for h in handles]


@rule("RFC 1813 3.3.3")
def test_directory_attributes(nfs, home, fh):
    """dir_attributes, if there, are those of the directory."""
    reply = nfs.lookup(home, b"file").ok()
    if reply.dir_attr:
        reply.expect(reply.dir_attr.fileid == nfs.attributes(home).fileid,
                     "dir_attributes of the directory")


@rule("RFC 1813 3.3.3")
def test_missing_name(nfs, home):
    """A name that is not there is NOENT."""
    nfs.lookup(home, b"missing").fails(NFS3ERR_NOENT)


@rule("RFC 1813 3.3.3")
@pytest.mark.parametrize("name", [b"x", b".", b".."], ids=["name", "dot", "dotdot"])
def test_in_a_file(nfs, fh, name):
    """A file has no names in it, and is no way to its directory."""
    nfs.lookup(fh, name).fails(NFS3ERR_NOTDIR)


@rule("RFC 1813 3.3.3")
def test_in_a_symlink_to_a_directory(nfs, home):
    """The server follows no symbolic link: its handle is not a directory's."""
    nfs.new_dir(home, b"dir")
    link = nfs.new_symlink(home, b"link", b"dir")
    nfs.lookup(link, b"x").fails(NFS3ERR_NOTDIR)


@rule("RFC 1813 3.3.3")
def test_symlink_itself(nfs, home):
    """LOOKUP of a symbolic link gives the link, not what it points to."""
    nfs.new_dir(home, b"dir")
    nfs.new_symlink(home, b"link", b"dir")
    reply = nfs.getattr(nfs.find(home, b"link")).ok()
    reply.expect(reply.attr.type == NF3LNK, "type LNK")


@rule("RFC 1813 3.2")
def test_dot(nfs, home):
    """"." is the directory itself."""
    reply = nfs.getattr(nfs.find(home, b".")).ok()
    reply.expect(reply.attr.fileid == nfs.attributes(home).fileid, "the directory's fileid")


@rule("RFC 1813 3.2")
def test_dotdot(nfs, home):
    """".." is the directory above, also after the directory moved."""
    upper = nfs.new_dir(home, b"upper")
    below = nfs.new_dir(home, b"below")
    home_id, upper_id = nfs.attributes(home).fileid, nfs.attributes(upper).fileid
    reply = nfs.getattr(nfs.find(below, b"..")).ok()
    reply.expect(reply.attr.fileid == home_id, "fileid %d, the parent's" % home_id)
    nfs.rename(home, b"below", upper, b"below").ok()
    reply = nfs.getattr(nfs.find(below, b"..")).ok()
    reply.expect(reply.attr.fileid == upper_id, "fileid %d, the new parent's" % upper_id)


@rule("esxi.md 12a", "defects.md Handles 3h")
def test_dotdot_of_the_root_is_the_root(nfs, root):
    """There is nothing above an export's root."""
    expected = nfs.attributes(root)
    reply = nfs.lookup(root, b"..").ok()
    reply.expect(nfs.attributes(reply.fh).fileid == expected.fileid, "the root itself")
    reply.expect(reply.fh == root, "the root's own handle %s" % root.hex())


@rule("defects.md Handles 3g", "esxi.md 12a")
def test_climbing_ends_at_the_root(nfs, root, home):
    """".." again and again, from deep inside, never leaves the export."""
    at = nfs.new_dir(nfs.new_dir(home, b"a"), b"b")
    for _ in range(12):
        at = nfs.find(at, b"..")
    reply = nfs.getattr(at).ok()
    reply.expect(reply.attr.fileid == nfs.attributes(root).fileid, "the root's fileid")


@rule("esxi.md 12a", "defects.md Handles 3g", "defects.md Handles 3h")
def test_dotdot_of_another_root(nfs, second_root, second_home):
    """The same of a second export, which may well be a directory inside a larger file system."""
    assert nfs.lookup(second_root, b"..").ok().fh == second_root
    reply = nfs.lookup(second_home, b"..").ok()
    reply.expect(nfs.attributes(reply.fh).fileid == nfs.attributes(second_root).fileid,
                 "the export's root")
    for plus in (False, True):
        for entry in nfs.list(second_root, plus=plus):
            if entry.name == b"..":
                assert entry.fileid == nfs.attributes(second_root).fileid, \
                    "the listing shows the fileid of what is above the export: %d" % entry.fileid


@pytest.mark.parametrize("id", badnames.IDS)
@rule("RFC 1813 3.2", "defects.md Handles 3a", "defects.md Handles 3d", "defects.md Handles 3e",
      "defects.md Handles 3f", "defects.md Handles 3g")
def test_impossible_name(nfs, home, fh, id):
    """Impossible names get the RFC's error; a NUL does not end the name."""
    name, errors = badnames.bad_name(id, nfs, home)
    nfs.lookup(home, name).fails(*errors)


@pytest.mark.parametrize("length", [65536, 500000])
@rule("RFC 1813 3.2", "defects.md Handles 3f")
def test_enormous_name(server, nfs, home, length):
    """A name of many kilobytes is refused, as too long or as no valid argument; nothing breaks."""
    header = nfs.connection.call_rpc(PROGRAM, VERSION, NUMBERS["LOOKUP"],
                                     pack_arguments("LOOKUP", dir=home, name=b"n" * length),
                                     nfs.cred)
    if header.accept_stat == rpc.SUCCESS:
        decode_result("LOOKUP", "LOOKUP(name of %d bytes)" % length,
                      header.results).fails(NFS3ERR_NAMETOOLONG)
    else:
        assert header.accept_stat == rpc.GARBAGE_ARGS, \
            "expected NAMETOOLONG or GARBAGE_ARGS, got %s" % header
    nfs.getattr(home).ok()


@pytest.mark.parametrize("name", [
    b"a", b"n" * 255, b"with space", b" leading", b"trailing ", b"-dash", b"new\nline", b"tab\t",
    b"back\\slash", b"star*?[", b"quote'\"", b"...", b"..x", b".hidden",
    "\u017elu\u0165ou\u010dk\u00fd k\u016f\u0148".encode(), b"latin-\xe9", b"\xff\xfe",
    b"\x01\x1f\x7f", b"CON", b"a:b", b"lodestore~1"],
    ids=lambda name: name[:12].decode("latin-1").encode("ascii", "backslashreplace").decode())
@rule("RFC 1813 3.2")
def test_names_are_bytes(nfs, home, name):
    """Any other bytes are a name: found, listed and removed exactly as created."""
    fh = nfs.new_file(home, name)
    reply = nfs.lookup(home, name).ok()
    reply.expect(nfs.attributes(reply.fh).fileid == nfs.attributes(fh).fileid, "the file created")
    assert nfs.names(home) == [name], "expected the listing [%r], got %s" % (name, nfs.names(home))
    nfs.remove(home, name).ok()
    nfs.lookup(home, name).fails(NFS3ERR_NOENT)


@rule("RFC 1813 3.3.20")
def test_case_as_pathconf_says(nfs, home):
    """Two names that differ in case are one or two files, as PATHCONF's case_insensitive says."""
    insensitive = nfs.pathconf(home).ok().case_insensitive
    nfs.new_file(home, b"Case")
    reply = nfs.lookup(home, b"cASE")
    if insensitive:
        reply.ok()
    else:
        reply.fails(NFS3ERR_NOENT)


@rule("RFC 1813 3.3.3")
def test_without_search_permission(nfs, home, user):
    """A directory that the caller may not search hides what is in it, existing or not."""
    closed = nfs.new_dir(home, b"closed", mode=0o700)
    nfs.new_file(closed, b"inside")
    user.lookup(closed, b"inside").fails(NFS3ERR_ACCES)
    user.lookup(closed, b"missing").fails(NFS3ERR_ACCES)


@rule("RFC 1813 3.3.3")
def test_search_permission_is_enough(nfs, home, user):
    """Searching needs execute permission only, not read."""
    dark = nfs.new_dir(home, b"dark", mode=0o711)
    nfs.new_file(dark, b"inside")
    user.lookup(dark, b"inside").ok()
    user.lookup(dark, b"missing").fails(NFS3ERR_NOENT)


@rule("RFC 1813 3.3.3")
def test_in_a_removed_directory(nfs, home):
    """A directory that was removed is stale, and so are its names."""
    gone = nfs.new_dir(home, b"gone")
    nfs.rmdir(home, b"gone").ok()
    nfs.lookup(gone, b"x").fails(NFS3ERR_STALE)
    nfs.lookup(gone, b"..").fails(NFS3ERR_STALE)


@rule("RFC 1813 3.3.3")
def test_after_rename_and_remove(nfs, home, fh):
    """No stale answers from a name cache: a changed directory is seen at once."""
    other = nfs.new_file(home, b"other")
    nfs.rename(home, b"other", home, b"file").ok()
    nfs.lookup(home, b"other").fails(NFS3ERR_NOENT)
    reply = nfs.getattr(nfs.find(home, b"file")).ok()
    reply.expect(reply.attr.fileid == nfs.attributes(other).fileid, "the file that was renamed")
    nfs.remove(home, b"file").ok()
    nfs.lookup(home, b"file").fails(NFS3ERR_NOENT)
    nfs.new_file(home, b"file")
    nfs.lookup(home, b"file").ok()


@rule("RFC 1813 3.3.3")
def test_deep_path(nfs, home):
    """Forty directories deep, each found from the one above."""
    at = home
    for depth in range(40):
        at = nfs.new_dir(at, b"level-%02d" % depth)
    walked = home
    for depth in range(40):
        walked = nfs.find(walked, b"level-%02d" % depth)
    reply = nfs.getattr(walked).ok()
    reply.expect(reply.attr.type == NF3DIR and reply.attr.fileid == nfs.attributes(at).fileid,
                 "the innermost directory")
