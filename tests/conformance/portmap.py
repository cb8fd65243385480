# SPDX-License-Identifier: Apache-2.0
"""The portmapper (RFC 1833): version 2, and GETADDR of versions 3 and 4 (rpcbind)."""
import collections

from rpc import GarbageAnswer, hexdump
from xdr import Packer, Unpacker, XdrError

PROGRAM = 100000
PROC_NULL, PROC_SET, PROC_UNSET, PROC_GETPORT, PROC_DUMP = 0, 1, 2, 3, 4
RPCBPROC_GETADDR = 3
TCP, UDP = 6, 17

Mapping = collections.namedtuple("Mapping", "program version protocol port")


class Portmap:
    """Calls over any transport of rpc.py."""

    def __init__(self, transport):
        self.transport = transport

    def _call(self, version, procedure, arguments, decode):
        results = self.transport.call(PROGRAM, version, procedure, arguments)
        u = Unpacker(results)
        try:
            value = decode(u)
            u.done()
        except XdrError as error:
            raise GarbageAnswer("portmapper version %d procedure %d: %s; results %s"
                                % (version, procedure, error, hexdump(results))) from None
        return value

    def null(self, version=2):
        self._call(version, PROC_NULL, b"", lambda u: None)

    def getport(self, program, version, protocol=TCP):
        """The port, or 0 for "not registered"."""
        arguments = Packer().u32(program).u32(version).u32(protocol).u32(0).bytes()
        return self._call(2, PROC_GETPORT, arguments, lambda u: u.u32())

    def dump(self):
        def decode(u):
            found = []
            while u.boolean():
                found.append(Mapping(u.u32(), u.u32(), u.u32(), u.u32()))
            return found
        return self._call(2, PROC_DUMP, b"", decode)

    def getaddr(self, program, version, netid=b"tcp", rpcbind_version=3):
        """The universal address ("h1.h2.h3.h4.p1.p2") as bytes, or b"" for none."""
        arguments = Packer().u32(program).u32(version).opaque(netid).opaque(b"").opaque(b"")
        return self._call(rpcbind_version, RPCBPROC_GETADDR, arguments.bytes(),
                          lambda u: u.opaque())


def port_of_universal_address(address):
    """127.0.0.1.8.1 -> 2049"""
    high, low = address.decode("ascii").split(".")[-2:]
    return int(high) * 256 + int(low)
