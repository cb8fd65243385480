# SPDX-License-Identifier: Apache-2.0
"""The lodestore command, $LODESTORE, against the servers that servers.py starts."""

import json
import os
import pty
import random
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import native
from servers import MIB, content, make, port, sock, start_nfsd, start_offloadd, top

PROGRAM = os.environ["LODESTORE"]
SLOW = pytest.mark.rate("8M")
ALONE = pytest.mark.alone


class Place:
    """How files are named, and where the command asks."""

    def __init__(self, host, *options):
        self.prefix = host + ":" if host else ""
        self.options = options

    def file(self, name, folder="e"):
        return f"{self.prefix}{top}/{folder}/{name}"

    def run(self, *words, **settings):
        settings.setdefault("timeout", 60)
        return subprocess.run([PROGRAM, *words, *self.options], capture_output=True, text=True,
                              check=False, **settings)

    def json(self, *words, status=0):
        done = self.run(*words, "--json")
        assert done.returncode == status, done
        assert done.stdout.count("\n") == 1, done
        return json.loads(done.stdout)

    def start(self, *words, **settings):
        return subprocess.Popen([PROGRAM, *words, *self.options], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **settings)


NETWORK = Place("127.0.0.1", "--port", str(port))
IPV6 = Place("[::1]", "--port", str(port))
SOCKET = Place("", "--socket", sock)


@pytest.fixture(name="at", params=[NETWORK, SOCKET], ids=["network", "socket"])
def fixture_at(request):
    return request.param


def end(process):
    """What came of it, as subprocess.run() gives it."""
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for_job(at):
    """Until one runs: its number."""
    for _ in range(200):
        jobs = at.json("jobs", at.prefix, "--live") if at.prefix else at.json("jobs", "--live")
        if jobs["jobs"]:
            return jobs["jobs"][0]["id"]
        time.sleep(0.05)
    raise TimeoutError


# ---- what each command does ----

def test_clone(at, shares):
    make("a")
    done = at.run("clone", at.file("a"), at.file("b"))
    assert done.returncode == 0, done
    assert done.stderr == ""
    engine = "reflink" if shares else "copy"
    assert done.stdout.startswith(f"cloned {at.file('a')} to {at.file('b')}: 16M by {engine} in ")
    assert content("a") == content("b")
    job = at.json("clone", at.file("a"), at.file("c"), "--verify")["job"]
    assert (job["kind"], job["state"], job["status"]) == ("clone", "complete", "ok")
    assert (job["flags"], job["engine"]) == (["verify"], engine)
    assert job["bytes_done"] == job["bytes_total"] == 16 * MIB
    assert (job["source"], job["destination"]) == (f"{top}/e/a", f"{top}/e/c")
    assert at.json("checksum", at.file("a"))["job"]["checksum"] == job["checksum"]
    assert content("a") == content("c")


def test_clone_by_ipv6():
    make("a")
    assert IPV6.run("clone", IPV6.file("a"), IPV6.file("b")).returncode == 0
    assert content("a") == content("b")


def test_clone_new_overwrites_nothing(at):
    make("a")
    make("b", MIB)
    before = content("b")
    done = at.run("clone", "--new", at.file("a"), at.file("b"))
    assert done.returncode == 1
    assert "exist" in done.stderr and "--new" in done.stderr
    assert content("b") == before


def test_clone_fast_shares_or_says_that_it_cannot(at, shares):
    make("a")
    done = at.run("clone", "--fast", at.file("a"), at.file("b"))
    assert done.returncode == (0 if shares else 1), done
    if not shares:
        assert "Without --fast" in done.stderr
        assert not os.path.exists(top + "/e/b")


def test_stat(at, shares):
    make("a", 16 * MIB, ((1, 3),))
    told = at.json("stat", at.file("a"))
    assert told["path"] == f"{top}/e/a"
    assert told["stat"]["total_bytes"] == 16 * MIB
    assert 3 * MIB <= told["stat"]["allocated_bytes"] < 4 * MIB
    assert told["support"]["file_system"] == os.environ["OFFLOAD_KIND"]
    assert ("fast_clone" in told["support"]["can"]) == shares
    text = at.run("stat", at.file("a")).stdout
    assert re.search(rf"^total: +16M \({16 * MIB} bytes\)$", text, re.MULTILINE)
    assert at.json("stat", f"{at.prefix}{top}/e")["stat"] is None


def test_reserve(at):
    make("a")
    assert at.json("reserve", at.file("a"), "4M")["job"]["bytes_total"] == 4 * MIB
    done = at.run("reserve", at.file("a"))
    assert done.stdout.startswith(f"reserved 16M of {at.file('a')}: "), done
    assert os.stat(top + "/e/a").st_blocks * 512 >= 16 * MIB
    assert os.stat(top + "/e/a").st_size == 16 * MIB


def test_checksum_is_printed_as_sha256sum_does(at):
    make("a")
    done = at.run("checksum", at.file("a"))
    assert re.fullmatch(rf"[0-9a-f]{{32}}  {re.escape(at.file('a'))}\n", done.stdout), done


def test_punch_asks_first(at):
    make("a", 8 * MIB, ((0, 8),))
    with open(top + "/e/a", "r+b") as opened:
        opened.seek(2 * MIB)
        opened.write(bytes(4 * MIB))
        os.fsync(opened.fileno())
    before, blocks = content("a"), os.stat(top + "/e/a").st_blocks
    done = at.run("punch", at.file("a"))
    assert (done.returncode, "4M" in done.stdout, "--yes" in done.stdout) == (0, True, True), done
    assert os.stat(top + "/e/a").st_blocks == blocks
    assert at.json("punch", at.file("a"), "--yes")["job"]["flags"] == []
    assert os.stat(top + "/e/a").st_blocks <= blocks - 4 * MIB // 512
    assert content("a") == before


def test_jobs_lists_more_than_a_page(at):
    make("a", MIB, ((0, 1),))
    client = native.Client(sock)
    ids = [client.clone(native.path(f"{top}/e/a"), native.path(f"{top}/e/c{i}")).id
           for i in range(70)]
    client.close()
    words = ["jobs", at.prefix] if at.prefix else ["jobs"]
    assert [job["id"] for job in at.json(*words)["jobs"]] == ids
    assert at.json(*words, "--live") == {"jobs": []}
    lines = at.run(*words).stdout.splitlines()
    assert lines[0].split() == ["JOB", "KIND", "STATE", "ENGINE", "DONE/TOTAL", "RATE", "AGE",
                                "FILES"]
    assert [int(line.split()[0]) for line in lines[1:]] == ids
    assert lines[1].endswith(f"{top}/e/a -> {top}/e/c0")


@SLOW
def test_one_job_from_its_beginning_to_its_end(at):
    make("a", 24 * MIB, ((0, 24),))
    number = int(at.run("clone", "--no-wait", "--verify", at.file("a"), at.file("b")).stdout)
    assert wait_for_job(at) == number
    told = at.run("jobs", f"{at.prefix}{number}").stdout
    assert f"{number}, running" in told and at.file("b") in told
    job = at.json("wait", f"{at.prefix}{number}")["job"]
    assert (job["id"], job["state"]) == (number, "complete")
    assert at.json("jobs", at.file("b"))["job"] == job
    assert at.json("wait", at.file("b"))["job"] == job
    late = at.run("cancel", at.file("b"))
    assert (late.returncode, "complete" in late.stderr) == (1, True), late


@SLOW
@pytest.mark.parametrize("by_number", [True, False], ids=["number", "file"])
def test_cancel(at, by_number):
    make("a", 64 * MIB, ((0, 64),))
    waiting = at.start("clone", "--verify", at.file("a"), at.file("b"))
    number = wait_for_job(at)
    done = at.run("cancel", f"{at.prefix}{number}" if by_number else at.file("b"))
    assert done.returncode == 0, done
    assert done.stdout == f"cancelled the clone of {at.file('a')} to {at.file('b')}\n"
    waited = end(waiting)
    assert (waited.returncode, "was stopped" in waited.stderr) == (1, True), waited
    assert not os.path.exists(top + "/e/b")
    assert at.json("wait", f"{at.prefix}{number}", status=1)["job"]["state"] == "cancelled"


def test_names_that_are_no_text(at):
    name = b"\xff\n\"\\\x1b[31m\xc3\xa4"
    make("a", MIB, ((0, 1),))
    path = os.fsencode(f"{at.prefix}{top}/e/") + name
    done = subprocess.run([PROGRAM, "clone", at.file("a"), path, "--json", *at.options],
                          capture_output=True, check=True)
    assert os.fsencode(json.loads(done.stdout)["job"]["destination"]) == f"{top}/e/".encode() + name
    assert content("a") == content(os.fsdecode(name))
    shown = subprocess.run([PROGRAM, "jobs", path, *at.options], capture_output=True, check=True)
    assert b"\x1b" not in shown.stdout and b"\\xff\\x0a\"" in shown.stdout


def test_names_without_a_slash_are_of_this_directory():
    make("a", MIB, ((0, 1),))
    assert SOCKET.run("clone", "a", "b", cwd=top + "/e").returncode == 0
    assert content("a") == content("b")


# ---- waiting ----

def on_terminal(*words):
    """Run it with a terminal as its stderr: status, stdout, what the terminal got."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # EIO: nobody has the other end any more
                part = b""
            if not part:
                break
            shown += part
        out = process.stdout.read()
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


@SLOW
def test_progress_on_a_terminal(at):
    make("a", 32 * MIB, ((0, 32),))
    status, out, shown = on_terminal("checksum", at.file("a"), *at.options)
    assert status == 0
    assert re.fullmatch(rf"[0-9a-f]{{32}}  {re.escape(at.file('a'))}\n", out)
    bars = shown.split("\r")
    found = [re.fullmatch(r"\[#*\.*\] +(\d+)%  [0-9.]+M/32M  [0-9.]+[KM]/s  ETA \S+  read\x1b\[K",
                          bar) for bar in bars]
    percents = [int(bar.group(1)) for bar in found if bar]
    assert len(percents) >= 2 and percents == sorted(percents), shown
    assert bars[-1] == "\x1b[K", "the bar is wiped in the end"
    _, out, shown = on_terminal("checksum", at.file("a"), "--json", *at.options)
    assert shown == "" and json.loads(out)["job"]["state"] == "complete"


@SLOW
def test_ctrl_c_leaves_the_job_running_and_says_how_to_stop_it(at):
    make("a", 64 * MIB, ((0, 64),))
    waiting = at.start("clone", "--verify", at.file("a"), at.file("b"))
    number = wait_for_job(at)
    time.sleep(0.3)
    waiting.send_signal(signal.SIGINT)
    done = end(waiting)
    assert done.returncode == 130, done
    assert at.json("jobs", f"{at.prefix}{number}")["job"]["state"] == "running"
    told = re.search(r"stop it: lodestore (.*)$", done.stderr)
    assert told, done
    stopped = subprocess.run([PROGRAM, *told.group(1).split()], check=False)
    assert stopped.returncode == 0
    assert at.json("jobs", f"{at.prefix}{number}")["job"]["state"] == "cancelled"


@SLOW
def test_the_sidecar_is_killed_while_one_waits(at, request):
    make("a", 16 * MIB, ((0, 16),))
    waiting = at.start("clone", "--verify", at.file("a"), at.file("b"))
    wait_for_job(at)
    request.node.offloadd.end(signal.SIGKILL)
    time.sleep(1.5)
    request.node.offloadd = start_offloadd()
    done = end(waiting)
    assert done.returncode == 0, done
    assert "verified" in done.stdout
    assert done.stderr.count("Trying again") == 1, done
    assert content("a") == content("b")


@SLOW
def test_nfsd_is_restarted_while_one_waits(request):
    make("a", 16 * MIB, ((0, 16),))
    waiting = NETWORK.start("clone", "--verify", NETWORK.file("a"), NETWORK.file("b"))
    wait_for_job(SOCKET)
    request.node.nfsd.end()
    time.sleep(1.5)
    request.node.nfsd = start_nfsd()
    done = end(waiting)
    assert done.returncode == 0, done
    assert "Trying again" in done.stderr
    assert content("a") == content("b")


@SLOW
@pytest.mark.parametrize("which", ["nfsd", "offloadd"])
def test_what_does_not_come_back_is_given_up(request, which):
    make("a", 64 * MIB, ((0, 64),))
    waiting = NETWORK.start("clone", "--verify", NETWORK.file("a"), NETWORK.file("b"),
                            "--timeout", "2", "--json")
    number = wait_for_job(SOCKET)
    began = time.monotonic()
    getattr(request.node, which).end()
    setattr(request.node, which, None)
    done = end(waiting)
    assert time.monotonic() - began < 12
    assert done.returncode == 3, done
    error = json.loads(done.stdout)["error"]
    assert error["status"] == ("unreachable" if which == "nfsd" else "unavailable")
    assert error["job"] == number


# ---- what is refused ----

@pytest.mark.parametrize("words, why", [
    (("clone", "{}missing", "{}b"), r"source: .*\. Name files as hosts mount them"),
    (("clone", "{}a", "{}no/b"), "destination: "),
    (("clone", "{}a", "{}a"), "the same file"),
    (("stat", "{}missing"), "No such file"),
    (("checksum", "{}d"), "not a regular file"),
    (("jobs", "{}a"), "no such job"),
    (("cancel", "{}a"), "no such job"),
])
def test_refusals_name_what_was_asked(at, words, why):
    make("a", MIB, ((0, 1),))
    os.mkdir(top + "/e/d")
    words = [word.format(at.file("")) for word in words]
    done = at.run(*words, "--json")
    assert done.returncode == 1, done
    assert done.stderr.startswith("lodestore: " + " ".join(words) + ": "), done
    assert done.stderr.count("\n") == 1
    assert re.search(why, done.stderr), done
    error = json.loads(done.stdout)["error"]
    assert error["text"] and error["status"] in ("noent", "not_file", "same_file", "no_job")
    assert error["job"] is None


def test_a_failed_job_is_told(at):
    make("a", MIB, ((0, 1),))
    with open(top + "/e/big", "wb") as made:
        made.truncate(1 << 40)
    job = at.json("reserve", at.file("big"), status=1)["job"]
    assert (job["state"], job["status"]) == ("failed", "no_space")
    done = at.run("reserve", at.file("big"))
    assert re.match(rf"lodestore: the reserve of {re.escape(at.file('big'))} failed: .*space",
                    done.stderr), done


def test_exports_decide():
    make("a", MIB, folder="ro")
    done = NETWORK.run("reserve", NETWORK.file("a", "ro"))
    assert done.returncode == 1 and "must say rw" in done.stderr, done
    done = IPV6.run("stat", IPV6.file("a", "ro"))
    assert done.returncode == 1 and "must list this machine" in done.stderr, done


def as_user(*words):
    return subprocess.run(["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups",
                           PROGRAM, *words], capture_output=True, text=True, check=False)


def test_users_may_what_the_server_lets_them():
    make("a", MIB)
    os.chmod(top + "/e/a", 0o600)
    done = as_user("checksum", NETWORK.file("a"), *NETWORK.options)
    assert done.returncode == 1 and "must list" in done.stderr, done
    os.chmod(top + "/e/a", 0o644)
    assert as_user("checksum", NETWORK.file("a"), *NETWORK.options).returncode == 0
    done = as_user("checksum", SOCKET.file("a"), *SOCKET.options)
    assert done.returncode == 3 and "only root" in done.stderr, done
    os.chmod(sock, 0o666)
    done = as_user("checksum", SOCKET.file("a"), *SOCKET.options)
    assert done.returncode == 3 and "only root" in done.stderr, done


@ALONE
@pytest.mark.parametrize("words, why", [
    ((), "lodestore help"),
    (("clnoe",), "no command 'clnoe'"),
    (("help", "clnoe"), "no command 'clnoe'"),
    (("clone", "a:/x"), "missing"),
    (("clone", "a:/x", "b:/x"), "different servers"),
    (("clone", "a:/x", "/x"), "different servers"),
    (("clone", "a:/x", "a:/y", "a:/z"), "too many"),
    (("clone", "a:/x", "a:/y", "--yes"), "no option --yes"),
    (("clone", "a:/x", "17"), "not the number of a job"),
    (("stat", "a:x"), "begins with /"),
    (("stat", "::1:/x"), r"\[ADDRESS\]:/path"),
    (("stat", "a:/x", "--socket", "/y"), "--socket"),
    (("stat", "/x", "--port", "1"), "--port"),
    (("reserve", "a:/x", "many"), "as in 40G"),
    (("reserve", "a:/x", "0"), "as in 40G"),
    (("reserve", "a:/x", "9000000T"), "as in 40G"),
    (("wait", "a:"), "missing"),
    (("reload", "now"), "one argument too many"),
])
def test_usage(words, why):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert re.search(why, done.stderr), done
    assert done.stdout == "" and done.stderr.count("\n") == 1


# ---- servers that are not there, or something else ----

def test_nobody_listens(request):
    done = Place("127.0.0.1", "--port", "1").run("stat", "127.0.0.1:/x")
    assert done.returncode == 3 and "does lodestore-nfsd run there" in done.stderr, done
    done = Place("", "--socket", top + "/none").run("stat", "/x")
    assert done.returncode == 3 and "systemctl status lodestore-offloadd" in done.stderr, done
    done = Place("").run("stat", "nosuch.invalid:/x")
    assert done.returncode == 3 and "cannot find the host 'nosuch.invalid'" in done.stderr, done
    request.node.offloadd.end()
    request.node.offloadd = None
    for at in NETWORK, SOCKET:
        done = at.run("stat", at.file("a"))
        assert done.returncode == 3, done
        assert "systemctl status lodestore-offloadd" in done.stderr, done


def reply(xid, *words):
    body = struct.pack(f">I{len(words)}I", xid, *words)
    return struct.pack(">I", 0x80000000 | len(body)) + body


@ALONE
@pytest.mark.parametrize("answer, why", [
    (lambda xid: reply(xid, 1, 0, 0, 0, 1), "does not serve lodestore's offload program"),
    (lambda xid: reply(xid, 1, 0, 0, 0, 2, 1, 1), "does not serve lodestore's offload program"),
    (lambda xid: reply(xid, 1, 0, 0, 0, 3), "older than this command"),
    (lambda xid: reply(xid, 1, 0, 0, 0, 4), "accept_stat 4"),
    (lambda xid: reply(xid, 1, 1, 1, 5), "turns this user away"),
    (lambda xid: reply(xid, 1, 0, 0, 0, 0, 0, 1, 2), "cannot be read"),
    (lambda xid: reply(xid + 1, 1, 0, 0, 0, 0), "does not speak ONC RPC"),
    (lambda xid: reply(xid), "does not speak ONC RPC"),
    (lambda xid: b"SSH-2.0-OpenSSH_9.2p1\r\n", "does not speak ONC RPC"),
    (lambda xid: b"", "closed the connection"),
], ids=["unavail", "mismatch", "proc", "garbage", "denied", "short", "xid", "cut", "ssh", "eof"])
def test_strange_servers(answer, why):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            connection, _ = listener.accept()
            with connection:
                xid = struct.unpack(">I", connection.recv(65536)[4:8])[0]
                connection.sendall(answer(xid))

        thread = threading.Thread(target=serve)
        thread.start()
        done = Place("", "--port", str(listener.getsockname()[1])).run("stat", "127.0.0.1:/x")
        thread.join()
    assert done.returncode == 3, done
    assert why in done.stderr, done


def job_reply(xid):
    job = (struct.pack(">QIIII", 7, 1, 2, 0, 2) + native.opaque("copy")
           + struct.pack(">QQQQQQQI", 9, 9, 9, 1, 1, 1, 2, 1) + bytes(16)
           + native.opaque("a remark") + native.opaque("/srv/a") + native.opaque("/srv/b"))
    return struct.pack(">6I", xid, 1, 0, 0, 0, 0) + struct.pack(">I", 0) + job


@ALONE
def test_replies_that_are_cut_or_bent_are_survived():
    whole = job_reply(0)
    seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
    print("seed", seed)
    rng = random.Random(seed)
    answers = [whole[:count] for count in range(4, len(whole), 4)]
    for _ in range(60):
        bent = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            bent[rng.randrange(4, len(bent))] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        answers.append(bytes(bent))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            for answer in [whole, *answers]:
                connection, _ = listener.accept()
                with connection:
                    body = connection.recv(65536)[4:8] + answer[4:]
                    connection.sendall(struct.pack(">I", 0x80000000 | len(body)) + body)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        at = Place("", "--port", str(listener.getsockname()[1]))
        assert at.json("jobs", "127.0.0.1:7")["job"]["destination"] == "/srv/b"
        for answer in answers:
            done = at.run("jobs", "127.0.0.1:7", "--json", encoding="utf-8")
            assert done.returncode in ((3,) if len(answer) < len(whole) else (0, 1, 3)), done
            json.loads(done.stdout)
        thread.join()


@ALONE
def test_ctrl_c_while_a_server_is_silent():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        at = Place("", "--port", str(listener.getsockname()[1]))
        asking = at.start("stat", "127.0.0.1:/x")
        connection, _ = listener.accept()
        with connection:
            select.select([connection], [], [], 10)
            asking.send_signal(signal.SIGINT)
            assert end(asking).returncode == 130


# ---- commands for this machine ----

def test_check_config_runs_the_server_s():
    env = {**os.environ, "PATH": os.path.dirname(os.environ["NFSD"]) + ":" + os.environ["PATH"]}
    words = [PROGRAM, "check-config", "--config", top + "/conf", "--exports", top + "/exports"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "is good" in done.stdout) == (0, True), done
    with open(top + "/exports", "a", encoding="ascii") as exports:
        exports.write("/srv 127.0.0.1(rwx)\n")
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "rwx" in done.stderr) == (1, True), done


@ALONE
@pytest.mark.parametrize("checked, running, status", [
    (0, "lodestore-nfsd.service lodestore-offloadd.service", 0),
    (0, "lodestore-nfsd.service", 0),
    (0, "", 1),
    (1, "lodestore-nfsd.service", 1),
])
def test_reload_checks_then_tells_what_runs(tmp_path, checked, running, status):
    scripts = {
        "lodestore-nfsd": f"exit {checked}",
        "systemctl": f"case $1 in is-active) case ' {running} ' in *\" $3 \"*) exit 0 ;; esac;"
                     f" exit 3 ;; esac; echo $1 $3 >> {tmp_path}/told",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text("#!/bin/sh\n" + script + "\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "told").write_text("")
    done = subprocess.run([PROGRAM, "reload"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == status, done
    told = (tmp_path / "told").read_text().split("\n")[:-1]
    assert told == ([f"reload {unit}" for unit in running.split()] if status == 0 else [])


OF_THIS_MACHINE = ("check-config", "reload", "status", "top", "clients", "exports", "export",
                   "setup", "trace", "locks")


@ALONE
def test_help():
    whole = subprocess.run([PROGRAM, "help"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^  ([a-z-]+)\b", whole, re.MULTILINE):
        if name in ("help", "exit") or name.startswith("-"):
            continue
        part = subprocess.run([PROGRAM, name, "--help"], capture_output=True, text=True,
                              check=True).stdout
        assert part.startswith(f"Usage: lodestore {name}")
        assert part == subprocess.run([PROGRAM, "help", name], capture_output=True, text=True,
                                      check=True).stdout
        assert all(line in whole for line in part.removeprefix("Usage: lodestore ").split("\n"))
        assert ("--port" in part) == (name not in OF_THIS_MACHINE + ("rehearse",))
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"lodestore \d+\.\d+\.\d+\n", version.stdout)
    with open("/dev/full", "w", encoding="ascii") as full:
        assert subprocess.run([PROGRAM, "help"], stdout=full, check=False).returncode == 1
