# SPDX-License-Identifier: Apache-2.0
"""One harmless set of arguments for each NFSv3 procedure that takes any, for tests that go through
all of them. `handle` stands first, where the object or directory goes; `home` where a second
directory is needed."""
from nfs3 import NF3FIFO, Sattr


def arguments(procedure, handle, home):
    return {
        "GETATTR": dict(file=handle),
        "SETATTR": dict(file=handle, sattr=Sattr(mode=0o600)),
        "LOOKUP": dict(dir=handle, name=b"x"),
        "ACCESS": dict(file=handle, access=1),
        "READLINK": dict(file=handle),
        "READ": dict(file=handle, offset=0, count=100),
        "WRITE": dict(file=handle, offset=0, data=b"data"),
        "CREATE": dict(dir=handle, name=b"x"),
        "MKDIR": dict(dir=handle, name=b"x"),
        "SYMLINK": dict(dir=handle, name=b"x", target=b"y"),
        "MKNOD": dict(dir=handle, name=b"x", type=NF3FIFO),
        "REMOVE": dict(dir=handle, name=b"x"),
        "RMDIR": dict(dir=handle, name=b"x"),
        "RENAME": dict(from_dir=handle, from_name=b"x", to_dir=home, to_name=b"y"),
        "LINK": dict(file=handle, dir=home, name=b"y"),
        "READDIR": dict(dir=handle),
        "READDIRPLUS": dict(dir=handle),
        "FSSTAT": dict(file=handle),
        "FSINFO": dict(file=handle),
        "PATHCONF": dict(file=handle),
        "COMMIT": dict(file=handle),
    }[procedure]
