# SPDX-License-Identifier: Apache-2.0
"""What the blocks of a file may hold, by what the server has promised; no I/O in here.

A file is a row of blocks. Each write of a block is a new version, whose content says which file,
block and version it is. For each block the model keeps the versions that the server could show:

    [7]         the server promised version 7 (FILE_SYNC, or COMMIT with the right verifier)
    [7, 8, 9]   8 and 9 were written UNSTABLE since. As long as the server lives it must show 9;
                after a restart, any of the three
    [0]         never written: a hole, or beyond the end

A restart is seen by the life's number, never by what the server says: its verifier is tested too.
"""
import struct

BLOCK_BYTES = 4096
STAMP = struct.Struct(">8sQQQ")
MAGIC = b"lodesoak"
HOLE = 0


def content(file_id, block, version):
    """The bytes of a version of a block."""
    if version == HOLE:
        return bytes(BLOCK_BYTES)
    return STAMP.pack(MAGIC, file_id, block, version) * (BLOCK_BYTES // STAMP.size)


def describe(data):
    """What a block holds, in words."""
    if not any(data):
        return "zeros"
    stamps = {data[at:at + STAMP.size] for at in range(0, len(data), STAMP.size)}
    if len(stamps) > 1:
        return f"{len(stamps)} different stamps"
    try:
        magic, file_id, block, version = STAMP.unpack(stamps.pop())
    except struct.error:
        return "a part of a stamp"
    if magic != MAGIC:
        return f"strange bytes {data[:16].hex()}"
    return f"version {version} of block {block} of file {file_id}"


class Block:
    """One block's versions, the last one's verifier, and the life they were last seen in."""

    __slots__ = ("versions", "verifier", "life")

    def __init__(self):
        self.versions = [HOLE]
        self.verifier = None
        self.life = None


class FileModel:
    """The blocks of one file, `base` blocks into it."""

    def __init__(self, file_id, base, count):
        self.file_id = file_id
        self.base = base
        self.blocks = [Block() for _ in range(count)]
        self.next_version = 1

    def offset(self, index):
        return (self.base + index) * BLOCK_BYTES

    def new_versions(self, start, count):
        """Numbers and bytes for a write of `count` blocks."""
        first = self.next_version
        self.next_version += count
        data = b"".join(content(self.file_id, start + at, first + at) for at in range(count))
        return first, data

    def sent(self, start, first, count):
        """A write was sent: from now on its versions may be there."""
        for at in range(count):
            self.blocks[start + at].versions.append(first + at)

    def answered(self, start, first, count, stable, verifier, life):
        """A write was answered. What was sent later to the same block stays as it is."""
        for at in range(count):
            block = self.blocks[start + at]
            if block.versions[-1] != first + at:
                continue
            block.life = life
            block.verifier = None if stable else verifier
            if stable:
                block.versions = [first + at]

    def truncated(self, count):
        """SETATTR of the size was answered: blocks from `count` on are gone, for good."""
        for block in self.blocks[count:]:
            block.versions, block.verifier, block.life = [HOLE], None, None

    def committed(self, verifier, start, count):
        """COMMIT was answered; gives the blocks whose last version the server has lost."""
        lost = []
        for index in range(start, start + count):
            block = self.blocks[index]
            if len(block.versions) == 1:
                continue
            if block.verifier == verifier:
                block.versions, block.verifier = block.versions[-1:], None
            else:
                lost.append(index)
        return lost

    def pending(self):
        return any(len(block.versions) > 1 for block in self.blocks)

    def check(self, start, data, life):
        """Hold what READ gave to the model; gives the words of a fault, or None.

        `life` is the server's incarnation if it is known and the same since the READ was sent.
        Data shorter than asked for ends the file: what is missing reads as a hole.
        """
        count = -(-len(data) // BLOCK_BYTES)
        for at in range(count):
            block = self.blocks[start + at]
            piece = data[at * BLOCK_BYTES:(at + 1) * BLOCK_BYTES].ljust(BLOCK_BYTES, b"\0")
            steady = life is not None and block.life == life
            allowed = block.versions[-1:] if steady else block.versions
            if not any(piece == content(self.file_id, start + at, v) for v in allowed):
                return (f"block {start + at} of file {self.file_id} holds {describe(piece)};"
                        f" promised: version {' or '.join(map(str, allowed))}"
                        f"{'' if steady else ' (after a restart)'}")
        return None
