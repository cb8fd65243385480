# SPDX-License-Identifier: Apache-2.0
"""Both daemons in a folder of their own, NFS clients of the conformance suite, and HTTP.

$NFSD and $OFFLOADD are the programs, $METRICS_DIR lies on what is exported. Needs root."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "conformance"), os.path.join(here, "..", "offload")]
import exposition  # noqa: E402
import mount3  # noqa: E402
import native  # noqa: E402
import nfs3  # noqa: E402
import rpc  # noqa: E402

CRED = rpc.auth_sys(0, 0, ())
PORT, HTTP_PORT = 32249, 32250
WAIT_S = 60
KEPT_S = 0.11  # DOCUMENT_MS of nfsd/http.c
# A newline is refused in exports; the unit test has one.
HOSTILE = 'quo"te\\back\u00e9<img src=x onerror=alert(1)>'
NOT_UTF8 = b"bytes\xff\xfe"


class Daemon:
    def __init__(self, program, log, *words):
        self.log = log
        self.process = subprocess.Popen([os.environ[program], "--foreground", *words],
                                        stdin=subprocess.DEVNULL, stderr=open(log, "ab"))

    def log_text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(WAIT_S)
        assert how == signal.SIGKILL or status == 0, self.log_text()


def until(what, seconds=WAIT_S):
    """What it gives when that is something; an OSError is nothing yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            result = what()
        except OSError:
            result = None
        if result:
            return result
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


class Lodestore:
    """A fresh pair of them; @exports: more lines, @conf: more text."""

    def __init__(self, exports=(), conf=""):
        self.top = os.environ["METRICS_DIR"] + "/t"
        shutil.rmtree(self.top, ignore_errors=True)
        self.export = self.top + "/export"
        os.makedirs(self.export)
        self.sock, self.conf = self.top + "/offload.sock", self.top + "/conf"
        with open(self.conf, "w") as file:
            file.write(conf if "[metrics]" in conf
                       else f"[metrics]\nlisten = 127.0.0.1:{HTTP_PORT}\n" + conf)
            file.write(f"\n[offload]\nsocket = {self.sock}\n")
        rule = "127.0.0.0/8(rw,no_root_squash)"
        with open(self.top + "/exports", "wb") as file:
            file.write(f"{self.export} {rule}\n".encode())
            for path in exports:
                path = path if isinstance(path, bytes) else os.fsencode(path)
                os.makedirs(path, exist_ok=True)
                file.write(octal(path) + b" " + rule.encode() + b"\n")
        self.nfsd = self.offloadd = None
        self.start_offloadd()
        self.start_nfsd()

    def start(self, program, *words):
        log = f"{self.top}/{program}.log"
        open(log, "wb").close()
        return Daemon(program, log, "--config", self.conf, "--exports", self.top + "/exports",
                      "--state-dir", self.top + "/state", *words)

    def start_offloadd(self):
        self.offloadd = self.start("OFFLOADD")
        until(lambda: native.Client(self.sock))

    def start_nfsd(self):
        self.nfsd = self.start("NFSD", "--listen", "127.0.0.1", "--port", str(PORT),
                               "--no-rpcbind", "--status-socket", self.top + "/nfsd.sock")
        until(lambda: "ready on port" in self.nfsd.log_text())

    def end(self):
        for daemon in self.nfsd, self.offloadd:
            if daemon:
                daemon.end()
        shutil.rmtree(self.top, ignore_errors=True)

    def nfs(self, source="127.0.0.1", cred=CRED):
        return nfs3.Nfs3(rpc.TcpConnection("127.0.0.1", PORT, source_address=source), cred)

    def root(self, path=None):
        connection = rpc.TcpConnection("127.0.0.1", PORT)
        root = mount3.Mount(connection, CRED).mnt(os.fsencode(path or self.export)).ok().fh
        connection.close()
        return root

    def metrics(self):
        time.sleep(KEPT_S)  # what was made before now is not given any more then
        status, headers, text = ask("/metrics")
        assert status == 200
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return exposition.parse(text.decode())

    def status(self):
        status, headers, text = ask("/status.json")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        return json.loads(text)


def octal(path):
    """As exports(5) takes any byte: \\ooo."""
    return b"".join(bytes((c,)) if c < 128 and chr(c).isalnum() or c in b"/-_." else b"\\%03o" % c
                    for c in path)


def ask(path, method="GET", headers=None, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", HTTP_PORT, timeout=WAIT_S)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()
