# SPDX-License-Identifier: Apache-2.0
"""What a workload finds in the export, made on the server's side once for all turns.

A stage also says what is to be done before each run, so that every server finds the same: the boot
images out of the page cache, the tree's copy empty.
"""
import os
import random
import shutil

import kernel_read
import sandbox

OPEN_FILE_BYTES = 64 << 10
TREE_FILE_BYTES = (256, 1024, 4096, 4096, 16384, 65536)
TREE_FOLDERS_EACH = 8
SPARSE_BYTES = {"sparse-small.0": 256 << 20, "sparse-large.0": ((1 << 24) - 1) << 20}


class Stage:
    """Nothing but the export itself."""

    def __init__(self, export, copy, sizes):
        self.export = export
        self.copy = copy
        self.sizes = sizes

    def prepare(self):
        """Once."""

    def before(self):
        """Before each run."""


class Boot(Stage):
    """Clones of one image, each a file of its own that shares the image's blocks."""

    def path(self, number):
        return os.path.join(self.export, f"boot.{number}")

    def prepare(self):
        _fill(self.path(0), self.sizes["boot_mib"] << 20)
        for number in range(1, self.sizes["clones"]):
            sandbox.command(["cp", "--reflink=always", self.path(0), self.path(number)])

    def before(self):
        for number in range(self.sizes["clones"]):
            forget(self.path(number))


class Tree(Stage):
    """Small files in many folders, some of them deep, in an export of their own."""

    def prepare(self):
        chance = random.Random(1813)
        folders = [self.export]
        for number in range(self.sizes["tree_folders"]):
            parent = folders[number // TREE_FOLDERS_EACH]
            folders.append(os.path.join(parent, f"folder{number:05d}"))
            os.mkdir(folders[-1])
        data = chance.randbytes(max(TREE_FILE_BYTES))
        for number in range(self.sizes["tree_files"]):
            path = os.path.join(chance.choice(folders), f"file{number:05d}")
            with open(path, "wb") as file:
                file.write(data[:chance.choice(TREE_FILE_BYTES)])
        os.sync()

    def before(self):
        for entry in list(os.scandir(self.copy)):
            if entry.is_dir():
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


class Open(Stage):
    """Files to have open at once."""

    def prepare(self):
        for number in range(max(10, self.sizes["open_files"])):
            _fill(os.path.join(self.export, f"open.{number}"), OPEN_FILE_BYTES)


class Sparse(Stage):
    """Files without a block."""

    def prepare(self):
        for name in SPARSE_BYTES:
            with open(os.path.join(self.export, name), "wb"):
                pass

    def before(self):
        for name, size in SPARSE_BYTES.items():
            os.truncate(os.path.join(self.export, name), 0)
            os.truncate(os.path.join(self.export, name), size)


class Entries(Stage):
    """A folder of many empty files."""

    folder, size = "many", "entries"

    def prepare(self):
        path = os.path.join(self.export, self.folder)
        os.mkdir(path)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        for number in range(self.sizes[self.size]):
            os.mknod(f"entry.{number:07d}", dir_fd=folder)
        os.close(folder)


class FewEntries(Entries):
    """The same, small, to compare with."""

    folder, size = "few", "few_entries"


class Large(Stage):
    """One file to be read from end to end; it stays in the server's page cache."""

    def prepare(self):
        _fill(os.path.join(self.export, kernel_read.FILE), self.sizes["large_mib"] << 20)


STAGES = {"": Stage, "boot": Boot, "tree": Tree, "open": Open, "sparse": Sparse, "many": Entries,
          "few": FewEntries, "hdparm": Large}


def _fill(path, size):
    piece = os.urandom(min(size, 1 << 20))
    with open(path, "wb") as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        os.fsync(file.fileno())


def forget(path):
    """Drop the file's pages from the cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
