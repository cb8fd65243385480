# SPDX-License-Identifier: Apache-2.0
"""Things to copy, and whether two of them are equal."""
import hashlib
import os
import random
import stat

TREE_FILES = 5000
SMALL_TREE_FILES = 600
TREE_FILES_PER_FOLDER = 20
TREE_FILE_BYTES_MAX = 24 << 10
TREE_SEED = 1813
SPARSE_BYTES = 4 << 30
SPARSE_ISLANDS = 96
PIECE_BYTES = 1 << 20


def make_tree(path, files):
    """Files of 0 to 24 KiB, 20 to a folder, some with odd names, and some symbolic links."""
    chance = random.Random(TREE_SEED)
    data = chance.randbytes(2 * TREE_FILE_BYTES_MAX)
    os.mkdir(path)
    folders = [path]
    for number in range(files // TREE_FILES_PER_FOLDER):
        folder = os.path.join(chance.choice(folders[-40:]), _name(chance, "folder", number))
        os.mkdir(folder)
        folders.append(folder)
        for file_number in range(TREE_FILES_PER_FOLDER):
            file = os.path.join(folder, _name(chance, "file", file_number))
            start = chance.randrange(TREE_FILE_BYTES_MAX)
            length = chance.choice((0, 1, 511, 4096, chance.randrange(TREE_FILE_BYTES_MAX)))
            with open(file, "wb") as out:
                out.write(data[start:start + length])
            os.chmod(file, chance.choice((0o644, 0o600, 0o755, 0o444)))
        if number % 10 == 0:
            os.symlink("../missing target " + "x" * number, os.path.join(folder, "link"))
    os.mkdir(os.path.join(path, "empty folder"))


def _name(chance, kind, number):
    odd = {0: " with spaces", 1: " ünï-\u6587\u5b57", 2: "'\"$\\;&|*?", 3: "-" + "n" * 180,
           4: "\ttab"}
    return f"{kind}{number}{odd.get(chance.randrange(40), '')}"


def tree_differences(left, right, folder_times=True):
    """What differs between two trees, as readable lines; an empty list if nothing does."""
    seen_left, seen_right = _describe(left, folder_times), _describe(right, folder_times)
    lines = [f"only in the first: {name}" for name in seen_left if name not in seen_right]
    lines += [f"only in the second: {name}" for name in seen_right if name not in seen_left]
    lines += [f"{name}: {seen_left[name]} became {seen_right[name]}" for name in seen_left
              if name in seen_right and seen_left[name] != seen_right[name]]
    return lines


def _describe(top, folder_times):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            entry = [stat.filemode(status.st_mode), int(status.st_mtime)]
            if stat.S_ISDIR(status.st_mode) and not folder_times:
                entry.pop()
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    entry += [status.st_size, hashlib.sha256(file.read()).hexdigest()[:16]]
            elif stat.S_ISLNK(status.st_mode):
                entry = [stat.filemode(status.st_mode), os.readlink(path)]
            found[os.path.relpath(path, top)] = entry
    return found


def make_sparse(path):
    """A file of 4 GiB: islands of data at odd places, the first and last byte among them."""
    chance = random.Random(TREE_SEED)
    starts = [0, SPARSE_BYTES - 1] + [chance.randrange(SPARSE_BYTES)
                                      for _ in range(SPARSE_ISLANDS)]
    with open(path, "wb") as out:
        out.truncate(SPARSE_BYTES)
        for start in starts:
            out.seek(start)
            out.write(chance.randbytes(min(chance.randrange(1, 300_000), SPARSE_BYTES - start)))


def data_ranges(path, around_bytes):
    """(offset, length) of a file's data with so many bytes of what is before and behind; in order,
    without overlap."""
    ranges = []
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        start = _next_data(file, 0, size)
        while start < size:
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            first, last = max(start - around_bytes, 0), min(end + around_bytes, size)
            if ranges and first <= sum(ranges[-1]):
                first = ranges.pop()[0]
            ranges.append((first, last - first))
            start = _next_data(file, end, size)
    return ranges


def first_difference(left, right):
    """Offset of the first byte where two files differ, None if they are equal. Skips holes that
    both have."""
    with open(left, "rb", buffering=0) as one, open(right, "rb", buffering=0) as two:
        size = os.fstat(one.fileno()).st_size
        if os.fstat(two.fileno()).st_size != size:
            return min(os.fstat(two.fileno()).st_size, size)
        offset = 0
        while offset < size:
            start = min(_next_data(one, offset, size), _next_data(two, offset, size))
            if start >= size:
                return None
            a = os.pread(one.fileno(), PIECE_BYTES, start)
            b = os.pread(two.fileno(), PIECE_BYTES, start)
            if a != b:
                return start + next(i for i, (x, y) in enumerate(zip(a, b)) if x != y)
            offset = start + len(a)
    return None


def _next_data(file, offset, size):
    try:
        return os.lseek(file.fileno(), offset, os.SEEK_DATA)
    except OSError:  # ENXIO: only a hole is left
        return size
