#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""locks.py NFSD PORT DIR - what 'lodestore locks' shows, and what it takes from a client that is
gone: who waited for it has it then."""
import json
import os
import socket
import stat
import subprocess
import sys

from faults import Server, check, rpc

import nlm

ONE, OTHER, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"


def locker(server, fh, address, owner):
    transport = rpc.TcpConnection("127.0.0.1", server.port, source_address=address)
    return nlm.Locker(transport, fh, owner=owner)


class Command:
    def __init__(self, server):
        program = os.path.join(os.path.dirname(server.program), "..", "offload/cli/lodestore")
        self.words = [program, "locks", "--status-socket", server.status]

    def __call__(self, *more):
        return subprocess.run([*self.words, *more], capture_output=True, text=True, check=False)

    def rows(self):
        done = self("--json")
        check(done.returncode == 0, "the command answers", done.stderr)
        document = json.loads(done.stdout)
        check(document["omitted"] == 0, "nothing is left out")
        return sorted((row["client"], row["waiting"], row["first"], row["last"], row["exclusive"],
                       row["owner"], row["file"]) for row in document["locks"])


def check_release(server, command, top):
    nfs = server.nfs()
    fh = nfs.new_file(server.root, b"vm.lock")
    path = os.path.join(top, "vm.lock")
    one, other = locker(server, fh, ONE, b"pid 1"), locker(server, fh, OTHER, b"pid 2")
    third = locker(server, fh, THIRD, b"pid 3")
    check(command().stdout == "No locks are held.\n", "at first there are none")
    check(one.lock(10, 20) == nlm.GRANTED and one.lock(0, 5, exclusive=False) == nlm.GRANTED,
          "one has two")
    check(other.lock(0, 0, block=True) == nlm.BLOCKED, "the other waits for all")
    check(command.rows() == [(ONE, False, 0, 4, False, "pid 1", path),
                             (ONE, False, 10, 29, True, "pid 1", path),
                             (OTHER, True, 0, None, True, "pid 2", path)], "all are listed")
    lines = command().stdout.splitlines()
    check(len(lines) == 4 and "exclusive waits   all" in lines[3] and lines[3].endswith(path),
          "and shown", "\n".join(lines))
    done = command("--release", THIRD)
    check(done.returncode == 1 and "has no locks" in done.stderr, "who has none is told so")
    done = command("--json", "--release", THIRD)
    check(done.returncode == 1 and "unknown" in json.loads(done.stdout), "in JSON, too",
          done.stdout + done.stderr)
    done = command("--release", "esx1")
    check(done.returncode == 2 and "'esx1' is no address" in done.stderr, "a name is no address")
    done = command("--release", ONE)
    check(done.returncode == 0 and done.stdout == ONE + ": 2 locks released\n", "one is gone",
          done.stdout + done.stderr)
    check(command.rows() == [(OTHER, False, 0, None, True, "pid 2", path)], "the other has it")
    check(third.test(100, 1).owner == b"pid 2", "as clients see")


def check_stalled(server, command):
    """More than a socket holds, and nobody reads: the next one is answered all the same."""
    nfs = server.nfs()
    fh = nfs.new_file(server.root, b"many")
    one = locker(server, fh, ONE, b"x" * 1000)
    for number in range(400):
        assert one.lock(number * 10, 5) == nlm.GRANTED
    stalled = socket.socket(socket.AF_UNIX)
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    stalled.connect(server.status + ".locks")
    stalled.sendall(b"list\n")
    done = command("--json")
    while done.returncode == 3:  # it waits for 5 s itself, as long as the server does
        done = command("--json")
    check(done.returncode == 0 and done.stdout.count('"waiting"') >= 400,
          "a reader that stops is given up", done.stderr)
    stalled.close()


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), os.path.join(sys.argv[3], "locks")
    os.makedirs(top, exist_ok=True)
    server = Server(program, port, ["%s *(rw,no_root_squash,insecure)" % top]).start()
    server.root = server.mount(top).ok().fh
    command = Command(server)
    mode = os.stat(server.status + ".locks").st_mode
    check(stat.S_IMODE(mode) == 0o600, "the socket is its owner's alone")
    check_release(server, command, top)
    check_stalled(server, command)
    check(server.stop()[1] == 0, "it ends well")
    check(not os.path.exists(server.status + ".locks"), "and the socket is gone")
    check(command().returncode == 3, "without a server the command says so")


main()
