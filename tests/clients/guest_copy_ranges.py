# SPDX-License-Identifier: Apache-2.0
"""guest_copy_ranges.py RANGES FROM TO - in the guest: copy the ranges that the file RANGES lists
("offset length" a line) from one file into the same places of another, which is made as long."""
import os
import sys

PIECE_BYTES = 1 << 20


def main():
    ranges, source, target = sys.argv[1:]
    with open(source, "rb", buffering=0) as read, open(target, "wb", buffering=0) as write:
        os.ftruncate(write.fileno(), os.fstat(read.fileno()).st_size)
        for line in open(ranges, encoding="ascii"):
            offset, end = int(line.split()[0]), sum(map(int, line.split()))
            while offset < end:
                piece = os.pread(read.fileno(), min(PIECE_BYTES, end - offset), offset)
                if not piece:
                    break
                os.pwrite(write.fileno(), piece, offset)
                offset += len(piece)


main()
