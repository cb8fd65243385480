#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mistakes.py NFSD PORT DIR - every mistake of an administrator: what --check-config and a start
say of it and how they end, and that a server that runs goes on as it was when told to reload."""
import os
import shutil
import socket
import subprocess
import sys

from faults import Server, check

GOOD = "%s *(rw,no_root_squash)"

# What is wrong; settings and exports ("@": the good directory); how --check-config and a start end
# (None: it serves); what is said, file and line first where there are any.
TABLE = (
    ("an unknown section", "[nsfd]\n", "", 1, 1, ("conf:1: ", "[nfsd]")),
    ("an unknown key", "[nfsd]\nwrokers = 2\n", "", 1, 1, ("conf:2: ", "'workers'")),
    ("a word for a number", "[nfsd]\nworkers = many\n", "", 1, 1, ("conf:2: ", "0 to 64")),
    ("a number out of range", "[nfsd]\nport = 70000\n", "", 1, 1, ("conf:2: ", "1 to 65535")),
    ("a size without sense", "[limits]\nbuffer_bytes = 1K\n", "", 1, 1, ("conf:2: ", "16M")),
    ("a word for a choice", "[nfsd]\ndata_path = fast\n", "", 1, 1, ("conf:2: ", "direct")),
    ("a key twice", "[nfsd]\nworkers = 1\nworkers = 2\n", "", 1, 1, ("conf:3: ", "already")),
    ("two mistakes", "[nfsd]\nwrokers = 2\nport = 0\n", "@ h(xx)\n", 1, 1,
     ("conf:2: ", "conf:3: ")),
    ("an export twice", "", "@ h(ro)\n@/ i(ro)\n", 1, 1, ("exports:2: ", "into one line")),
    ("an unknown option", "", "@ h(rw,no_root_sqaush)\n", 1, 1, ("exports:1: ",
                                                                 "no_root_squash")),
    ("no host", "", "@\n", 1, 1, ("exports:1: ", "name the hosts")),
    ("a directory that is not there", "", "@ *(rw)\n@/none *(rw)\n", 0, None,
     ("exports:2: ", "Create it or mount what belongs there")),
    ("a file for a directory", "", "@ *(rw)\n@/file *(rw)\n", 0, None,
     ("exports:2: ", "Not a directory")),
    ("a file system without handles", "", "@ *(rw)\n/proc *(rw)\n", 0, None,
     ("exports:2: ", "/proc cannot be exported")),
)


class Lab(Server):
    """A server with settings and a key that may be damaged."""

    def __init__(self, program, port, top):
        super().__init__(program, port, [GOOD % top])
        self.config, self.top = os.path.join(self.folder, "conf"), top
        self.more = ["--config", self.config]
        self.set("", "")

    def set(self, settings, exports):
        with open(self.config, "w", encoding="ascii") as file:
            file.write(settings)
        self.write((exports.replace("@", self.top) or GOOD % self.top).split("\n"))

    def run(self, *words, within=60, port=None):
        done = subprocess.run(
            [self.program, "--foreground", "--no-rpcbind", "--listen", "127.0.0.1", "--exports",
             self.exports, "--config", self.config, "--status-socket", "none", "--state-dir",
             self.folder + "/state", *(["--port", str(port)] if port else []), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=within, check=False)
        return done.returncode, done.stdout + done.stderr

    def tried(self, what, checked, started, says):
        code, text = self.run("--check-config")
        check(code == checked and all(word in text for word in says),
              "--check-config tells %s" % what, text)
        if started is not None:
            code, text = self.run()
            check(code == started and all(word in text for word in says),
                  "a start tells %s" % what, text)


def check_table(lab):
    running = Lab(lab.program, lab.port, lab.top)
    running.start()
    nfs, root = running.nfs(), running.mount(lab.top).ok().fh
    for what, settings, exports, checked, started, says in TABLE:
        lab.set(settings, exports)
        lab.tried(what, checked, started, says)
        running.set(settings, exports)
        open(running.log, "w").close()
        running.process.send_signal(1)
        running.wait_for_line("stay as they were" if started and exports else "serving"
                              if started else "exports can be served")
        check(all(word in running.log_text() for word in says), "a reload tells it, too",
              running.log_text())
        nfs.getattr(root).ok()
    check(running.stop()[1] == 0, "who was served never noticed")


def check_key(lab):
    key = lab.folder + "/state/handle.key"
    lab.set("", "")
    code, text = lab.run("--check-config")
    check(code == 0 and "restore" in text and not os.path.exists(key),
          "a state directory that is lost is told, and none is made", text)
    lab.start()
    check("restore" in lab.log_text(), "the start that makes a new key says what that means")
    check(lab.stop()[1] == 0, "it ends well")
    with open(key, "ab") as file:
        file.truncate(7)
    lab.tried("a damaged key", 1, 1, (key, "backup"))
    os.unlink(key)
    shutil.rmtree(lab.folder + "/state")
    open(lab.folder + "/state", "w").close()
    lab.tried("a state directory that is none", 1, 1, (lab.folder + "/state", "--state-dir"))
    os.unlink(lab.folder + "/state")


def check_port(lab):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", lab.port))
        other.listen()
        code, text = lab.run(port=lab.port)
        check(code == 1 and "another server has it" in text and "--port" in text,
              "a port that is taken is told", text)


def check_rights(lab):
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                           lab.program, "--foreground", "--export", GOOD % lab.top, "--state-dir",
                           lab.folder + "/none/state"], capture_output=True, text=True,
                          timeout=60, check=False)
    check(done.returncode == 1 and "Run it as root" in done.stderr,
          "rights that are missing are told", done.stderr)


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), os.path.join(sys.argv[3], "mistakes")
    os.makedirs(top, exist_ok=True)
    open(top + "/file", "w").close()
    lab = Lab(program, port, top)
    check_table(lab)
    check_key(lab)
    check_port(lab)
    check_rights(lab)


main()
