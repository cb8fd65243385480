# SPDX-License-Identifier: Apache-2.0
"""lodestore-offloadd and lodestore-nfsd on the file system that $OFFLOAD_DIR lies on, and files.

$OFFLOADD and $NFSD are the programs. Needs root.
"""

import os
import signal
import socket
import subprocess
import time

from native import Client, path

MIB = 1 << 20
top = os.environ["OFFLOAD_DIR"]
port = int(os.environ.get("OFFLOAD_PORT", "32149"))
sock = top + "/sock"


class Server:
    """One of the two programs."""

    def __init__(self, program, *args):
        self.log = open(f"{top}/{program}.log", "ab")
        self.process = subprocess.Popen(
            [os.environ[program], "--foreground", "--config", top + "/conf", "--exports",
             top + "/exports", "--state-dir", top + "/state", *args], stderr=self.log)

    def wait_for(self, connect):
        for _ in range(500):
            try:
                return connect()
            except OSError:
                assert self.process.poll() is None, "the server has ended"
                time.sleep(0.02)
        raise TimeoutError

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        status = self.process.wait(20)
        self.log.close()
        assert how == signal.SIGKILL or status == 0


def start_offloadd():
    server = Server("OFFLOADD")
    server.wait_for(lambda: Client(sock).close())
    return server


def start_nfsd():
    server = Server("NFSD", "--listen", "127.0.0.1,::1", "--port", str(port))
    server.wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close())
    return server


def file(name, folder="e"):
    return path(f"{top}/{folder}/{name}")


def make(name, size=16 * MIB, data=((1, 3),), folder="e"):
    """A file of @size with data at (from, count) MiB."""
    with open(f"{top}/{folder}/{name}", "wb") as made:
        made.truncate(size)
        for begin, count in data:
            made.seek(begin * MIB)
            made.write(os.urandom(count * MIB))
        made.flush()
        os.fsync(made.fileno())


def content(name, folder="e"):
    with open(f"{top}/{folder}/{name}", "rb") as opened:
        return opened.read()
