# SPDX-License-Identifier: Apache-2.0
"""READDIR and READDIRPLUS: RFC 1813 sections 3.3.16 and 3.3.17."""
import random

import pytest

from nfs3 import (NF3DIR, NF3LNK, NF3REG, NFS3_OK, NFS3ERR_ACCES, NFS3ERR_BAD_COOKIE,
                  NFS3ERR_INVAL, NFS3ERR_NOTDIR, NFS3ERR_STALE, NFS3ERR_TOOSMALL)
from xdr import padding

rule = pytest.mark.rule
BOTH = pytest.mark.parametrize("plus", [False, True], ids=["readdir", "readdirplus"])


def page(nfs, plus, dir, cookie=0, verf=bytes(8), bytes_max=32768, dircount=None):
    if plus:
        return nfs.readdirplus(dir, cookie, verf, dircount or bytes_max, bytes_max)
    return nfs.readdir(dir, cookie, verf, bytes_max)


def fill(nfs, dir, count, prefix=b"file"):
    """Many names, quickly: the calls are pipelined."""
    names = [b"%s-%05d" % (prefix, i) for i in range(count)]
    for start in range(0, count, 64):
        calls = [nfs.start("MKNOD", dir=dir, name=name, type=7)
                 for name in names[start:start + 64]]
        for call in calls:
            nfs.wait(call).ok()
    return names


@pytest.fixture
def hundred(nfs, home):
    return fill(nfs, home, 100)


def without_dots(entries):
    return [entry for entry in entries if entry.name not in (b".", b"..")]


@BOTH
@pytest.mark.parametrize("count", [0, 1, 2, 100])
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_every_name_once(nfs, home, plus, count):
    """A listing has every name exactly once, and "." and ".." at most once."""
    names = fill(nfs, home, count)
    got = [entry.name for entry in nfs.list(home, plus=plus)]
    assert sorted(name for name in got if name not in (b".", b"..")) == names
    assert got.count(b".") <= 1 and got.count(b"..") <= 1


@BOTH
@pytest.mark.parametrize("bytes_max", [256, 300, 512, 1000, 1024, 4096, 8191, 65536, 1 << 20])
@rule("defects.md Directories 2a", "defects.md Directories 2c", "RFC 1813 3.3.16",
      "RFC 1813 3.3.17")
def test_reply_fits_to_the_byte(nfs, home, hundred, plus, bytes_max):
    """No READDIR3resok is longer than count, no READDIRPLUS3resok longer than maxcount, XDR and
    attributes included; and however small the pages, nothing is lost."""
    got, cookie, verf = [], 0, bytes(8)
    while True:
        reply = page(nfs, plus, home, cookie, verf, bytes_max)
        if reply.status == NFS3ERR_TOOSMALL and bytes_max < 512:
            return
        reply.ok()
        reply.expect(reply.result_bytes - 4 <= bytes_max, "a result of at most %d bytes, got %d"
                     % (bytes_max, reply.result_bytes - 4))
        reply.expect(reply.eof or reply.entries, "an entry, or eof, or TOOSMALL")
        got += reply.entries
        if reply.eof:
            break
        cookie, verf = reply.entries[-1].cookie, reply.verf
    assert sorted(entry.name for entry in without_dots(got)) == hundred


@pytest.mark.parametrize("dircount", [64, 128, 200, 512, 1000, 4096])
@rule("defects.md Directories 2b", "RFC 1813 3.3.17")
def test_dircount(nfs, home, hundred, dircount):
    """dircount bounds the names, cookies and fileids of a page, attributes and handles not
    counted."""
    got, cookie, verf = [], 0, bytes(8)
    while True:
        reply = nfs.readdirplus(home, cookie, verf, dircount, 65536).ok()
        size = sum(8 + 4 + len(e.name) + padding(len(e.name)) + 8 for e in reply.entries)
        reply.expect(size <= dircount, "at most %d bytes of entries, got %d" % (dircount, size))
        got += reply.entries
        if reply.eof:
            break
        reply.expect(reply.entries, "an entry, or eof")
        cookie, verf = reply.entries[-1].cookie, reply.verf
    assert sorted(entry.name for entry in without_dots(got)) == hundred


@BOTH
@pytest.mark.parametrize("bytes_max", [0, 1, 16, 20, 100])
@rule("defects.md Directories 2d", "defects.md RPC 5c", "RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_too_small(nfs, home, plus, bytes_max):
    """When not even one entry fits, the answer is TOOSMALL - not an empty page without eof."""
    nfs.new_file(home, b"n" * 200)
    cookie, verf = 0, bytes(8)
    for _ in range(4):  # "." and ".." may still fit
        reply = page(nfs, plus, home, cookie, verf, bytes_max)
        if reply.status != NFS3_OK:
            break
        reply.expect(reply.entries and reply.result_bytes - 4 <= bytes_max and not reply.eof,
                     "TOOSMALL, or entries in at most %d bytes" % bytes_max)
        cookie, verf = reply.entries[-1].cookie, reply.verf
    reply.fails(NFS3ERR_TOOSMALL, *((NFS3ERR_INVAL,) if bytes_max == 0 else ()))


@rule("defects.md Directories 2b", "defects.md Directories 2d", "RFC 1813 3.3.17")
def test_dircount_too_small_for_one(nfs, home):
    """A dircount that no entry fits into is TOOSMALL, even if maxcount is large."""
    nfs.new_file(home, b"n" * 200)
    cookie, verf = 0, bytes(8)
    for _ in range(4):
        reply = nfs.readdirplus(home, cookie, verf, 100, 65536)
        if reply.status != NFS3_OK:
            break
        size = sum(20 + len(e.name) + padding(len(e.name)) for e in reply.entries)
        reply.expect(reply.entries and size <= 100 and not reply.eof,
                     "TOOSMALL, or entries of at most 100 bytes")
        cookie, verf = reply.entries[-1].cookie, reply.verf
    reply.fails(NFS3ERR_TOOSMALL)


@BOTH
@pytest.mark.parametrize("bytes_max", [0xFFFFFFFF, 0x80000000, 0x7FFFFFFF])
@rule("defects.md RPC 5d", "RFC 1813 3.3.16")
def test_enormous_count(nfs, home, hundred, plus, bytes_max):
    """A count beyond everything gets what there is, or a page of it."""
    reply = page(nfs, plus, home, bytes_max=bytes_max, dircount=bytes_max).ok()
    reply.expect(len(reply.entries) >= 10, "a good number of entries")
    nfs.getattr(home).ok()


@BOTH
@rule("RFC 1813 3.3.16")
def test_cookies(nfs, home, hundred, plus):
    """No two entries share a cookie, none has 0 (which means the beginning), and going on after any
    entry gives the next."""
    entries = nfs.list(home, plus=plus)
    cookies = [entry.cookie for entry in entries]
    assert len(set(cookies)) == len(cookies), "cookies twice"
    assert 0 not in cookies[:-1], "a cookie of 0 in the middle"
    verf = page(nfs, plus, home).ok().verf
    for at in random.Random(7).sample(range(len(entries) - 1), 20):
        reply = page(nfs, plus, home, entries[at].cookie, verf).ok()
        reply.expect(reply.entries[0].name == entries[at + 1].name,
                     "%r after %r" % (entries[at + 1].name, entries[at].name))


@BOTH
@rule("defects.md Directories 1a", "defects.md Directories 1b")
@pytest.mark.parametrize("change", ["delete-seen", "delete-unseen", "create", "rename",
                                    "everything"])
def test_survives_changes(nfs, home, plus, change):
    """A listing that is under way while names come and go has every name that stays, once."""
    names = fill(nfs, home, 300)
    stay, got, cookie, verf, pages = set(names), [], 0, bytes(8), 0
    while True:
        reply = page(nfs, plus, home, cookie, verf, 1500)
        reply.ok()
        got += [entry.name for entry in reply.entries]
        if reply.eof:
            break
        cookie, verf, pages = reply.entries[-1].cookie, reply.verf, pages + 1
        seen = [name for name in got if name in stay]
        unseen = sorted(stay - set(got))
        if change in ("delete-seen", "everything") and len(seen) > 2:
            for name in (seen[-1], seen[0]):  # the one whose cookie is in use, too
                nfs.remove(home, name).ok()
                stay.discard(name)
        if change in ("delete-unseen", "everything") and len(unseen) > 2:
            for name in (unseen[0], unseen[-1]):
                nfs.remove(home, name).ok()
                stay.discard(name)
        if change in ("create", "everything"):
            nfs.new_file(home, b"new-%d" % pages)
        if change == "rename" and len(unseen) > 2:
            nfs.rename(home, unseen[0], home, b"renamed-%d" % pages).ok()
            stay.discard(unseen[0])
        assert pages < 400, "the listing does not end"
    twice = sorted(name for name in set(got) if got.count(name) > 1 and name in stay)
    missing = sorted(stay - set(got))
    assert not twice and not missing, "of the names that stayed, missing: %s; twice: %s" % (
        missing[:5], twice[:5])


@BOTH
@rule("esxi.md 13a")
def test_after_the_end(nfs, home, hundred, plus):
    """Asked to go on after the last entry, a server says: nothing, eof."""
    entries = nfs.list(home, plus=plus)
    verf = page(nfs, plus, home).ok().verf
    for _ in range(3):
        reply = page(nfs, plus, home, entries[-1].cookie, verf).ok()
        reply.expect(not reply.entries and reply.eof, "no entries, eof=True")


@BOTH
@rule("esxi.md 13b")
@pytest.mark.parametrize("verf", [bytes(8), b"\xff" * 8, b"12345678"],
                         ids=["zero", "ones", "other"])
def test_after_the_end_with_an_old_verifier(nfs, home, hundred, plus, verf):
    """The same with a cookie verifier from another time: ESXi does so, and BAD_COOKIE breaks it."""
    entries = nfs.list(home, plus=plus)
    nfs.remove(home, hundred[0]).ok()
    reply = page(nfs, plus, home, entries[-1].cookie, verf).ok()
    reply.expect(not reply.entries and reply.eof, "no entries, eof=True")


@BOTH
@rule("esxi.md 13a")
def test_after_the_end_of_a_directory_that_shrank(nfs, home, hundred, plus):
    """An old last cookie, after the directory was emptied: nothing, eof."""
    entries = nfs.list(home, plus=plus)
    verf = page(nfs, plus, home).ok().verf
    for name in hundred:
        nfs.remove(home, name).ok()
    reply = page(nfs, plus, home, entries[-1].cookie, verf).ok()
    reply.expect(not reply.entries and reply.eof, "no entries, eof=True")


@BOTH
@pytest.mark.parametrize("cookie", [1, 3, 12345, 0x7FFFFFFF, (1 << 63) - 2, 1 << 63, (1 << 64) - 1])
@rule("defects.md Directories 1c", "RFC 1813 3.3.16")
def test_cookie_that_nobody_gave(nfs, home, hundred, plus, cookie):
    """An invented cookie: any page of real names, an end, or BAD_COOKIE or INVAL; no invented
    name."""
    reply = page(nfs, plus, home, cookie)
    if reply.status == NFS3_OK:
        strange = {e.name for e in reply.entries} - set(hundred) - {b".", b".."}
        reply.expect(not strange, "only names that exist")
    else:
        reply.fails(NFS3ERR_BAD_COOKIE, NFS3ERR_INVAL)


@rule("RFC 1813 3.3.17", "esxi.md 11d")
def test_plus_attributes_and_handles(nfs, home):
    """READDIRPLUS's attributes and handles are those of GETATTR and LOOKUP, for every kind of
    entry."""
    nfs.new_file(home, b"file", b"data")
    nfs.new_dir(home, b"dir")
    nfs.new_symlink(home, b"link", b"nowhere")
    types = {b"file": NF3REG, b"dir": NF3DIR, b"link": NF3LNK}
    for entry in without_dots(nfs.list(home, plus=True)):
        looked = nfs.lookup(home, entry.name).ok()
        if entry.fh:
            looked.expect(looked.fh == entry.fh, "the handle of READDIRPLUS, %s" % entry.fh.hex())
        if entry.attr:
            attr = nfs.attributes(looked.fh)
            assert entry.attr == attr and attr.type == types[entry.name], \
                "%r: READDIRPLUS has %s, GETATTR %s" % (entry.name, entry.attr, attr)


@rule("RFC 1813 3.3.17")
def test_plus_gives_handles(nfs, home, hundred):
    """READDIRPLUS that never gave attributes or handles would be READDIR: of ordinary files it
    does."""
    entries = without_dots(nfs.list(home, plus=True))
    with_both = [e for e in entries if e.attr and e.fh]
    assert len(with_both) == len(entries), "only %d of %d entries have attributes and a handle" % (
        len(with_both), len(entries))


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_of_a_file(nfs, fh, plus):
    """NOTDIR."""
    page(nfs, plus, fh).fails(NFS3ERR_NOTDIR)


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_of_a_symlink(nfs, home, plus):
    """A symbolic link to a directory is not followed."""
    nfs.new_dir(home, b"d")
    page(nfs, plus, nfs.new_symlink(home, b"l", b"d")).fails(NFS3ERR_NOTDIR)


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_of_a_removed_directory(nfs, home, plus):
    """STALE."""
    gone = nfs.new_dir(home, b"gone")
    nfs.rmdir(home, b"gone").ok()
    page(nfs, plus, gone).fails(NFS3ERR_STALE)


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_without_permission(nfs, home, user, plus):
    """Listing needs read permission; searching is not enough."""
    dark = nfs.new_dir(home, b"dark", mode=0o711)
    page(user, plus, dark).fails(NFS3ERR_ACCES)


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.3.17")
def test_with_read_permission_only(nfs, home, user, plus):
    """Reading is enough for the names, if not for what they mean."""
    dir = nfs.new_dir(home, b"d", mode=0o744)
    nfs.new_file(dir, b"inside")
    reply = page(user, plus, dir).ok()
    assert b"inside" in [e.name for e in reply.entries]


@BOTH
@rule("esxi.md 14c")
def test_dot_files_are_listed(nfs, home, plus):
    """Names that begin with a dot are names: ESXi's locks and folders are such."""
    names = [b".fbb.sf", b".lck-0000000000000001", b".vSphere-HA", b".sdd.sf", b".hidden", b"..."]
    for name in names:
        nfs.new_file(home, name)
    got = sorted(e.name for e in without_dots(nfs.list(home, plus=plus)))
    assert got == sorted(names)


@BOTH
@rule("defects.md RPC 6b", "RFC 1813 3.3.16")
def test_thousands_of_entries(nfs, home, plus):
    """3000 entries in pages as large as the server makes them: all there, in one piece each."""
    names = fill(nfs, home, 3000)
    got, cookie, verf = [], 0, bytes(8)
    while True:
        reply = page(nfs, plus, home, cookie, verf, 1 << 20).ok()
        reply.expect(reply.result_bytes - 4 <= 1 << 20, "at most 1 MiB")
        got += [e.name for e in without_dots(reply.entries)]
        if reply.eof:
            break
        reply.expect(reply.entries, "an entry, or eof")
        cookie, verf = reply.entries[-1].cookie, reply.verf
    assert sorted(got) == names


@BOTH
@rule("RFC 1813 3.3.16", "RFC 1813 3.2")
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 254, 255])
def test_names_of_every_padding(nfs, home, plus, length):
    """Names of every length modulo 4 come through, with padding of zeros."""
    nfs.new_file(home, b"p" * length)
    assert [e.name for e in without_dots(nfs.list(home, plus=plus))] == [b"p" * length]


@BOTH
@rule("defects.md Directories 2e", "RFC 1813 3.3.17")
def test_while_entries_vanish(server, nfs, home, plus):
    """Listing a directory that another host empties: an entry has right attributes or none."""
    names = fill(nfs, home, 400)
    second = server.nfs()
    pending = [second.start("REMOVE", dir=home, name=name) for name in names]
    for _ in range(10):
        for entry in without_dots(nfs.list(home, plus=plus)):
            assert entry.name in names, "an invented name: %r" % entry.name
            if entry.attr:
                assert entry.attr.fileid == entry.fileid and entry.attr.type == 7, \
                    "%r has attributes of something else: %s" % (entry.name, entry.attr)
    for call in pending:
        second.wait(call).ok()
    second.connection.close()
    assert nfs.names(home) == []
