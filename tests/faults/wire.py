# SPDX-License-Identifier: Apache-2.0
"""wire.py - a network cable between this network namespace and one that is made for it, which
loses, delays, reorders and doubles packets, or forgets the large ones.

A tun device lies at either end, and this file, run as a program, carries packets from one to the
other: what tc-netem(8) does, for kernels that are built without it.
"""
import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

NEAR, FAR = "198.18.0.1", "198.18.0.%d"  # RFC 2544: networks for tests
FAR_HOSTS = 100                          # addresses at the far end, from .2 on
DEVICE = "wire0"
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
PACKET_BYTES_MAX = 65536
BATCH = 64
HOLD_MAX = 20000  # packets under way: more are lost, as in a full router

# What a perfect wire does; shares are of 1, times in seconds, each way.
PERFECT = {"up": 1.0, "delay": 0.0, "jitter": 0.0, "loss": 0.0, "double": 0.0, "reorder": 0.0,
           "reorder_delay": 0.01, "packet_bytes": PACKET_BYTES_MAX}


class Wire:
    """The cable, its far end's namespace, and the process that carries packets."""

    def __init__(self, seed, mtu=1500):
        self._here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "a network namespace could not be made")
        self._there = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        far = _tun([FAR % (2 + host) for host in range(FAR_HOSTS)], mtu)
        _enter(self._here)
        near = _tun([NEAR], mtu)
        self._process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), str(near), str(far), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(near, far), text=True)
        os.close(near)
        os.close(far)

    @contextlib.contextmanager
    def far_end(self):
        """Sockets that this thread makes meanwhile are at the far end."""
        _enter(self._there)
        try:
            yield
        finally:
            _enter(self._here)

    def be(self, **faults):
        """From now on perfect but for these; what is under way arrives as it would have."""
        unknown = set(faults) - set(PERFECT)
        assert not unknown, "no wire is %s" % unknown
        self._ask(" ".join("%s=%r" % fault for fault in {**PERFECT, **faults}.items()))

    def mtu(self, mtu):
        """Of both devices."""
        _run("ip", "link", "set", DEVICE, "mtu", str(mtu))
        with self.far_end():
            _run("ip", "link", "set", DEVICE, "mtu", str(mtu))

    def counts(self):
        """Packets that were carried, lost, doubled and reordered so far."""
        return dict(zip(("carried", "lost", "doubled", "reordered"),
                        map(int, self._ask("counts").split())))

    def _ask(self, command):
        print(command, file=self._process.stdin, flush=True)
        return self._process.stdout.readline()

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def _enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace cannot be entered")


def _run(*argv):
    subprocess.run(argv, check=True)


def _tun(addresses, mtu):
    """A device in the namespace that this thread is in; the descriptor of its packets."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    _run("ip", "link", "set", "lo", "up")
    for address in addresses:
        _run("ip", "addr", "add", address + "/24", "dev", DEVICE)
    _run("ip", "link", "set", DEVICE, "mtu", str(mtu), "txqueuelen", "10000", "up")
    return tun


# ---- the program ----

class Carrier:
    """Takes packets out of one device and puts them into the other when they are due."""

    def __init__(self, ends, chance):
        self._ends, self._chance = ends, chance
        self._is = dict(PERFECT)
        self._under_way = []  # (when due, number, to which end, packet)
        self._number = 0
        self.carried = self.lost = self.doubled = self.reordered = 0

    def be(self, words):
        self._is = {name: float(value) for name, value in
                    (word.split("=") for word in words)}

    def take(self, end):
        other = self._ends[1 - self._ends.index(end)]
        for _ in range(BATCH):
            try:
                packet = os.read(end, PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            self._fate(other, packet)

    def _fate(self, to, packet):
        if (not self._is["up"] or self._chance.random() < self._is["loss"]
                or len(packet) > self._is["packet_bytes"] or len(self._under_way) >= HOLD_MAX):
            self.lost += 1
            return
        due = time.monotonic() + self._is["delay"] + self._chance.random() * self._is["jitter"]
        if self._chance.random() < self._is["reorder"]:
            self.reordered += 1
            due += self._is["reorder_delay"]
        twice = self._chance.random() < self._is["double"]
        self.doubled += twice
        for _ in range(1 + twice):
            self._number += 1
            heapq.heappush(self._under_way, (due, self._number, to, packet))

    def deliver(self):
        """What is due; gives the seconds until there is more, or None."""
        while self._under_way:
            wait = self._under_way[0][0] - time.monotonic()
            if wait > 0:
                return wait
            _, _, to, packet = heapq.heappop(self._under_way)
            try:
                os.write(to, packet)
                self.carried += 1
            except OSError:  # the device is down, or smaller than the packet meanwhile
                self.lost += 1
        return None


def main():
    ends, seed = [int(word) for word in sys.argv[1:3]], sys.argv[3]
    carrier = Carrier(ends, random.Random(seed))
    while True:
        ready = select.select([sys.stdin] + ends, [], [], carrier.deliver())[0]
        for end in ends:
            if end in ready:
                carrier.take(end)
        if sys.stdin not in ready:
            continue
        words = sys.stdin.readline().split()
        if not words:
            return
        if words != ["counts"]:
            carrier.be(words)
        print(carrier.carried, carrier.lost, carrier.doubled, carrier.reordered, flush=True)


if __name__ == "__main__":
    main()
