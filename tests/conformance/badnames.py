# SPDX-License-Identifier: Apache-2.0
"""Names that no server can give a file, and the errors that are right for them.

RFC 1813 section 3.2, "Filename components", is explicit: the empty name is NFS3ERR_ACCES, so is a
name with characters that the server cannot handle ("/" and NUL, on anything like Unix), and a name
that is too long is NFS3ERR_NAMETOOLONG where PATHCONF says no_trunc. Nothing may be truncated or
cut at the NUL in silence, and no name is a way out of the directory.

A server that breaks these rules may well act on what such a name means to its own system - one that
we met opened /etc/passwd for CREATE("/etc/passwd"). So the names are chosen to be harmless even
then: "../escaped" stays in the suite's own folder, and the absolute path leads nowhere.

"." and ".." are left to each procedure; the RFC is explicit for MKDIR (EXIST), and for RMDIR (INVAL
for ".", EXIST for ".."). Elsewhere we accept what a server can argue for."""
from nfs3 import (NFS3ERR_ACCES, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NAMETOOLONG,
                  NFS3ERR_NOTEMPTY, NFS3ERR_PERM)

# id -> (name, the errors that are right in every procedure)
BAD_NAMES = {
    "empty": (b"", (NFS3ERR_ACCES,)),
    "slash": (b"a/b", (NFS3ERR_ACCES,)),
    "only-slash": (b"/", (NFS3ERR_ACCES,)),
    "climbing": (b"../escaped", (NFS3ERR_ACCES,)),
    "absolute": (b"/nonexistent-conformance/x", (NFS3ERR_ACCES,)),
    "nul": (b"file\0", (NFS3ERR_ACCES,)),
    "nul-inside": (b"fi\0le", (NFS3ERR_ACCES,)),
    "too-long": (b"n" * 256, (NFS3ERR_NAMETOOLONG,)),
    "much-too-long": (b"n" * 1024, (NFS3ERR_NAMETOOLONG,)),
}
IDS = list(BAD_NAMES)

# What may be said of "." and "..", by procedure.
DOT_ERRORS = {
    "CREATE": (NFS3ERR_EXIST, NFS3ERR_ISDIR, NFS3ERR_INVAL, NFS3ERR_ACCES),
    "MKDIR": (NFS3ERR_EXIST,),
    "SYMLINK": (NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ACCES),
    "MKNOD": (NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ACCES),
    "LINK": (NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ACCES),
    "REMOVE": (NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_ACCES, NFS3ERR_PERM, NFS3ERR_EXIST,
               NFS3ERR_NOTEMPTY),
    "RENAME": (NFS3ERR_INVAL, NFS3ERR_EXIST, NFS3ERR_ACCES, NFS3ERR_NOTEMPTY),
}


def bad_name(id, nfs, dir):
    """The name and its errors; the lengths follow the server's own name_max."""
    name, errors = BAD_NAMES[id]
    if id == "too-long":
        name = b"n" * (nfs.pathconf(dir).ok().name_max + 1)
    return name, errors
