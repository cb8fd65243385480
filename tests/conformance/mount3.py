# SPDX-License-Identifier: Apache-2.0
"""The MOUNT protocol: version 3 (RFC 1813 appendix I) and the older 1 (RFC 1094 appendix A)."""
import rpc
from rpc import GarbageAnswer, hexdump
from xdr import Packer, Unpacker, XdrError

PROGRAM = 100005
NULL, MNT, DUMP, UMNT, UMNTALL, EXPORT = range(6)
PATH_BYTES_MAX, NAME_BYTES_MAX = 1024, 255

MNT3_OK = 0
MNT3ERR_PERM, MNT3ERR_NOENT, MNT3ERR_IO, MNT3ERR_ACCES = 1, 2, 5, 13
MNT3ERR_NOTDIR, MNT3ERR_INVAL, MNT3ERR_NAMETOOLONG = 20, 22, 63
MNT3ERR_NOTSUPP, MNT3ERR_SERVERFAULT = 10004, 10006
STATUS_NAMES = {value: name for name, value in list(globals().items()) if name.startswith("MNT3")}


class MountReply:
    def __init__(self, call, status, fh=None, flavors=()):
        self.call, self.status, self.fh, self.flavors = call, status, fh, flavors

    @property
    def status_name(self):
        return STATUS_NAMES.get(self.status, "status %d" % self.status)

    def ok(self):
        assert self.status == MNT3_OK, "%s: expected MNT3_OK, got %s" % (self.call,
                                                                         self.status_name)
        return self

    def fails(self, *expected):
        assert self.status in expected, "%s: expected %s, got %s" % (
            self.call, " or ".join(STATUS_NAMES[status] for status in expected), self.status_name)
        return self


class Mount:
    def __init__(self, transport, cred, version=3):
        self.transport, self.cred, self.version = transport, cred, version

    def _call(self, name, procedure, arguments, decode):
        rpc.trace.append("-> MOUNT v%d %s [%s]" % (self.version, name, self.cred))
        results = self.transport.call(PROGRAM, self.version, procedure, arguments, self.cred)
        u = Unpacker(results)
        try:
            value = decode(u)
            u.done()
        except XdrError as error:
            raise GarbageAnswer("MOUNT %s: %s; results %s"
                                % (name, error, hexdump(results))) from None
        rpc.trace.append("<- MOUNT %s: %s" % (name, getattr(value, "status_name", value)))
        return value

    def null(self):
        return self._call("NULL", NULL, b"", lambda u: None)

    def mnt(self, path):
        name = "MNT(%r)" % path.decode("utf-8", "replace")

        def decode(u):
            status = u.u32()
            if status != MNT3_OK:
                return MountReply(name, status)
            if self.version == 1:
                return MountReply(name, status, u.fixed(32))
            fh = u.opaque(64)
            return MountReply(name, status, fh, [u.u32() for _ in range(u.u32())])
        return self._call(name, MNT, Packer().opaque(path).bytes(), decode)

    def dump(self):
        """The list of (host, path) pairs that the server believes to be mounted."""
        def decode(u):
            found = []
            while u.boolean():
                found.append((u.opaque(NAME_BYTES_MAX), u.opaque(PATH_BYTES_MAX)))
            return found
        return self._call("DUMP", DUMP, b"", decode)

    def umnt(self, path):
        return self._call("UMNT(%r)" % path.decode("utf-8", "replace"), UMNT,
                          Packer().opaque(path).bytes(), lambda u: None)

    def umntall(self):
        return self._call("UMNTALL", UMNTALL, b"", lambda u: None)

    def export(self):
        """The list of (path, [groups])."""
        def decode(u):
            found = []
            while u.boolean():
                path, groups = u.opaque(PATH_BYTES_MAX), []
                while u.boolean():
                    groups.append(u.opaque(NAME_BYTES_MAX))
                found.append((path, groups))
            return found
        return self._call("EXPORT", EXPORT, b"", decode)
