# SPDX-License-Identifier: Apache-2.0
"""A file system on a disk whose power can be cut, and the disk's process."""
import os
import random
import signal
import subprocess
import sys
import time

import sandbox
from volume import CAN_BE_CUT, Volume

HERE = os.path.dirname(os.path.realpath(__file__))
DISK_BYTES = 1 << 30
UNMOUNT_S = 30
KEEP = (0, 0.5, 0.9)  # how likely a block that was not flushed is there all the same


class NoDisk(Exception):
    """This machine cannot have such a disk; the message says why."""


class Disk:
    """disk.py's process; `path` is the file that a loop device stands on."""

    def __init__(self):
        self.path = os.path.join(sandbox.folder("disk"), "disk")
        with open(self.path, "wb"):
            pass
        with open(self.path + ".log", "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-B", os.path.join(HERE, "disk.py"), self.path, str(DISK_BYTES)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        if self._process.stdout.readline() != "ready\n":
            raise NoDisk(f"no FUSE: {self._last_words()}")

    def tell(self, *command):
        """A command, and its answer."""
        print(*command, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise sandbox.SandboxError(f"the disk's process ended: {self._last_words()}")
        return answer.strip()

    def close(self):
        sandbox.command(["umount", self.path])
        self._process.stdin.close()
        self._process.wait()

    def _last_words(self):
        with open(self.path + ".log", encoding="utf-8") as log:
            return (log.read().strip().splitlines() or ["it said nothing"])[-1]


def make_durable(folder):
    """A server that loses the very folder it exports would only not start again."""
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def new_state_dir(path):
    """The key of the handles and the journal are cut off as well as what is exported."""
    state = os.path.join(path, "state")
    os.mkdir(state, 0o700)
    make_durable(state)
    return state


class PoweredVolume:
    """A file system that is mounted from such a disk."""

    def __init__(self, kind, seed):
        self.kind = kind
        self.path = sandbox.folder("volume")
        self.blocks_unflushed = self.blocks_lost = 0
        self._chance = random.Random(f"{seed}/disk")
        self._disk = Disk()
        self._make(sandbox.MKFS[kind])
        self._mount()
        self.export = os.path.join(self.path, "export")
        os.mkdir(self.export)
        make_durable(self.export)
        self.state = new_state_dir(self.path)

    def _make(self, mkfs):
        """mkfs wants a block device; that it is one with a volatile cache is the point."""
        try:
            loop = sandbox.command(["losetup", "--find", "--show", self._disk.path]).strip()
        except sandbox.SandboxError as error:
            raise NoDisk(f"no loop device: {error}") from None
        try:
            name = os.path.basename(loop)
            with open(f"/sys/block/{name}/queue/write_cache", encoding="ascii") as cache:
                kept = cache.read().strip()
            if kept != "write back":
                raise NoDisk(f"{loop} says '{kept}' of its cache: no flush would reach the disk")
            sandbox.command(mkfs + [loop])
        finally:
            sandbox.command(["losetup", "--detach", loop])

    def _mount(self):
        sandbox.command(["mount", "-o", "loop", self._disk.path, self.path])

    def cut(self, running):
        """The power of disk and servers goes at the same moment, and comes back for the disk.

        First the disk answers nobody any more, so nothing that a server does from here on can
        make it answer a client: what it waits for does not end before it has been killed.
        """
        keep = self._chance.choice(KEEP)
        unflushed, lost = self._disk.tell("freeze", self._chance.randrange(1 << 30), keep).split()
        self.blocks_unflushed += int(unflushed)
        self.blocks_lost += int(lost)
        for server in running:
            server.process.send_signal(signal.SIGKILL)
        self._disk.tell("fail")
        for server in running:
            server.kill()
        self._unmount()
        self._disk.tell("on")
        self._mount()

    def _unmount(self):
        """Until the kernel has taken the server's rings and files apart, it is busy."""
        deadline = time.monotonic() + UNMOUNT_S
        while subprocess.run(["umount", self.path], check=False, capture_output=True).returncode:
            if time.monotonic() > deadline:
                sandbox.command(["umount", self.path])
            time.sleep(0.02)

    def close(self):
        self._unmount()
        self._disk.close()

    def how(self):
        return (f"the disk forgot {self.blocks_lost:,} of {self.blocks_unflushed:,} blocks that"
                " were not flushed")


class ShutVolume(Volume):
    """The next best thing where no such disk can be had: the file system forgets (volume.py)."""

    def __init__(self, kind, _):
        if kind not in CAN_BE_CUT:
            raise NoDisk(f"no disk that forgets, and {kind} cannot be told to forget by itself")
        super().__init__(kind, DISK_BYTES, False)
        make_durable(self.export)
        self.state = new_state_dir(self.path)

    def cut(self, running):
        for server in running:
            server.kill()
        super().cut()

    def how(self):
        return "the file system was told to forget"
