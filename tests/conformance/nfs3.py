# SPDX-License-Identifier: Apache-2.0
"""NFS version 3 (RFC 1813), the client's side.

A client is an RPC connection and a credential. Each of the 22 procedures is a method that takes
the arguments by their names and returns a Reply; a Reply has `status` and the fields of the
result, and two ways to hold the server to something:

    nfs.getattr(fh).ok().attr.size
    nfs.lookup(dir, b"missing").fails(NFS3ERR_NOENT)

Both raise an AssertionError that shows the call, what was expected and the decoded answer.
`start` and `wait` are the two halves of a call, for pipelining. The methods after `commit` are
shorthands made of several calls.

Every reply is decoded completely and strictly: a field out of its range or bytes left over are a
GarbageAnswer, whatever the test was about.
"""
import collections
import struct

import rpc
from rpc import GarbageAnswer, Rejected, hexdump
from xdr import Packer, Unpacker, XdrError

PROGRAM, VERSION = 100003, 3
FHSIZE_MAX = 64

NFS3_OK = 0
NFS3ERR_PERM, NFS3ERR_NOENT, NFS3ERR_IO, NFS3ERR_NXIO, NFS3ERR_ACCES = 1, 2, 5, 6, 13
NFS3ERR_EXIST, NFS3ERR_XDEV, NFS3ERR_NODEV, NFS3ERR_NOTDIR, NFS3ERR_ISDIR = 17, 18, 19, 20, 21
NFS3ERR_INVAL, NFS3ERR_FBIG, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_MLINK = 22, 27, 28, 30, 31
NFS3ERR_NAMETOOLONG, NFS3ERR_NOTEMPTY, NFS3ERR_DQUOT = 63, 66, 69
NFS3ERR_STALE, NFS3ERR_REMOTE = 70, 71
NFS3ERR_BADHANDLE, NFS3ERR_NOT_SYNC, NFS3ERR_BAD_COOKIE = 10001, 10002, 10003
NFS3ERR_NOTSUPP, NFS3ERR_TOOSMALL, NFS3ERR_SERVERFAULT = 10004, 10005, 10006
NFS3ERR_BADTYPE, NFS3ERR_JUKEBOX = 10007, 10008
STATUS_NAMES = {value: name for name, value in list(globals().items())
                if name.startswith("NFS3ERR_") or name == "NFS3_OK"}

NF3REG, NF3DIR, NF3BLK, NF3CHR, NF3LNK, NF3SOCK, NF3FIFO = range(1, 8)
TYPE_NAMES = {NF3REG: "REG", NF3DIR: "DIR", NF3BLK: "BLK", NF3CHR: "CHR", NF3LNK: "LNK",
              NF3SOCK: "SOCK", NF3FIFO: "FIFO"}
UNCHECKED, GUARDED, EXCLUSIVE = 0, 1, 2
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2
ACCESS_READ, ACCESS_LOOKUP, ACCESS_MODIFY = 0x01, 0x02, 0x04
ACCESS_EXTEND, ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_ALL = 0x08, 0x10, 0x20, 0x3F
FSF_LINK, FSF_SYMLINK, FSF_HOMOGENEOUS, FSF_CANSETTIME = 0x01, 0x02, 0x08, 0x10
SERVER_TIME = "server"  # SET_TO_SERVER_TIME, in the place of a (seconds, nanoseconds) pair


def status_name(status):
    return STATUS_NAMES.get(status, "status %d" % status)


# ------------------------------------------------------------------- values, encoded, decoded

class Sattr:
    """sattr3: what is None is not set. Times are (seconds, nanoseconds) or SERVER_TIME."""

    def __init__(self, mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
        self.fields = dict(mode=mode, uid=uid, gid=gid, size=size, atime=atime, mtime=mtime)

    def __repr__(self):
        shown = ("%s=%s" % (name, oct(value) if name == "mode" else value)
                 for name, value in self.fields.items() if value is not None)
        return "{%s}" % ", ".join(shown)

    def pack(self, p):
        for name in ("mode", "uid", "gid"):
            p.boolean(self.fields[name] is not None)
            if self.fields[name] is not None:
                p.u32(self.fields[name])
        p.boolean(self.fields["size"] is not None)
        if self.fields["size"] is not None:
            p.u64(self.fields["size"])
        for name in ("atime", "mtime"):
            time = self.fields[name]
            if time is None:
                p.u32(0)
            elif time == SERVER_TIME:
                p.u32(1)
            else:
                p.u32(2).u32(time[0]).u32(time[1])


Fattr = collections.namedtuple("Fattr", "type mode nlink uid gid size used rdev fsid fileid "
                                        "atime mtime ctime")
Before = collections.namedtuple("Before", "size mtime ctime")
Wcc = collections.namedtuple("Wcc", "before after")
Entry = collections.namedtuple("Entry", "fileid name cookie attr fh")


def _time(u):
    seconds, nanoseconds = u.u32(), u.u32()
    if nanoseconds >= 1000000000:
        raise XdrError("a time of %d nanoseconds" % nanoseconds)
    return seconds, nanoseconds


def _fattr(u):
    ftype = u.u32()
    if ftype not in TYPE_NAMES:
        raise XdrError("a file type of %d" % ftype)
    return Fattr(ftype, u.u32(), u.u32(), u.u32(), u.u32(), u.u64(), u.u64(), (u.u32(), u.u32()),
                 u.u64(), u.u64(), _time(u), _time(u), _time(u))


def _post_op_attr(u):
    return _fattr(u) if u.boolean() else None


def _handle(u):
    fh = u.opaque(FHSIZE_MAX)
    if not fh:
        raise XdrError("a file handle of 0 bytes")
    return fh


def _post_op_fh(u):
    return _handle(u) if u.boolean() else None


def _wcc(u):
    before = Before(u.u64(), _time(u), _time(u)) if u.boolean() else None
    return Wcc(before, _post_op_attr(u))


def show(value):
    """A value as it is printed in a failure."""
    if isinstance(value, Fattr):
        return "{%s mode %o nlink %d uid %d gid %d size %d used %d fileid %d mtime %d.%09d " \
               "ctime %d.%09d}" % ((TYPE_NAMES[value.type],) + value[1:7] + (value.fileid,)
                                   + value.mtime + value.ctime)
    if isinstance(value, Wcc):
        return "{before %s, after %s}" % (tuple(value.before) if value.before else "-",
                                          show(value.after) if value.after else "-")
    if isinstance(value, Entry):
        return "%r fileid %d cookie %d" % (value.name.decode("utf-8", "replace"), value.fileid,
                                           value.cookie)
    if isinstance(value, (bytes, bytearray)):
        text = repr(bytes(value[:24]))[1:]
        shown = text if text.count("\\x") < 9 else value[:24].hex(" ", 4)
        return shown + ("... (%d bytes)" % len(value) if len(value) > 24 else "")
    if isinstance(value, list):
        return "[%s%s]" % ("; ".join(show(item) for item in value[:6]),
                           "; ... %d in all" % len(value) if len(value) > 6 else "")
    return str(value)


def show_handle(fh):
    return "fh:%s" % hexdump(fh, 12)


# ---------------------------------------------------- arguments and results of each procedure
# An encoder gets a Packer and the arguments by name; a decoder gets an Unpacker and the status,
# and returns the fields of the result as a dictionary.

def _a_file(p, file):
    p.opaque(file)


def _a_name(p, dir, name):
    p.opaque(dir).opaque(name)


def _a_setattr(p, file, sattr, guard=None):
    p.opaque(file)
    sattr.pack(p)
    p.boolean(guard is not None)
    if guard is not None:
        p.u32(guard[0]).u32(guard[1])


def _a_access(p, file, access):
    p.opaque(file).u32(access)


def _a_read(p, file, offset, count):
    p.opaque(file).u64(offset).u32(count)


def _a_write(p, file, offset, data, stable=FILE_SYNC, count=None):
    p.opaque(file).u64(offset).u32(len(data) if count is None else count).u32(stable).opaque(data)


def _a_create(p, dir, name, how=UNCHECKED, sattr=None, verf=bytes(8)):
    p.opaque(dir).opaque(name).u32(how)
    if how == EXCLUSIVE:
        p.raw(verf)
    else:
        (sattr or Sattr()).pack(p)


def _a_mkdir(p, dir, name, sattr=None):
    p.opaque(dir).opaque(name)
    (sattr or Sattr()).pack(p)


def _a_symlink(p, dir, name, target, sattr=None):
    p.opaque(dir).opaque(name)
    (sattr or Sattr()).pack(p)
    p.opaque(target)


def _a_mknod(p, dir, name, type, sattr=None, rdev=(0, 0)):
    p.opaque(dir).opaque(name).u32(type)
    if type in (NF3CHR, NF3BLK):
        (sattr or Sattr()).pack(p)
        p.u32(rdev[0]).u32(rdev[1])
    elif type in (NF3SOCK, NF3FIFO):
        (sattr or Sattr()).pack(p)


def _a_rename(p, from_dir, from_name, to_dir, to_name):
    p.opaque(from_dir).opaque(from_name).opaque(to_dir).opaque(to_name)


def _a_link(p, file, dir, name):
    p.opaque(file).opaque(dir).opaque(name)


def _a_readdir(p, dir, cookie=0, verf=bytes(8), count=8192):
    p.opaque(dir).u64(cookie).raw(verf).u32(count)


def _a_readdirplus(p, dir, cookie=0, verf=bytes(8), dircount=8192, maxcount=32768):
    p.opaque(dir).u64(cookie).raw(verf).u32(dircount).u32(maxcount)


def _a_commit(p, file, offset=0, count=0):
    p.opaque(file).u64(offset).u32(count)


def _r_getattr(u, status):
    return dict(attr=_fattr(u)) if status == NFS3_OK else {}


def _r_wcc(u, status):
    return dict(wcc=_wcc(u))


def _r_lookup(u, status):
    if status != NFS3_OK:
        return dict(dir_attr=_post_op_attr(u))
    return dict(fh=_handle(u), attr=_post_op_attr(u), dir_attr=_post_op_attr(u))


def _r_access(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        fields["access"] = u.u32()
    return fields


def _r_readlink(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        fields["target"] = u.opaque()
    return fields


def _r_read(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        fields.update(count=u.u32(), eof=u.boolean(), data=u.opaque())
        if fields["count"] != len(fields["data"]):
            raise XdrError("READ: count is %d, with %d bytes of data"
                           % (fields["count"], len(fields["data"])))
    return fields


def _r_write(u, status):
    fields = dict(wcc=_wcc(u))
    if status == NFS3_OK:
        fields.update(count=u.u32(), committed=u.u32(), verf=u.fixed(8))
        if fields["committed"] > FILE_SYNC:
            raise XdrError("WRITE: committed is %d" % fields["committed"])
    return fields


def _r_create(u, status):
    if status != NFS3_OK:
        return dict(wcc=_wcc(u))
    return dict(fh=_post_op_fh(u), attr=_post_op_attr(u), wcc=_wcc(u))


def _r_rename(u, status):
    return dict(from_wcc=_wcc(u), to_wcc=_wcc(u))


def _r_link(u, status):
    return dict(attr=_post_op_attr(u), wcc=_wcc(u))


def _entries(u, plus):
    entries = []
    while u.boolean():
        fileid, name, cookie = u.u64(), u.opaque(), u.u64()
        attr, fh = (_post_op_attr(u), _post_op_fh(u)) if plus else (None, None)
        entries.append(Entry(fileid, name, cookie, attr, fh))
    return entries


def _r_readdir(u, status, plus=False):
    fields = dict(dir_attr=_post_op_attr(u))
    if status == NFS3_OK:
        fields.update(verf=u.fixed(8), entries=_entries(u, plus), eof=u.boolean())
    return fields


def _r_readdirplus(u, status):
    return _r_readdir(u, status, plus=True)


def _r_fsstat(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        for name in ("tbytes", "fbytes", "abytes", "tfiles", "ffiles", "afiles"):
            fields[name] = u.u64()
        fields["invarsec"] = u.u32()
    return fields


def _r_fsinfo(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        for name in ("rtmax", "rtpref", "rtmult", "wtmax", "wtpref", "wtmult", "dtpref"):
            fields[name] = u.u32()
        fields.update(maxfilesize=u.u64(), time_delta=_time(u), properties=u.u32())
    return fields


def _r_pathconf(u, status):
    fields = dict(attr=_post_op_attr(u))
    if status == NFS3_OK:
        fields.update(linkmax=u.u32(), name_max=u.u32())
        for name in ("no_trunc", "chown_restricted", "case_insensitive", "case_preserving"):
            fields[name] = u.boolean()
    return fields


def _r_commit(u, status):
    fields = dict(wcc=_wcc(u))
    if status == NFS3_OK:
        fields["verf"] = u.fixed(8)
    return fields


PROCEDURES = {
    "GETATTR": (1, _a_file, _r_getattr),
    "SETATTR": (2, _a_setattr, _r_wcc),
    "LOOKUP": (3, _a_name, _r_lookup),
    "ACCESS": (4, _a_access, _r_access),
    "READLINK": (5, _a_file, _r_readlink),
    "READ": (6, _a_read, _r_read),
    "WRITE": (7, _a_write, _r_write),
    "CREATE": (8, _a_create, _r_create),
    "MKDIR": (9, _a_mkdir, _r_create),
    "SYMLINK": (10, _a_symlink, _r_create),
    "MKNOD": (11, _a_mknod, _r_create),
    "REMOVE": (12, _a_name, _r_wcc),
    "RMDIR": (13, _a_name, _r_wcc),
    "RENAME": (14, _a_rename, _r_rename),
    "LINK": (15, _a_link, _r_link),
    "READDIR": (16, _a_readdir, _r_readdir),
    "READDIRPLUS": (17, _a_readdirplus, _r_readdirplus),
    "FSSTAT": (18, _a_file, _r_fsstat),
    "FSINFO": (19, _a_file, _r_fsinfo),
    "PATHCONF": (20, _a_file, _r_pathconf),
    "COMMIT": (21, _a_commit, _r_commit),
}
NUMBERS = {name: number for name, (number, _, _) in PROCEDURES.items()}
HANDLE_ARGUMENTS = ("file", "dir", "from_dir", "to_dir")


def pack_arguments(procedure, **arguments):
    p = Packer()
    PROCEDURES[procedure][1](p, **arguments)
    return p.bytes()


def describe(procedure, arguments):
    shown = ("%s=%s" % (name, show_handle(value) if name in HANDLE_ARGUMENTS else show(value))
             for name, value in arguments.items() if value is not None)
    return "%s(%s)" % (procedure, ", ".join(shown))


class Reply:
    """A decoded result; fields that this result does not have are None."""

    def __init__(self, call, status, fields, result_bytes):
        self.call, self.status, self.fields = call, status, fields
        self.result_bytes = result_bytes  # length of the result on the wire, status included

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.fields.get(name)

    def __str__(self):
        shown = ("%s=%s" % (name, show_handle(value) if name == "fh" and value else show(value))
                 for name, value in self.fields.items() if value is not None)
        return "%s {%s}" % (status_name(self.status), ", ".join(shown))

    def summary(self):
        """Without attributes: one short line for the trace."""
        shown = ("%s=%s" % (name, show_handle(value) if name == "fh" else show(value))
                 for name, value in self.fields.items()
                 if value is not None and not isinstance(value, (Fattr, Wcc)))
        return " ".join([status_name(self.status)] + list(shown))

    def expect(self, condition, expected):
        """Hold the server to `expected`, a phrase, which is true if `condition` is."""
        __tracebackhide__ = True
        assert condition, "\n  call:     %s\n  expected: %s\n  actual:   %s" % (self.call, expected,
                                                                            self)
        return self

    def ok(self):
        __tracebackhide__ = True
        return self.expect(self.status == NFS3_OK, "NFS3_OK")

    def fails(self, *statuses):
        """The status must be one of these."""
        __tracebackhide__ = True
        names = [status_name(status) for status in statuses]
        return self.expect(self.status in statuses, " or ".join(names))

    def refused(self):
        """Any error will do, so long as it is one."""
        return self.expect(self.status != NFS3_OK, "an error")


Pending = collections.namedtuple("Pending", "xid procedure call")


def decode_result(procedure, call, results):
    u = Unpacker(results)
    try:
        status = u.u32()
        if status not in STATUS_NAMES:
            raise XdrError("a status of %d, which is no nfsstat3" % status)
        fields = PROCEDURES[procedure][2](u, status)
        u.done()
    except XdrError as error:
        raise GarbageAnswer("\n  call:     %s\n  expected: a well-formed result\n"
                            "  actual:   %s\n  on the wire: %s"
                            % (call, error, hexdump(results, 256))) from None
    return Reply(call, status, fields, len(results))


class Nfs3:
    def __init__(self, connection, cred):
        self.connection, self.cred = connection, cred

    def as_user(self, uid, gid, gids=()):
        """The same connection, somebody else."""
        return Nfs3(self.connection, rpc.auth_sys(uid, gid, gids))

    # -- one call, whole or in halves

    def message(self, procedure, xid=None, **arguments):
        """The bytes of a call, to be sent (again) by hand."""
        return rpc.call_message(PROGRAM, VERSION, NUMBERS[procedure],
                                pack_arguments(procedure, **arguments), self.cred, xid=xid)

    def start(self, procedure, **arguments):
        call = "%s [%s]" % (describe(procedure, arguments), self.cred)
        rpc.trace.append("-> " + call)
        return Pending(self.connection.send(self.message(procedure, **arguments)), procedure, call)

    def wait(self, pending, timeout=None):
        try:
            header = self.connection.wait(pending.xid, timeout)
            return self.decode(header, pending.procedure, pending.call)
        except (rpc.NoAnswer, rpc.ConnectionLost) as error:
            raise type(error)("\n  call:     %s\n  expected: an answer\n  actual:   %s"
                              % (pending.call, error)) from None

    @staticmethod
    def decode(header, procedure, call="(call sent by hand)"):
        if header.accept_stat != rpc.SUCCESS:
            rpc.trace.append("<- %s: %s" % (procedure, header))
            raise Rejected("\n  call:     %s\n  expected: a result of %s\n  actual:   %s"
                           % (call, procedure, header))
        reply = decode_result(procedure, call, header.results)
        rpc.trace.append("<- %s" % reply.summary())
        return reply

    def call(self, procedure, **arguments):
        return self.wait(self.start(procedure, **arguments))

    # -- the procedures

    def null(self):
        self.connection.call(PROGRAM, VERSION, 0, b"", self.cred)

    def getattr(self, file):
        return self.call("GETATTR", file=file)

    def setattr(self, file, guard=None, **attributes):
        return self.call("SETATTR", file=file, sattr=Sattr(**attributes), guard=guard)

    def lookup(self, dir, name):
        return self.call("LOOKUP", dir=dir, name=name)

    def access(self, file, access=ACCESS_ALL):
        return self.call("ACCESS", file=file, access=access)

    def readlink(self, file):
        return self.call("READLINK", file=file)

    def read(self, file, offset, count):
        return self.call("READ", file=file, offset=offset, count=count)

    def write(self, file, offset, data, stable=FILE_SYNC, count=None):
        return self.call("WRITE", file=file, offset=offset, data=data, stable=stable, count=count)

    def create(self, dir, name, how=UNCHECKED, **attributes):
        return self.call("CREATE", dir=dir, name=name, how=how, sattr=Sattr(**attributes))

    def create_exclusive(self, dir, name, verf):
        return self.call("CREATE", dir=dir, name=name, how=EXCLUSIVE, verf=verf)

    def mkdir(self, dir, name, **attributes):
        return self.call("MKDIR", dir=dir, name=name, sattr=Sattr(**attributes))

    def symlink(self, dir, name, target, **attributes):
        return self.call("SYMLINK", dir=dir, name=name, target=target, sattr=Sattr(**attributes))

    def mknod(self, dir, name, type, rdev=(0, 0), **attributes):
        return self.call("MKNOD", dir=dir, name=name, type=type, sattr=Sattr(**attributes),
                         rdev=rdev)

    def remove(self, dir, name):
        return self.call("REMOVE", dir=dir, name=name)

    def rmdir(self, dir, name):
        return self.call("RMDIR", dir=dir, name=name)

    def rename(self, from_dir, from_name, to_dir, to_name):
        return self.call("RENAME", from_dir=from_dir, from_name=from_name, to_dir=to_dir,
                         to_name=to_name)

    def link(self, file, dir, name):
        return self.call("LINK", file=file, dir=dir, name=name)

    def readdir(self, dir, cookie=0, verf=bytes(8), count=8192):
        return self.call("READDIR", dir=dir, cookie=cookie, verf=verf, count=count)

    def readdirplus(self, dir, cookie=0, verf=bytes(8), dircount=8192, maxcount=32768):
        return self.call("READDIRPLUS", dir=dir, cookie=cookie, verf=verf, dircount=dircount,
                         maxcount=maxcount)

    def fsstat(self, file):
        return self.call("FSSTAT", file=file)

    def fsinfo(self, file):
        return self.call("FSINFO", file=file)

    def pathconf(self, file):
        return self.call("PATHCONF", file=file)

    def commit(self, file, offset=0, count=0):
        return self.call("COMMIT", file=file, offset=offset, count=count)

    # -- shorthands: several calls that must all succeed

    def attributes(self, file):
        return self.getattr(file).ok().attr

    def find(self, dir, name):
        """The handle of a name that must be there."""
        return self.lookup(dir, name).ok().fh

    def handle_of_new(self, reply, dir, name):
        """The handle that CREATE and its kind gave, or LOOKUP's if they gave none."""
        return reply.ok().fh or self.find(dir, name)

    def new_file(self, dir, name, data=b"", mode=0o644, **attributes):
        reply = self.create(dir, name, GUARDED, mode=mode, **attributes)
        fh = self.handle_of_new(reply, dir, name)
        self.write_all(fh, data)
        return fh

    def new_dir(self, dir, name, mode=0o755, **attributes):
        return self.handle_of_new(self.mkdir(dir, name, mode=mode, **attributes), dir, name)

    def new_symlink(self, dir, name, target):
        return self.handle_of_new(self.symlink(dir, name, target), dir, name)

    def write_all(self, file, data, offset=0, stable=FILE_SYNC, chunk=65536):
        at = 0
        while at < len(data):
            reply = self.write(file, offset + at, data[at:at + chunk], stable).ok()
            reply.expect(0 < reply.count <= min(chunk, len(data) - at),
                         "1..%d bytes written" % chunk)
            at += reply.count

    def read_all(self, file, chunk=65536):
        data = b""
        while True:
            reply = self.read(file, len(data), chunk).ok()
            data += reply.data
            if reply.eof:
                return data
            reply.expect(reply.count > 0, "some data, or eof")

    def list(self, dir, plus=False, **limits):
        """All entries of a directory, "." and ".." included if the server lists them."""
        entries, cookie, verf = [], 0, bytes(8)
        while True:
            call = self.readdirplus if plus else self.readdir
            reply = call(dir, cookie, verf, **limits).ok()
            entries += reply.entries
            if reply.eof:
                return entries
            reply.expect(reply.entries, "at least one entry, or eof")
            cookie, verf = reply.entries[-1].cookie, reply.verf

    def names(self, dir, **limits):
        """The names in a directory, without "." and ".."."""
        return sorted(entry.name for entry in self.list(dir, **limits)
                      if entry.name not in (b".", b".."))

    def remove_tree(self, dir, name):
        reply = self.lookup(dir, name)
        if reply.status == NFS3ERR_NOENT:
            return
        fh = reply.ok().fh
        if self.attributes(fh).type != NF3DIR:
            self.remove(dir, name).ok()
            return
        self.setattr(fh, mode=0o700)  # so that a user can empty it, too
        while True:
            inside = self.names(fh)
            if not inside:
                break
            for at in range(0, len(inside), 64):
                calls = [(child, self.start("REMOVE", dir=fh, name=child))
                         for child in inside[at:at + 64]]
                for child in [child for child, call in calls if self.wait(call).status != NFS3_OK]:
                    self.remove_tree(fh, child)
        self.rmdir(dir, name).ok()


def changed_handle(fh, position, mask=0xFF):
    """The handle with one byte changed."""
    return fh[:position] + struct.pack("B", fh[position] ^ mask) + fh[position + 1:]
