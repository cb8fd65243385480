#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""confined.py NFSD PORT DIR - what a daemon may do, as the kernel tells it: the same few
capabilities whoever started it, no way to more, a filter of system calls. What it lacks it names at
the start, with what would not work. The sidecar is of NFSD's build folder."""
import os
import signal
import subprocess
import sys
import tempfile
import time

from faults import check

# Numbers of <linux/capability.h>.
CAPS = {"chown": 0, "dac_override": 1, "dac_read_search": 2, "fowner": 3, "fsetid": 4, "setgid": 6,
        "setuid": 7, "net_bind_service": 10, "sys_admin": 21, "mknod": 27}
SIDECAR_CAPS = ["chown", "dac_override", "dac_read_search", "fowner", "setgid", "setuid"]
OPTIONAL_CAPS = ["mknod", "net_bind_service"]  # containers often have neither
NFSD_CAPS = SIDECAR_CAPS + ["fsetid", *OPTIONAL_CAPS]
USER = 65534


class Daemon:
    """One of the two programs, with a folder of its own; as root or as USER with capabilities."""

    def __init__(self, program, arguments, export, user_caps=None, conf=""):
        self.name = os.path.basename(program)
        self.folder = tempfile.mkdtemp(prefix="lodestore-faults.")
        self.log = os.path.join(self.folder, "log")
        with open(os.path.join(self.folder, "conf"), "w", encoding="ascii") as file:
            file.write(conf)
        prefix = []
        if user_caps is not None:
            os.chown(self.folder, USER, USER)
            words = ",".join("+" + cap for cap in user_caps)
            prefix = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups",
                      "--inh-caps=-all," + words, "--ambient-caps=" + words,
                      "--bounding-set=-all," + words]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                prefix + [program, "--foreground", "--config", self.folder + "/conf",
                          "--state-dir", self.folder + "/state", "--export", export]
                + [word.replace("FOLDER", self.folder) for word in arguments],
                stderr=log, stdin=subprocess.DEVNULL)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def ready(self):
        end = time.monotonic() + 60
        while "ready on" not in self.text():
            if self.process.poll() is not None or time.monotonic() > end:
                check(False, "%s starts" % self.name, self.text())
            time.sleep(0.02)
        # The filter comes last; "ready" is said after it.
        return self

    def status(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def threads(self):
        """The fields of all threads."""
        for thread in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/status" % (self.process.pid, thread),
                      encoding="ascii") as file:
                yield dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        check(status == 0, "%s ends well" % self.name, "%d\n%s" % (status, self.text()))


def mask(caps):
    return sum(1 << CAPS[cap] for cap in caps)


def check_confined(daemon, caps):
    daemon.ready()
    seen = daemon.status()
    told = str({key: seen[key] for key in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")})
    for key in ("CapPrm", "CapEff", "CapBnd"):
        check(int(seen[key], 16) == mask(caps), "%s of %s is what it needs" % (key, daemon.name),
              told)
    check(int(seen["CapAmb"], 16) == 0, "and nothing is passed on to programs it would start", told)
    check(seen["NoNewPrivs"] == "1", "no set-id program would help it")
    filters = {thread["Seccomp"] for thread in daemon.threads()}
    check(filters == {"2"}, "every thread of it has a filter of system calls", str(filters))
    daemon.end()


def check_missing(program, arguments, export, caps, without):
    daemon = Daemon(program, arguments, export, [cap for cap in caps if cap != without])
    try:
        status = daemon.process.wait(60)
    except subprocess.TimeoutExpired:
        daemon.end()  # the next test needs its port
        status = 0
    check(status == 1 and "lacks CAP_%s (" % without.upper() in daemon.text(),
          "%s without %s does not start, and says what it lacks" % (daemon.name, without),
          "%d %s" % (status, daemon.text()))


def check_off(program, arguments, export, section):
    daemon = Daemon(program, arguments, export, conf="[%s]\nseccomp = off\n" % section).ready()
    check(daemon.status()["Seccomp"] == "0", "%s: seccomp = off is no filter" % daemon.name)
    daemon.end()


def main():
    nfsd, port, top = sys.argv[1], sys.argv[2], sys.argv[3]
    sidecar = os.path.join(os.path.dirname(nfsd), "..", "offload", "lodestore-offloadd")
    export = "%s *(rw,no_root_squash)" % top
    of_nfsd = ["--port", port, "--listen", "127.0.0.1", "--no-rpcbind",
               "--status-socket", "FOLDER/nfsd.sock"]
    of_sidecar = ["--socket", "FOLDER/offload.sock"]
    for program, arguments, caps, section in ((nfsd, of_nfsd, NFSD_CAPS, "nfsd"),
                                              (sidecar, of_sidecar, SIDECAR_CAPS, "offload")):
        check_confined(Daemon(program, arguments, export), caps)
        check_confined(Daemon(program, arguments, export, caps), caps)
        for cap in caps:
            if cap not in OPTIONAL_CAPS:
                check_missing(program, arguments, export, caps, cap)
        check_off(program, arguments, export, section)
    for without in OPTIONAL_CAPS:
        caps = [cap for cap in NFSD_CAPS if cap != without]
        check_confined(Daemon(nfsd, of_nfsd, export, caps), caps)


main()
