# SPDX-License-Identifier: Apache-2.0
"""A client whose file grows and shrinks: the size that was answered is the size after a cut."""
import nfs3
from hard import Fault

PIECES_BYTES = (1, 84, 512, 4095, 4096, 70000)
FILE_BYTES_MAX = 4 << 20


class Growing:
    """One file; each step is one stable call, and the file is read after each restart."""

    def __init__(self, number, client, root, chance, report):
        self._number = number
        self._client = client
        self._chance = chance
        self._report = report
        self._root = root
        self._promised = bytearray()
        self._checked_in = None
        self.steps = 0

    def prepare(self):
        self._file = self._client.ok("CREATE", dir=self._root, name=b"growing-%d" % self._number,
                                     how=nfs3.GUARDED, sattr=nfs3.Sattr(mode=0o644)).fh

    def step(self):
        now = self._client.life.now()
        if now % 2 == 0 and now != self._checked_in:
            self._check()
            self._checked_in = now
        action = self._chance.random()
        if len(self._promised) > FILE_BYTES_MAX:
            self._resize(self._chance.randrange(1000))
        elif action < 0.7:
            self._append()
        elif action < 0.9:
            self._resize(len(self._promised) + self._chance.randrange(1 << 18))
        else:
            self._resize(self._chance.randrange(len(self._promised) + 1))
        self.steps += 1

    def _append(self):
        data = self._chance.randbytes(self._chance.choice(PIECES_BYTES))
        stable = self._chance.choice((nfs3.DATA_SYNC, nfs3.FILE_SYNC))
        reply = self._client.ok("WRITE", file=self._file, offset=len(self._promised), data=data,
                                stable=stable)
        if reply.count != len(data):
            raise Fault(f"{reply.count} of {len(data)} bytes were written")
        self._promised += data

    def _resize(self, size):
        self._client.ok("SETATTR", file=self._file, sattr=nfs3.Sattr(size=size))
        del self._promised[size:]
        self._promised += bytes(size - len(self._promised))

    def _check(self):
        size = self._client.ok("GETATTR", file=self._file).attr.size
        if size != len(self._promised):
            raise Fault(f"the file has {size} bytes; promised: {len(self._promised)} (after a"
                        f" restart); step {self.steps}")
        for start in range(0, size, 1 << 16):
            data = self._client.ok("READ", file=self._file, offset=start, count=1 << 16).data
            wanted = self._promised[start:start + (1 << 16)]
            if data != wanted:
                at = next((i for i, (a, b) in enumerate(zip(data, wanted)) if a != b), len(data))
                raise Fault(f"byte {start + at} of {size} is not what was promised (after a"
                            f" restart); step {self.steps}")
            self._report.add("bytes verified", len(data))

    def finish(self):
        self._check()
        self._client.ok("REMOVE", dir=self._root, name=b"growing-%d" % self._number)
