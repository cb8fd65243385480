# SPDX-License-Identifier: Apache-2.0
"""What "hdparm -t" does, through the Linux kernel's own NFS client: one large file read from its
start to its end, buffered, with nothing of it in the client's cache. Beside it, the same read on
the server itself.
"""
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(HERE, "../clients")
sys.path.insert(0, CLIENTS)

import kernel_client  # noqa: E402
import sandbox  # noqa: E402

FILE = "hdparm.0"
READ_BYTES = 2 << 20  # hdparm's
READ_S_MAX = 120
ATTEMPTS = 2  # a guest may die for reasons of its own; that is no result
MIB = 1 << 20
PROGRAMS = {"linux.uml": "user-mode-linux", "mount.nfs": "nfs-common", "cc": "gcc",
            "busybox": "busybox-static", "ping": "iputils-ping"}


def _read_command(path):
    return f"LC_ALL=C dd if={path} of=/dev/null bs={READ_BYTES}"


def result_of(output):
    """A row's result from dd's last line; an operation is a MiB."""
    found = re.search(r"^(\d+) bytes .* copied, ([0-9.e-]+) s", output, re.MULTILINE)
    if not found or float(found[2]) <= 0:
        return {"failed": f"dd said: {output[-200:]}"}
    bytes_per_s = int(found[1]) / float(found[2])
    return {"block_bytes": MIB, "calls": int(found[1]) // MIB, "seconds": float(found[2]),
            "bytes_per_s": bytes_per_s, "ops_per_s": bytes_per_s / MIB}


def _cpu_s(pid):
    """The processor time of a process, finer than /proc/PID/stat: clock_getcpuclockid(3)."""
    scheduler_clock = 2
    return time.clock_gettime(~pid << 3 | scheduler_clock)


class KernelRead:
    """Guests, one a turn, since a guest may be lost."""

    def __init__(self):
        self._programs = sandbox.folder("bin")
        os.chmod(self._programs, 0o755)
        sandbox.command(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o",
                         os.path.join(self._programs, "uml_fpregs.so"),
                         os.path.join(CLIENTS, "uml_fpregs.c")])

    def through_guest(self, server, export):
        """Boot, mount, read; a result."""
        said = ""
        for number in range(1, ATTEMPTS + 1):
            guest = kernel_client.KernelClient(number, self._programs)
            try:
                return self._read(guest.start().wait_ready(), server, export)
            except kernel_client.GuestLost as error:
                said = str(error)[-200:]
            except (kernel_client.Hung, AssertionError) as error:
                return {"failed": str(error)[-200:]}
            finally:
                guest.stop()
        return {"failed": f"the guest was lost {ATTEMPTS} times; the last: {said}"}

    @staticmethod
    def _read(guest, server, export):
        before = _cpu_s(server.pid)
        result = result_of(guest.launch_mounted(server, export, _read_command(FILE))
                           .succeed(READ_S_MAX))
        used_s = _cpu_s(server.pid) - before
        if "failed" not in result:
            result["server_cpu_us_per_op"] = used_s * 1e6 / max(1, result["calls"])
        return result

    @staticmethod
    def on_server(export):
        """The same without a network; the file is in the server's page cache, as it was before."""
        return result_of(sandbox.command(["sh", "-c", _read_command(os.path.join(export, FILE))]))
