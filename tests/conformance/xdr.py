# SPDX-License-Identifier: Apache-2.0
"""XDR (RFC 4506), the part of it that NFSv3 needs.

`Packer` collects bytes, `Unpacker` takes them apart and is strict: what a correct encoder cannot
produce (padding that is not zero, a boolean that is neither 0 nor 1, a string that runs past the
end) raises XdrError, because a server that sends it is wrong.
"""
import struct


class XdrError(Exception):
    """The bytes are not valid XDR for the type that was asked for."""


def padding(length):
    """How many zero bytes follow an opaque of this length."""
    return -length % 4


class Packer:
    def __init__(self):
        self._parts = []

    def bytes(self):
        return b"".join(self._parts)

    def raw(self, data):
        """Bytes exactly as they are: for building what is deliberately wrong, too."""
        self._parts.append(bytes(data))
        return self

    def u32(self, value):
        return self.raw(struct.pack(">I", value & 0xFFFFFFFF))

    def u64(self, value):
        return self.raw(struct.pack(">Q", value & 0xFFFFFFFFFFFFFFFF))

    def boolean(self, value):
        return self.u32(1 if value else 0)

    def fixed(self, data):
        return self.raw(data).raw(bytes(padding(len(data))))

    def opaque(self, data):
        return self.u32(len(data)).fixed(data)


class Unpacker:
    def __init__(self, data):
        self._data = data
        self._at = 0

    def _take(self, count):
        if count > len(self._data) - self._at:
            raise XdrError("%d bytes wanted at byte %d of %d" % (count, self._at, len(self._data)))
        taken = self._data[self._at:self._at + count]
        self._at += count
        return taken

    @property
    def position(self):
        return self._at

    def rest(self):
        """Everything that is left, undecoded."""
        return self._take(len(self._data) - self._at)

    def u32(self):
        return struct.unpack(">I", self._take(4))[0]

    def u64(self):
        return struct.unpack(">Q", self._take(8))[0]

    def boolean(self):
        value = self.u32()
        if value > 1:
            raise XdrError("a boolean of %d at byte %d" % (value, self._at - 4))
        return value == 1

    def fixed(self, count):
        data = self._take(count)
        if any(self._take(padding(count))):
            raise XdrError("padding that is not zero before byte %d" % self._at)
        return data

    def opaque(self, limit=0xFFFFFFFF):
        length = self.u32()
        if length > limit:
            raise XdrError("%d bytes where the protocol allows %d" % (length, limit))
        return self.fixed(length)

    def done(self):
        left = len(self._data) - self._at
        if left:
            raise XdrError("%d bytes left over after the result" % left)
