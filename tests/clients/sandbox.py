# SPDX-License-Identifier: Apache-2.0
"""A place to run servers and clients that leaves nothing behind, however it ends.

`supervise()` makes a work folder and runs the calling script again as process 1 of new PID,
network and mount namespaces. When that process ends or is killed, the kernel kills every server,
client and virtual machine in the PID namespace, and with the last of them go the network, the
mounts and the loop devices. So there is no clean-up code that a crash could skip; only the work
folder remains, and the supervisor (or the next run, if the supervisor itself was killed) removes
it.

Nothing in here can reach the machine's own network: the namespace has loopback and one bridge.
"""
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ADDRESS = "198.51.100.1"  # the bridge, where servers listen; TEST-NET-2 of RFC 5737
NETWORK_BITS = 24
MTU_BYTES = 9000
BRIDGE = "br0"
INSIDE = "LODESTORE_SANDBOX"  # environment: set to the work folder inside the namespaces
WORK_PARENT = "/var/tmp"
IMAGE_BYTES = 12 << 30
MEMORY_BYTES = 6 << 30
FILE_SYSTEMS = ("xfs", "ext4", "btrfs", "tmpfs")

MKFS = {
    "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "btrfs": ["mkfs.btrfs", "-q"],
}


class SandboxError(Exception):
    """Something the tests need is missing or failed; the message says what to do."""


def command(argv, **options):
    """Run a program to its end; its output is in the error if it fails."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode != 0:
        raise SandboxError(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def need_programs(programs):
    """Refuse to start without the programs; {program: Debian package}."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = sorted({package for name, package in programs.items()
                      if not shutil.which(name, path=path)})
    if missing:
        raise SandboxError("Programs are missing. Install them with './dev deps' or"
                           f" 'apt-get install {' '.join(missing)}'.")


def wait_for(condition, seconds, what, pause=0.02):
    """Poll until the condition gives something true, and give that."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SandboxError(f"waited {seconds} s in vain: {what}")
        time.sleep(pause)


# Outside the namespaces.

def supervise(prefix):
    """Run this script again inside; gives its exit status. Call it when inside() is None."""
    if os.geteuid() != 0:
        raise SandboxError("Namespaces, mounts and tap devices need root. Run it with sudo.")
    _remove_stale(prefix)
    work = tempfile.mkdtemp(prefix=prefix + ".", dir=WORK_PARENT)
    lock = _lock(work)
    os.chmod(work, 0o755)
    argv = ["unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork",
            "--kill-child", "--mount-proc", sys.executable, os.path.abspath(sys.argv[0]),
            *sys.argv[1:]]
    inner = subprocess.Popen(argv, env={**os.environ, INSIDE: work}, preexec_fn=_die_with_parent)
    signal.signal(signal.SIGTERM, lambda *_: inner.kill())
    try:
        status = _wait(inner)
    finally:
        inner.kill()
        inner.wait()
        shutil.rmtree(work, ignore_errors=True)
        lock.close()
    return status if status >= 0 else 128 - status


def _wait(inner):
    while True:
        try:
            return inner.wait()
        except KeyboardInterrupt:  # the terminal told the inner process too: let it report
            try:
                return inner.wait(timeout=10)
            except subprocess.TimeoutExpired:
                return -signal.SIGINT


def _die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def _lock(work):
    """The work folder is in use as long as this lock is held."""
    lock = open(os.path.join(work, "lock"), "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _remove_stale(prefix):
    for name in os.listdir(WORK_PARENT):
        path = os.path.join(WORK_PARENT, name)
        if name.startswith(prefix + ".") and os.path.isfile(os.path.join(path, "lock")):
            try:
                _lock(path).close()
                shutil.rmtree(path, ignore_errors=True)
            except OSError:
                pass  # another run is using it


# Inside.

def inside():
    """The work folder if this process is inside, else None."""
    return os.environ.get(INSIDE)


def setup():
    """Prepare the namespaces: an own /run (rpcbind's socket lives there), loopback, the bridge."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    command(["mount", "-t", "tmpfs", "run", "/run"])
    command(["ip", "link", "set", "lo", "up"])
    command(["ip", "link", "add", BRIDGE, "mtu", str(MTU_BYTES), "type", "bridge"])
    command(["ip", "addr", "add", f"{ADDRESS}/{NETWORK_BITS}", "dev", BRIDGE])
    command(["ip", "link", "set", BRIDGE, "up"])


def folder(*parts):
    """A folder below the work folder, made if need be."""
    path = os.path.join(inside(), *parts)
    os.makedirs(path, exist_ok=True)
    return path


def mount_volume(kind, image_dir=None):
    """A new file system of this kind; gives the folder it is mounted on.

    Its image is a sparse file in memory: the thousands of flushes that an NFS server owes to its
    clients then cost little, and the image goes with the mount namespace. With `image_dir` it lies
    in that folder instead, and past the page cache of the disk that the folder is on.
    """
    target = folder("volume", kind)
    if kind == "tmpfs":
        command(["mount", "-t", "tmpfs", "-o", f"size={MEMORY_BYTES},mode=755", "volume", target])
        return target
    image = os.path.join(image_dir or folder("memory"), f"{kind}.{os.getpid()}.image")
    if not image_dir and not os.path.ismount(os.path.dirname(image)):
        command(["mount", "-t", "tmpfs", "-o", f"size={MEMORY_BYTES}", "images",
                 os.path.dirname(image)])
    with open(image, "wb") as sparse:
        sparse.truncate(IMAGE_BYTES)
    try:
        command(MKFS[kind] + [image])
        command(["mount", "-o", "loop,discard", image, target])
    finally:
        os.unlink(image)  # the loop device holds it until the file system is unmounted
    if image_dir:
        device = command(["findmnt", "-n", "-o", "SOURCE", target]).strip()
        command(["losetup", "--direct-io=on", device])
    return target


def unmount_volume(kind):
    command(["umount", folder("volume", kind)])


class Network:
    """One more network namespace with its own /run; `prefix` before a command runs it there."""

    def __init__(self):
        script = ("mount -t tmpfs run /run && ip link set lo up"
                  f" && ip link add {BRIDGE} type bridge"
                  f" && ip addr add {ADDRESS}/{NETWORK_BITS} dev {BRIDGE}"
                  f" && ip link set {BRIDGE} up && echo ready && exec sleep infinity")
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", script], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        if self._holder.stdout.readline() != "ready\n":
            raise SandboxError("a second network namespace could not be made")
        self.prefix = ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--"]

    def close(self):
        self._holder.kill()
        self._holder.wait()
        self._holder.stdout.close()
