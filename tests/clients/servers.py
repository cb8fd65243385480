# SPDX-License-Identifier: Apache-2.0
"""NFS servers under test: lodestore, and nfs-ganesha to compare with.

A server is a foreground process of ours that exports some folders. It can be killed and started
again with the same exports, ports and state.
"""
import os
import signal
import socket
import subprocess
import sys

import sandbox

READY_S = 30
STOP_S = 10
HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    """What both have in common. `prefix` puts the process into another namespace."""

    name = ""
    has_portmapper = False  # answers port 111 itself when there is no rpcbind
    mount_options = ""  # that a Linux client needs

    def __init__(self, exports, label="main", prefix=()):
        self.exports = list(exports)
        self.label = label
        self.prefix = list(prefix)
        self.state = sandbox.folder("state", f"{self.name}-{label}")
        self.log = os.path.join(self.state, "log")
        self.process = None

    def argv(self):
        raise NotImplementedError

    def start(self):
        """Start it and wait until it answers the NULL procedure."""
        self.launch()
        probe = [sys.executable, os.path.join(HERE, "nfs_null.py"), sandbox.ADDRESS,
                 str(self.nfs_port), str(READY_S)]
        if subprocess.run(self.prefix + probe, check=False).returncode != 0:
            raise sandbox.SandboxError(f"{self.name} does not answer NULL on port {self.nfs_port}"
                                       f" {READY_S} s after its start; its log:\n{self.log_tail()}")
        return self

    def launch(self):
        """Start it without waiting."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.prefix + self.argv(), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """As if the power of the server's program was cut: kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """SIGTERM; gives the exit status, or None if it had to be killed."""
        if not self.alive():
            return self.process.returncode if self.process else None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def log_tail(self, lines=40):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def sanitizer_report(self):
        """The text of a sanitizer's report in the log, or an empty string."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            text = log.read()
        for mark in ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:",
                     "WARNING: ThreadSanitizer"):
            if mark in text:
                return text[text.index(mark):][:8000]
        return ""


class Lodestore(Server):
    name = "lodestore"
    has_portmapper = True

    def __init__(self, exports, label="main", prefix=(), binary=None, port=2049, rpcbind=False,
                 options="rw,no_root_squash", settings=""):
        super().__init__(exports, label, prefix)
        self.binary = binary or os.path.join(HERE, "../../build/bin/lodestore-nfsd")
        self.nfs_port = self.mount_port = port
        self.rpcbind = rpcbind
        self.options = options
        self.settings = settings  # of lodestore.conf
        self.state_dir = self.state

    def common_words(self):
        """What server and sidecar are told alike."""
        config = os.path.join(self.state, "lodestore.conf")
        with open(config, "w", encoding="ascii") as out:
            out.write(self.settings)
        words = ["--config", config, "--foreground", "--state-dir", self.state_dir]
        for export in self.exports:
            words += ["--export", f"{export} *({self.options})"]
        return words

    def argv(self):
        argv = [self.binary, *self.common_words(), "--listen", "0.0.0.0", "--port",
                str(self.nfs_port)]
        if not self.rpcbind:
            argv.append("--no-rpcbind")
        return argv


class Sidecar(Server):
    """lodestore-offloadd beside a lodestore-nfsd, with its exports and state."""

    name = "sidecar"
    SETTINGS = "[offload]\nsocket = {}\n"  # of lodestore.conf, for both

    def __init__(self, beside, socket_path, binary):
        super().__init__(beside.exports, beside.label)
        self._beside = beside
        self._socket_path = socket_path
        self._binary = binary

    def argv(self):
        return [self._binary, *self._beside.common_words()]

    def start(self):
        self.launch()
        sandbox.wait_for(self._answers, READY_S, "the sidecar takes connections")
        return self

    def _answers(self):
        if not self.alive():
            raise sandbox.SandboxError(f"the sidecar ended; its log:\n{self.log_tail()}")
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self._socket_path) == 0


class Ganesha(Server):
    """Debian's nfs-ganesha, NFSv3 over TCP only. It wants a portmapper, so it gets one."""

    name = "ganesha"
    mount_options = "noacl"  # its NFSACL answers make "cp -a" fail with EIO

    def __init__(self, exports, label="main", prefix=(), port=2049, mount_port=20048, **_):
        super().__init__(exports, label, prefix)
        self.nfs_port = port
        self.mount_port = mount_port
        self.portmapper = None

    def argv(self):
        config = os.path.join(self.state, "ganesha.conf")
        with open(config, "w", encoding="utf-8") as out:
            out.write(self.config())
        return ["ganesha.nfsd", "-F", "-f", config, "-L", os.path.join(self.state, "ganesha.log"),
                "-p", os.path.join(self.state, "pid"), "-N", "NIV_EVENT"]

    def config(self):
        text = f"""
            NFS_CORE_PARAM {{
              Protocols = 3; NFS_Port = {self.nfs_port}; MNT_Port = {self.mount_port};
              Bind_addr = 0.0.0.0; Enable_UDP = false; Enable_NLM = false; Enable_RQUOTA = false;
              mount_path_pseudo = false;
            }}
            NFSv4 {{ Graceless = true; }}
            EXPORT_DEFAULTS {{
              Access_Type = RW; Squash = no_root_squash; Protocols = 3; Transports = TCP;
              SecType = sys, none; PrivilegedPort = false;
            }}
            """
        for number, export in enumerate(self.exports, 1):
            text += (f"EXPORT {{ Export_Id = {number}; Path = {export}; Pseudo = /e{number};"
                     " FSAL { Name = VFS; } }\n")
        return text

    def launch(self):
        if self.portmapper is None:
            self.portmapper = start_rpcbind(self.prefix)
        subprocess.run(self.prefix + ["mkdir", "-p", "/run/ganesha"], check=True)
        super().launch()

    def stop(self):
        status = super().stop()
        if self.portmapper:
            self.portmapper.kill()
            self.portmapper.wait()
            self.portmapper = None
        return status


def start_rpcbind(prefix=()):
    """Debian's rpcbind in the foreground; gives the process once it answers."""
    prefix = list(prefix)
    subprocess.run(prefix + ["mkdir", "-p", "/run/rpcbind"], check=True)
    process = subprocess.Popen(prefix + ["rpcbind", "-f"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sandbox.wait_for(lambda: subprocess.run(prefix + ["rpcinfo", "-p", "127.0.0.1"], check=False,
                                            capture_output=True).returncode == 0,
                     10, "rpcbind answers")
    return process


KINDS = {"lodestore": Lodestore, "ganesha": Ganesha}
