#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace.py NFSD PORT DIR - of two clients one is traced, call by call; a reader that does not read
holds nobody up and is told what it missed; nobody but root may look."""
import atexit
import json
import os
import resource
import select
import signal
import socket
import stat
import subprocess
import sys
import time

from faults import CRED, Server, check, nfs3, rpc

ONE, OTHER = "127.0.0.2", "127.0.0.3"
FLOOD = 5000  # more than a ring and a socket hold


class Reader:
    """A connection to the socket, as the command has it."""

    def __init__(self, server, request, room=0):
        self.socket, self.text = socket.socket(socket.AF_UNIX), b""
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(60)
        self.socket.connect(server.status + ".trace")
        self.socket.sendall(request)

    def line(self):
        while b"\n" not in self.text:
            try:
                part = self.socket.recv(65536)
            except ConnectionResetError:
                part = b""
            if not part:
                return None
            self.text += part
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def begun(self, nfs):
        """Waits until a call of @nfs shows."""
        self.socket.settimeout(0.2)
        for _ in range(300):
            nfs.null()
            try:
                self.line()
                break
            except TimeoutError:
                pass
        self.socket.settimeout(60)


def client(server, address):
    return nfs3.Nfs3(rpc.TcpConnection("127.0.0.1", server.port, source_address=address), CRED)


def check_calls(server, root):
    one, other = client(server, ONE), client(server, OTHER)
    reader = Reader(server, b"trace %s\n" % ONE.encode())
    reader.begun(one)
    for _ in range(50):
        other.getattr(root).ok()
    handle = one.new_file(root, b"traced\n\xff")
    one.write(handle, 8192, b"w" * 4096, nfs3.FILE_SYNC).ok()
    one.lookup(root, b"nothing").fails(nfs3.NFS3ERR_NOENT)
    one.rename(root, b"traced\n\xff", root, b"b").ok()
    events = []
    while not events or events[-1]["procedure"] != "RENAME":
        event = reader.line()
        if event["procedure"] != "NULL":
            events.append(event)
    names = [event["procedure"] for event in events]
    check(names[-4:] == ["CREATE", "WRITE", "LOOKUP", "RENAME"] and "GETATTR" not in names,
          "one client's calls are shown, in order, the other's are not", str(names))
    create, write, lookup, rename = events[-4:]
    check(os.fsencode(create["files"][0]["name"]) == b"traced\n\xff", "with names as they are")
    check((write["offset"], write["count"], write["status"], lookup["status"]) ==
          (8192, 4096, 0, 2) and lookup["files"][0]["name"] == "nothing", "ranges and statuses")
    check(rename["files"][0]["handle"] == rename["files"][1]["handle"] ==
          create["files"][0]["handle"] != write["files"][0]["handle"],
          "the same file has the same short handle")
    check(abs(write["at_ms"] / 1000 - time.time()) < 60 and write["latency_us"] > 0, "and times")
    reader.socket.close()


def check_slow(server, root):
    one = client(server, ONE)
    reader = Reader(server, b"trace %s\n" % ONE.encode(), room=2048)
    reader.begun(one)
    worst = 0
    for _ in range(FLOOD):
        began = time.monotonic()
        one.getattr(root).ok()
        worst = max(worst, time.monotonic() - began)
    check(worst < 1, "a reader that does not read keeps no client waiting", "%.3f s" % worst)
    seen = dropped = 0
    while seen + dropped < FLOOD:
        event = reader.line()
        dropped += event.get("dropped", 0)
        seen += event.get("procedure") == "GETATTR"
    check(dropped > 0, "it is told how much it missed", "%d seen" % seen)
    reader.socket.close()


def check_refusals(server):
    mode = os.stat(server.status + ".trace").st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, "the socket is its owner's alone")
    for request in (b"trace nonsense\n", b"\n", b"x" * 1000):
        check(Reader(server, request).line() is None, "what is no request is hung up on")


def thread_ticks(pid, name):
    """The clock ticks that the thread has worked."""
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, task)) as file:
            head, tail = file.read().rsplit(")", 1)
        if head.endswith("(" + name):
            return sum(int(word) for word in tail.split()[11:13])
    return None


def check_descriptors(server):
    """A reader that cannot be taken waits; it is not tried for without a break."""
    pid = server.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    reader = Reader(server, b"trace %s\n" % ONE.encode())
    before = thread_ticks(pid, "trace")
    time.sleep(2)
    worked = thread_ticks(pid, "trace") - before
    check(worked < os.sysconf("SC_CLK_TCK") / 2, "out of descriptors the thread does not spin",
          "%d ticks in 2 s" % worked)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    reader.begun(client(server, ONE))
    check(True, "and the reader is served once there are some")
    reader.socket.close()


def check_command(server, root):
    program = os.path.join(os.path.dirname(server.program), "..", "offload", "cli", "lodestore")
    words = [program, "trace", ONE, "--status-socket", server.status]
    one = client(server, ONE)
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    atexit.register(process.kill)
    text, end = b"", time.monotonic() + 60
    while not text.endswith(b"/nothing\n") and time.monotonic() < end:
        one.lookup(root, b"nothing").fails(nfs3.NFS3ERR_NOENT)
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += os.read(process.stdout.fileno(), 65536)
    check(text.startswith(b"TIME ") and b"  LOOKUP        NOENT " in text and
          text.endswith(b"/nothing\n"), "lodestore trace decodes", text.decode())
    process.send_signal(signal.SIGINT)
    process.wait(60)
    done = subprocess.run(words[:2] + ["esx1"] + words[3:], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 2 and "lodestore clients" in done.stderr, "a name is no address")
    return words


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), os.path.join(sys.argv[3], "trace")
    os.makedirs(top, exist_ok=True)
    server = Server(program, port, ["%s *(rw,no_root_squash,insecure)" % top]).start()
    root = server.mount(top).ok().fh
    check_refusals(server)
    check_calls(server, root)
    check_slow(server, root)
    check_descriptors(server)
    words = check_command(server, root)
    reader = Reader(server, b"trace %s\n" % ONE.encode())
    reader.begun(client(server, ONE))
    check(server.stop()[1] == 0, "it ends well with a reader")
    check(not os.path.exists(server.status + ".trace"), "and the socket is gone")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    check(done.returncode == 3 and "systemctl status lodestore-nfsd" in done.stderr,
          "without a server the command says what to look at")


main()
