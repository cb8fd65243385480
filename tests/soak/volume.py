# SPDX-License-Identifier: Apache-2.0
"""The file system that is served, and how its power is cut.

A power cut is the file system's own: XFS and ext4 can be told to stop at once and to forget what
they have not yet made stable (the ioctl behind `xfs_io -x -c shutdown`). What is there after it has
been unmounted and mounted again is what would be there after a loss of power.
"""
import fcntl
import os
import struct
import subprocess
import time

import sandbox

GOING_DOWN = 0x8004587D  # XFS_IOC_GOINGDOWN, EXT4_IOC_SHUTDOWN
NO_LOG_FLUSH = 2
CAN_BE_CUT = ("xfs", "ext4")
UNMOUNT_S = 20


class Volume:
    def __init__(self, kind, bytes_count, on_disk):
        self.kind = kind
        self.path = sandbox.folder("volume")
        self._image = None
        if kind == "tmpfs":
            sandbox.command(["mount", "-t", "tmpfs", "-o", f"size={bytes_count // 4},mode=755",
                             "volume", self.path])
        else:
            self._image = os.path.join(self._image_folder(on_disk), kind)
            with open(self._image, "wb") as sparse:
                sparse.truncate(bytes_count)
            sandbox.command(sandbox.MKFS[kind] + [self._image])
            self._mount()
        self.export = os.path.join(self.path, "export")
        os.mkdir(self.export)
        os.chmod(self.export, 0o1777)

    @staticmethod
    def _image_folder(on_disk):
        folder = sandbox.folder("image")
        if not on_disk:
            sandbox.command(["mount", "-t", "tmpfs", "-o", f"size={sandbox.MEMORY_BYTES}", "images",
                             folder])
        return folder

    @property
    def can_be_cut(self):
        return self.kind in CAN_BE_CUT

    def _mount(self):
        sandbox.command(["mount", "-o", "loop,discard", self._image, self.path])

    def cut(self):
        """Lose what is not stable. No server may run."""
        top = os.open(self.path, os.O_RDONLY)
        fcntl.ioctl(top, GOING_DOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(top)
        self._unmount()
        self._mount()

    def _unmount(self):
        deadline = time.monotonic() + UNMOUNT_S
        while subprocess.run(["umount", self.path], check=False, capture_output=True).returncode:
            if time.monotonic() > deadline:
                sandbox.command(["umount", self.path])
            time.sleep(0.1)

    def used_bytes(self):
        status = os.statvfs(self.path)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def close(self):
        if self._image:
            self._unmount()
