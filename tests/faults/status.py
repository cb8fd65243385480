#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""status.py NFSD PORT DIR - the status socket tells what clients did, call by call; slow readers
and a flood there cost clients nothing and keep nobody else from it; it is root's alone, survives a
reload and goes away with the server."""
import fcntl
import json
import os
import pty
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import threading
import time

from faults import CRED, Server, check, nfs3, rpc

OTHER = "127.0.0.2"
READERS = 20  # more than the server keeps
READER_S = 5  # READER_MS of nfsd/status.c
EXPORTS = 2000  # so that a document does not fit into the socket


def connect(server):
    reader = socket.socket(socket.AF_UNIX)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    reader.settimeout(10)
    reader.connect(server.status)
    return reader


def rest_of(reader):
    text = b""
    while part := reader.recv(65536):
        text += part
    return text


def ask(server):
    with connect(server) as reader:
        return json.loads(rest_of(reader))


def find(rows, **wanted):
    """The row that has these values; zeros if there is none."""
    for row in rows:
        if all(row[name] == value for name, value in wanted.items()):
            return row
    return {"calls": 0, "errors": 0, "read_bytes": 0, "written_bytes": 0, "latency": []}


def procedure(document, name):
    return find(document["procedures"], program="nfs", procedure=name)


def work(nfs, root):
    """What the counts are held against."""
    handle = nfs.new_file(root, b"counted")
    for i in range(7):
        nfs.write(handle, i * 4096, b"w" * 4096, nfs3.FILE_SYNC).ok()
    for i in range(5):
        nfs.read(handle, i * 1024, 1024).ok()
    for _ in range(3):
        nfs.lookup(root, b"nothing").fails(nfs3.NFS3ERR_NOENT)


def check_counts(server, top):
    quiet = ask(server)
    nfs = nfs3.Nfs3(rpc.TcpConnection("127.0.0.1", server.port, source_address=OTHER), CRED)
    work(nfs, server.mount(top).ok().fh)
    now = ask(server)
    check(now["format"] == 1 and now["program"] == "lodestore-nfsd" and
          now["pid"] == server.process.pid and now["port"] == server.port,
          "the document says whose it is")
    write, read, lookup = (procedure(now, name) for name in ("WRITE", "READ", "LOOKUP"))
    check((write["calls"], write["errors"], write["written_bytes"]) == (7, 0, 7 * 4096),
          "seven writes are seven", str(write))
    check((read["calls"], read["errors"], read["read_bytes"]) == (5, 0, 5 * 1024),
          "five reads are five", str(read))
    check((lookup["calls"], lookup["errors"]) == (3, 3), "three failures are three", str(lookup))
    check(all(sum(row["latency"]) == row["calls"] for row in now["procedures"]),
          "each call is in the histogram once")
    check(write["latency_us"] >= 7 and all(row["latency"][-1] for row in now["procedures"]),
          "the histogram ends with the slowest")
    client, export = find(now["clients"], address=OTHER), find(now["exports"], path=top)
    for row, whose in ((client, "client"), (export, "export")):
        check((row["read_bytes"], row["written_bytes"]) == (5 * 1024, 7 * 4096) and
              row["calls"] == 7 + 5 + 3 + procedure(now, "CREATE")["calls"],
              "the %s's counts are the same" % whose, str(row))
    check(client["connections"] == 1, "the client has one connection")
    flushes = now["flushes"]
    check(flushes["calls"] >= flushes["count"] and flushes["calls"] in (0, 7),
          "seven durable writes waited for a flush, or none where the disk needs none",
          str(flushes))
    check(now["reply_cache"]["kept"] - quiet["reply_cache"]["kept"] >= 8,
          "what must not run twice is kept")
    check(now["connections"]["accepted"] - quiet["connections"]["accepted"] == 2,
          "two connections were accepted")
    nfs.connection.close()
    end = time.monotonic() + 5
    while find(ask(server)["clients"], address=OTHER)["connections"] and time.monotonic() < end:
        time.sleep(0.05)
    check(find(ask(server)["clients"], address=OTHER)["connections"] == 0,
          "a client that left is still told, without connections")


def check_refusals(server, top, closed):
    before = ask(server)["refusals"]
    server.mount(closed).fails(13)
    server.mount("/nowhere").fails(2)
    nfs = server.nfs()
    nfs.setattr(server.mount(top + "/ro").ok().fh, mode=0o700).fails(nfs3.NFS3ERR_ROFS)
    nfs.connection.call_rpc(100003, 2, 0)
    nfs.connection.call_rpc(100003, 3, 99)
    nfs.connection.call_rpc(100003, 3, 1, b"\0\0\0\xff", CRED)  # GETATTR of a torn handle
    after = ask(server)["refusals"]
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    check(grown == {"mount": 2, "read_only": 1, "program": 1, "procedure": 1, "arguments": 1},
          "each refusal is counted with its reason", str(grown))


def check_slow_readers(server, root, lines, many):
    for path in many:
        os.makedirs(path)
    server.reload(lines + ["%s *(ro)" % path for path in many],
                  "serving %d exports" % (len(lines) + len(many)))
    nfs = server.nfs()
    readers = [connect(server) for _ in range(READERS)]
    began = time.monotonic()
    check(len(ask(server)["exports"]) == len(lines) + len(many) and
          time.monotonic() - began < READER_S - 1, "readers that do not read keep nobody away")
    worst = 0
    for _ in range(50):
        began = time.monotonic()
        nfs.getattr(root).ok()
        worst = max(worst, time.monotonic() - began)
    check(worst < 0.5, "nor a client waiting", "%.3f s" % worst)
    for reader in readers[:-1]:
        reader.close()
    time.sleep(READER_S + 0.5)
    check(not rest_of(readers[-1]).endswith(b"}\n"), "who does not read in time is cut off")
    readers[-1].close()
    server.reload(lines, "serving %d exports" % len(lines))


def check_flood(server, root):
    stop, asked = threading.Event(), []

    def flood():
        while not stop.is_set():
            ask(server)
            asked.append(1)

    threads = [threading.Thread(target=flood) for _ in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    nfs = server.nfs()
    for _ in range(500):
        nfs.getattr(root).ok()
    time.sleep(max(0, began + 1 - time.monotonic()))
    stop.set()
    for thread in threads:
        thread.join(10)
    rate = len(asked) / (time.monotonic() - began)
    check(0 < rate <= 51, "a flood gets fifty documents a second at most", "%.0f" % rate)


def command(server, *words):
    """lodestore of the same build folder: its status, what it says and what it complains of."""
    program = os.path.join(os.path.dirname(server.program), "..", "offload", "cli", "lodestore")
    done = subprocess.run([program, *words, "--status-socket", server.status], timeout=30,
                          capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check_command(server, top):
    code, text, _ = command(server, "status", "--socket", "/nowhere")
    check(code == 0 and "health       good" in text and "offload      does not answer" in text and
          top in text and OTHER in text, "lodestore status is one screen", text)
    code, text, _ = command(server, "clients", "--json")
    client, told = find(json.loads(text)["clients"], address=OTHER), find(ask(server)["clients"],
                                                                          address=OTHER)
    check(code == 0 and client["calls"] == told["calls"] > 0 and client["calls_s"] == 0,
          "lodestore clients tells the same counts", text)
    code, text, _ = command(server, "exports")
    check(code == 0 and text.splitlines()[1].endswith(top), "lodestore exports lists them", text)


def on_terminal(server, keys=b"", number=None):
    """lodestore top on a terminal of its own, ended by keys or a signal: what it wrote, how it
    ended, and whether the terminal is as it was."""
    main, sub = pty.openpty()
    fcntl.ioctl(sub, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before, text = termios.tcgetattr(sub), b""
    program = os.path.join(os.path.dirname(server.program), "..", "offload", "cli", "lodestore")
    process = subprocess.Popen([program, "top", "--socket", "/nowhere", "--status-socket",
                                server.status], stdin=sub, stdout=sub, stderr=sub,
                               start_new_session=True)
    end = time.monotonic() + 30
    while b"CALLS/S" not in text and time.monotonic() < end:
        text += os.read(main, 65536)
    if number:
        process.send_signal(number)
    else:
        os.write(main, keys)
    while process.poll() is None and time.monotonic() < end:
        if select.select([main], [], [], 0.1)[0]:
            text += os.read(main, 65536)
    while select.select([main], [], [], 0)[0]:
        text += os.read(main, 65536)
    same = termios.tcgetattr(sub) == before and text.rstrip().endswith(b"\x1b[?1049l")
    os.close(main)
    os.close(sub)
    return text.decode(), process.returncode, same


def check_top(server, top):
    code, text, _ = command(server, "top", "--once", "--socket", "/nowhere")
    check(code == 0 and "the offload service does not answer" in text and "\n%s" % top in text and
          OTHER in text, "lodestore top --once is a screen as text", text)
    code, text, _ = command(server, "top", "--json", "--batch", "2", "--socket", "/nowhere")
    first, second = (json.loads(line)["top"] for line in text.splitlines())
    check(second["at_ms"] - first["at_ms"] >= 900 and
          find(first["clients"], address=OTHER)["calls"],
          "--json is a line a second", text)
    code, _, why = command(server, "top")
    check(code == 2 and "--once" in why, "without a terminal it says what does without", why)
    for keys, number, status in ((b"cq", None, 0), (b"", signal.SIGINT, 130),
                                 (b"", signal.SIGTERM, -signal.SIGTERM),
                                 (b"", signal.SIGABRT, -signal.SIGABRT)):
        text, code, same = on_terminal(server, keys, number)
        check(code == status and same, "the terminal is as it was after %s" % (number or keys),
              "%s %s %r" % (code, same, text[-200:]))


def check_health(server, top):
    code, text, _ = command(server, "status", "--check", "--socket", "/nowhere",
                            "--warn-space", "0", "--crit-space", "0")
    check(code == 1 and text.startswith("LODESTORE WARNING - the offload service does not") and
          "'%s'=" % top in text, "a sidecar that is down is a warning", text)
    code, text, _ = command(server, "status", "--check", "--socket", "/nowhere", "--warn-space",
                            "100", "--crit-space", "100%")
    check(code == 2 and "%s has only" % top in text, "a full export is critical", text)
    code, text, _ = command(server, "status", "--check", "--crit-space", "x")
    check(code == 3 and text.startswith("LODESTORE UNKNOWN - 'x'"), "a wrong option is unknown",
          text)


def check_unserved(server, lines, missing):
    server.reload(lines + ["%s *(ro)" % missing], "%d of %d exports" % (len(lines), len(lines) + 1))
    check(ask(server)["exports_unserved"] == [missing], "the document tells what is not served")
    code, text, _ = command(server, "status", "--check", "--socket", "/nowhere")
    check(code == 2 and text.startswith("LODESTORE CRITICAL - %s is in the exports" % missing),
          "which is critical", text)
    server.reload(lines, "serving %d exports" % len(lines))
    check(ask(server)["exports_unserved"] == [], "until the reload without it")


def check_nobody_there(server):
    code, text, why = command(server, "status")
    check(code == 3 and text == "" and "systemctl status lodestore-nfsd" in why,
          "without a server the command says what to look at", why)
    code, text, _ = command(server, "status", "--check")
    check(code == 2 and text.startswith("LODESTORE CRITICAL - lodestore-nfsd does not answer"),
          "and the check is critical", text)


def main():
    program, port, top = sys.argv[1], int(sys.argv[2]), os.path.join(sys.argv[3], "status")
    closed = os.path.join(top, "closed")
    for folder in (top, closed, top + "/ro", top + "/later"):
        os.makedirs(folder, exist_ok=True)
    rest = "127.0.0.0/8(rw,no_root_squash)"
    lines = ["%s %s" % (top, rest), "%s 192.0.2.1(rw)" % closed,
             "%s/ro %s" % (top, rest.replace("rw", "ro"))]
    server = Server(program, port, lines).start()
    mode = os.stat(server.status).st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, "the socket is its owner's alone",
          oct(mode))
    check_counts(server, top)
    check_refusals(server, top, closed)
    check_command(server, top)
    check_top(server, top)
    check_health(server, top)
    check_unserved(server, lines, os.path.join(top, "gone"))
    root = server.mount(top).ok().fh
    check_slow_readers(server, root, lines,
                       ["%s/many/%d" % (top, i) for i in range(EXPORTS)])
    check_flood(server, root)

    calls = find(ask(server)["exports"], path=top)["calls"]
    server.reload(lines[:1] + ["%s/later %s" % (top, rest)], "serving 2 exports")
    now = ask(server)
    check([row["path"] for row in now["exports"]] == [top, top + "/later"],
          "after a reload it tells the new exports", str(now["exports"]))
    check(find(now["exports"], path=top)["calls"] >= calls > 0, "those that stay keep their counts")

    second = Server(program, port + 1, lines, status=server.status).start()
    check("another server has it" in second.log_text(), "a second server leaves the socket alone")
    check(second.stop()[1] == 0 and ask(server)["pid"] == server.process.pid, "also when it ends")
    server.process.kill()
    server.process.wait()
    check(os.path.exists(server.status), "a server that is killed leaves it behind")
    server.start()
    check(ask(server)["pid"] == server.process.pid, "and the next one takes it over")
    reader = connect(server)
    check(server.stop()[1] == 0, "it ends well with a reader that does not read")
    reader.close()
    check(not os.path.exists(server.status), "the socket is gone with it")
    check_nobody_there(server)


main()
