# SPDX-License-Identifier: Apache-2.0
"""A Linux kernel as NFS client: Debian's user-mode Linux, an ordinary process of ours.

It boots in about two seconds, sees the machine's root read-only, and is attached to the sandbox's
bridge by a tap device. Several can run at once. Scripts are bash; they start in the mounted
export, and what they print comes back with their exit status.
"""
import glob
import os
import shlex
import shutil
import subprocess
import time

import sandbox

HERE = os.path.dirname(os.path.abspath(__file__))
BOOT_S = 60
PING_EVERY_S = 10
LOST_S = 60  # a guest that has not answered for so long
MOUNT_FAILED = 125
OUTPUT_SHOWN = 3000  # characters
MODULES = "/usr/lib/uml/modules"


class Hung(Exception):
    """The script or the guest did not finish in time; the guest has been killed."""


class GuestLost(Hung):
    """The guest died or its network did: a ping got no answer. That is not the server's doing."""


class Watch:
    """Whether a guest still answers, asked now and then: one that hangs is not waited for."""

    def __init__(self, client):
        self._client = client
        self._asked = self._heard = time.monotonic()

    def lost(self):
        now = time.monotonic()
        if now >= self._asked + PING_EVERY_S:
            if self._client.answers_ping():
                self._heard = now
            self._asked = time.monotonic()
        return now > self._heard + LOST_S


class Job:
    """A script running in a guest."""

    def __init__(self, client, number):
        self._client = client
        self._stem = client.path(str(number))

    def finished(self):
        return os.path.exists(self._stem + ".status")

    def wait(self, seconds):
        """Exit status and output of the script."""
        watch = Watch(self._client)
        began = time.monotonic()
        try:
            sandbox.wait_for(lambda: self.finished() or not self._client.alive() or watch.lost(),
                             seconds, "the script in the guest ends")
            kind = GuestLost
        except sandbox.SandboxError:
            kind = Hung if self._client.answers_ping() else GuestLost
        if not self.finished():
            if not self._client.alive():
                raise GuestLost(f"the guest is gone; its console:\n{self._client.console_tail()}")
            output, state = self.output(), self._client.state()
            self._client.kill()
            raise kind(f"no end after {time.monotonic() - began:.0f} s; output so far:\n"
                       f"{output}\n{state}")
        with open(self._stem + ".status", encoding="ascii") as file:
            return int(file.read()), self.output()

    def succeed(self, seconds):
        """The output of the script; a failure if its status is not 0."""
        status, output = self.wait(seconds)
        if len(output) > OUTPUT_SHOWN:
            output = "..." + output[-OUTPUT_SHOWN:]
        assert status != MOUNT_FAILED, f"the mount failed: {output}"
        assert status == 0, f"status {status}: {output}"
        return output

    def output(self):
        try:
            with open(self._stem + ".out", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""


class KernelClient:
    """One guest, number 1 to 99."""

    def __init__(self, number, programs, memory_mib=640):
        self.number = number
        self._programs = programs  # holds uml_fpregs.so
        self._memory_mib = memory_mib
        self._folder = sandbox.folder("guest", f"{number}-{os.urandom(3).hex()}")
        self._tap = f"guest{number}"
        self._jobs = 0
        self._process = None
        self.mount_point = self.path("mnt")

    def path(self, name):
        """A path that host and guest share."""
        return os.path.join(self._folder, name)

    def start(self):
        """Begin to boot; wait_ready() waits for the end of it."""
        os.makedirs(self.mount_point)
        # Beside the jobs: the guest covers /tmp and /run, where this tree may lie.
        for name in glob.glob(os.path.join(HERE, "guest_*.py")):
            shutil.copy(name, self._folder)
        os.makedirs(self.path("modules/lib"))
        os.symlink(MODULES, self.path("modules/lib/modules"))
        with open(self.path("settings"), "w", encoding="ascii") as settings:
            settings.write(f"GUEST_MODULES={self.path('modules')} GUEST_MTU={sandbox.MTU_BYTES}\n"
                           f"GUEST_ADDRESS={self._address()}/{sandbox.NETWORK_BITS}\n")
        sandbox.command(["ip", "tuntap", "add", "dev", self._tap, "mode", "tap"])
        sandbox.command(["ip", "link", "set", self._tap, "mtu", str(sandbox.MTU_BYTES), "master",
                         sandbox.BRIDGE, "up"])
        with open(self.path("console"), "wb") as console:
            self._process = subprocess.Popen(
                self._argv(), stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                env={**os.environ, "LD_PRELOAD": os.path.join(self._programs, "uml_fpregs.so"),
                     "TMPDIR": "/dev/shm", "HOME": self._folder})
        return self

    def _address(self):
        return sandbox.ADDRESS.rsplit(".", 1)[0] + f".{100 + self.number}"

    def _argv(self):
        network = (f"vec0:transport=tap,ifname={self._tap},depth=128,gro=1,"
                   f"mtu={sandbox.MTU_BYTES},mac=52:54:00:77:00:{self.number:02x}")
        return ["linux.uml", f"mem={self._memory_mib}M", "root=/dev/root", "rootfstype=hostfs",
                "rootflags=/", "ro", f"init={os.path.join(HERE, 'guest-init')}",
                f"GUEST={self._folder}", network, "con=null", "con0=null,fd:1", "con1=null",
                "ssl=null", "quiet"]

    def wait_ready(self):
        try:
            sandbox.wait_for(lambda: os.path.exists(self.path("ready")) or not self.alive(),
                             BOOT_S, "the guest boots")
        except sandbox.SandboxError:
            self.kill()
        if not self.alive():
            raise GuestLost(f"the guest did not boot; its console:\n{self.console_tail()}")
        return self

    def alive(self):
        return self._process is not None and self._process.poll() is None

    def signal(self, number):
        self._process.send_signal(number)

    def answers_ping(self):
        return subprocess.run(["ping", "-c", "3", "-W", "2", "-q", self._address()], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def state(self):
        """What tells who waits for whom: the connections with their queues, the guest's threads."""
        shown = [["ss", "-tnoime"], ["ip", "-s", "link", "show", "dev", self._tap],
                 ["ps", "-eLo", "pid,tid,stat,wchan:24,pcpu,comm"]]
        parts = [subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False).stdout for argv in shown]
        return "\n".join([*parts, "console:", self.console_tail()])

    def console_tail(self, lines=30):
        with open(self.path("console"), encoding="utf-8", errors="replace") as console:
            return "".join(console.readlines()[-lines:])

    def launch(self, script):
        """Start a bash script without a mount."""
        job = Job(self, self._jobs)
        stem = self.path(str(self._jobs))
        self._jobs += 1
        with open(stem + ".sh", "w", encoding="utf-8") as file:
            file.write(script)
        with open(stem + ".go", "w", encoding="ascii"):
            pass
        return job

    def launch_mounted(self, server, export, script, options="", before=""):
        """Start a bash script in the mounted export; `set -e` is on. `before` runs first."""
        mount_options = (f"nfsvers=3,tcp,port={server.nfs_port},mountport={server.mount_port},"
                         f"mountproto=tcp,nolock,hard,sec=sys,retry=0,{server.mount_options},"
                         f"{options}").strip(",").replace(",,", ",")
        point = shlex.quote(self.mount_point)
        source = shlex.quote(f"{sandbox.ADDRESS}:{export}")
        return self.launch(
            f"GUEST={shlex.quote(self._folder)}\n{before}\n"
            f"mount.nfs {source} {point} -n -o {mount_options} || exit {MOUNT_FAILED}\n"
            f"cd {point}\nMNT={point}\n"
            f"PATH=$PATH:{self._programs}\n"
            f"(\nset -e\n{script}\n)\nstatus=$?\n"
            f"cd /\numount {point} || {{ umount -l {point}; status=1; }}\nexit $status\n")

    def stop(self):
        """Power off; the kernel's messages are in `dmesg` then."""
        if self.alive():
            with open(self.path("stop"), "w", encoding="ascii"):
                pass
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            subprocess.run(["ip", "link", "del", self._tap], check=False, capture_output=True)
