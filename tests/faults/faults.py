# SPDX-License-Identifier: Apache-2.0
"""faults.py - what the tests of this folder share: a server of their own, clients, verdicts.

Clients are the conformance suite's (tests/conformance), so no mistake is shared with the server.
"""
import atexit
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import mount3  # noqa: E402
import nfs3  # noqa: E402
import rpc  # noqa: E402

CRED = rpc.auth_sys(0, 0, ())
passed = 0


def check(truth, claim, detail=""):
    """A claim that holds is counted; one that does not ends the test."""
    global passed
    if not truth:
        print("FAILED: %s%s" % (claim, ": %s" % detail if detail else ""))
        sys.exit(1)
    passed += 1
    print("ok: %s" % claim)


class Server:
    """lodestore-nfsd on a port of 127.0.0.1, with an exports file that may be changed."""

    def __init__(self, program, port, lines, prefix=(), status=None, conf=None):
        self.program, self.port, self.prefix = program, port, list(prefix)
        self.folder = tempfile.mkdtemp(prefix="lodestore-faults.")
        self.exports = os.path.join(self.folder, "exports")
        self.log = os.path.join(self.folder, "log")
        self.status = status or os.path.join(self.folder, "nfsd.sock")
        self.process, self.more = None, []
        if conf is not None:
            self.more = ["--config", os.path.join(self.folder, "conf")]
            with open(self.more[1], "w", encoding="ascii") as file:
                file.write(conf)
        atexit.register(self.end)
        self.write(lines)

    def end(self):
        """Whatever became of the test, its server does not outlive it."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def write(self, lines):
        with open(self.exports, "w") as file:
            file.write("\n".join(lines) + "\n")

    def spawn(self):
        self.process = subprocess.Popen(
            self.prefix + [self.program, "--foreground", "--no-rpcbind", "--port", str(self.port),
                           "--listen", "127.0.0.1", "--state-dir", self.folder + "/state",
                           "--status-socket", self.status, "--exports", self.exports] + self.more,
            stderr=open(self.log, "a"), stdin=subprocess.DEVNULL)

    def start(self):
        open(self.log, "w").close()
        self.spawn()
        self.wait_for_line("ready on port")
        return self

    def log_text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def wait_for_line(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.log_text():
            if self.process.poll() is not None or time.monotonic() > end:
                print(self.log_text())
                check(False, "the server says '%s'" % text)
            time.sleep(0.02)

    def reload(self, lines, says):
        """New exports, SIGHUP, and the line that the server answers it with."""
        open(self.log, "w").close()
        self.write(lines)
        self.process.send_signal(signal.SIGHUP)
        self.wait_for_line(says)

    def nfs(self):
        return nfs3.Nfs3(rpc.TcpConnection("127.0.0.1", self.port), CRED)

    def mount(self, path):
        return mount3.Mount(rpc.TcpConnection("127.0.0.1", self.port), CRED).mnt(path.encode())

    def stop(self):
        """SIGTERM; the seconds it took and the status."""
        begin = time.monotonic()
        self.process.terminate()
        status = self.process.wait(30)
        return time.monotonic() - begin, status
