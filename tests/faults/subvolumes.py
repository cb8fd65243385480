#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""subvolumes.py NFSD PORT EXPORT - Btrfs subvolumes below an export are part of it.

EXPORT has sub (a subvolume with inner/ and file) and snap (a snapshot of it): their inode numbers
repeat, and clients must see no two files with one fileid, nor one file with two.
"""
import sys

from faults import Server, check
import nfs3


def walk(nfs, directory, path, seen):
    """Every entry below: READDIRPLUS, READDIR, LOOKUP and GETATTR agree on each fileid."""
    plus = {e.name: e for e in nfs.readdirplus(directory).ok().entries}
    plain = {e.name: e for e in nfs.readdir(directory).ok().entries}
    check(set(plus) == set(plain), "%s: both listings have %d names" % (path, len(plus)))
    for name, entry in plus.items():
        where = "%s/%s" % (path, name.decode())
        found = nfs.lookup(directory, name).ok()
        attr = nfs.getattr(found.fh).ok().attr
        ids = {entry.fileid, plain[name].fileid, entry.attr.fileid, attr.fileid}
        check(len(ids) == 1, "%s has one fileid everywhere: %s" % (where, sorted(ids)))
        if name in (b".", b".."):
            continue
        check(attr.fileid not in seen, "%s shares its fileid with nothing" % where)
        seen[attr.fileid] = where
        if attr.type == nfs3.NF3DIR:
            walk(nfs, found.fh, where, seen)


def main():
    program, port, export = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    server = Server(program, port, ["%s *(rw,no_root_squash)" % export]).start()
    root = server.mount(export).ok().fh
    nfs = server.nfs()
    seen = {nfs.getattr(root).ok().attr.fileid: "the root"}
    walk(nfs, root, "", seen)
    check(len(seen) >= 7, "%d files seen" % len(seen))
    check(server.stop()[1] == 0, "it ends well")


main()
