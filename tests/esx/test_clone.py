# SPDX-License-Identifier: Apache-2.0
"""lodestore-esx.py against both daemons, on the file system that $OFFLOAD_DIR lies on.

$OFFLOADD and $NFSD are the programs, $ESX_PYTHON what runs the script (default: this Python). The
export's own directory stands for the datastore. Needs root.
"""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from esx import SCRIPT, load, lock_name, make_machine, vmx, write, write_disk

MIB = 1 << 20
top = os.environ.get("OFFLOAD_DIR", "")
kind_here = os.environ.get("OFFLOAD_KIND", "")  # of its file system
pytestmark = pytest.mark.skipif(not top, reason="OFFLOAD_DIR says where; see 67-esx.sh")
port = int(os.environ.get("OFFLOAD_PORT", "32150"))
export = top + "/e"


class Daemon:
    """One of the two programs."""

    def __init__(self, program, *args):
        with open("%s/%s.log" % (top, program), "ab") as log:
            self.process = subprocess.Popen(
                [os.environ[program], "--foreground", "--config", top + "/conf", "--exports",
                 top + "/exports", "--state-dir", top + "/state", *args], stderr=log)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(20)


def connects(family, address):
    with socket.socket(family) as trial:
        return trial.connect_ex(address) == 0


def until(holds, what):
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.02)
    raise TimeoutError(what)


def start_offloadd():
    daemon = Daemon("OFFLOADD")
    until(lambda: connects(socket.AF_UNIX, top + "/sock"), "the sidecar does not start")
    return daemon


@pytest.fixture(autouse=True, name="servers")
def fixture_servers(request):
    """A fresh export and both daemons; servers["offloadd"] can be replaced."""
    subprocess.run(["rm", "-rf", export, top + "/ro", top + "/state"], check=True)
    os.mkdir(export, 0o755)
    os.mkdir(top + "/ro", 0o755)
    marker = request.node.get_closest_marker("rate")
    with open(top + "/conf", "w", encoding="ascii") as conf:
        conf.write("[nfsd]\nrpcbind = no\n[offload]\nsocket = %s/sock\n" % top)
        conf.write("copy_rate = %s\n" % marker.args[0] if marker else "")
    with open(top + "/exports", "w", encoding="ascii") as exports:
        exports.write("%s/e 127.0.0.1(rw,no_root_squash)\n%s/ro 127.0.0.1(ro,no_root_squash)\n"
                      % (top, top))
    running = {"offloadd": start_offloadd(),
               "nfsd": Daemon("NFSD", "--listen", "127.0.0.1", "--port", str(port))}
    until(lambda: connects(socket.AF_INET, ("127.0.0.1", port)), "nfsd does not start")
    yield running
    for daemon in running.values():
        daemon.end()


def command(source, new, *more, folder=export):
    python = os.environ.get("ESX_PYTHON", sys.executable)
    return [python, str(SCRIPT), "clone", source, os.path.join(folder, new), "--server",
            "127.0.0.1:%d" % port, "--export", folder, "--datastore", "lab", *more]


def run(source, new, *more, folder=export, **how):
    done = subprocess.run(command(source, new, *more, folder=folder), timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **how)
    done.out, done.err = done.stdout.decode(), done.stderr.decode()
    return done


def begin(source, new, *more):
    return subprocess.Popen(command(source, new, *more), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def content(path):
    with open(os.fsencode(path), "rb") as opened:
        return opened.read()


def state_of(folder):
    """Of each file below: what must not change."""
    found = {}
    for name in sorted(os.listdir(os.fsencode(folder))):
        path = os.path.join(os.fsencode(folder), name)
        stat = os.stat(path)
        found[name] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, content(path))
    return found


def jobs_running(esx):
    """How many jobs the server has that are not ended."""
    def read(reader):
        states = []
        for _ in range(reader.u32()):
            states.append(esx.Job(reader).state)
            reader.text()  # source
            reader.text()  # destination
        return states

    server = esx.Server("127.0.0.1", port)
    states = server.call(8, esx.struct.pack(">QI", 0, 32), read)
    server.close()
    return len([state for state in states if state in (esx.QUEUED, esx.RUNNING)])


def is_clone(new, name, source, disks):
    """The new machine is whole, and nothing else is there."""
    names = {name + ".vmx", name + ".nvram"}
    for old_disk, disk in disks:
        names |= {disk + ".vmdk", disk + "-flat.vmdk"}
        assert content("%s/%s-flat.vmdk" % (new, disk)) == content("%s/%s-flat.vmdk"
                                                                   % (source, old_disk))
        assert ('"%s-flat.vmdk"' % disk).encode() in content("%s/%s.vmdk" % (new, disk))
        assert ('"%s.vmdk"' % disk).encode() in content("%s/%s.vmx" % (new, name))
    assert {os.fsdecode(found) for found in os.listdir(os.fsencode(new))} == names
    return True


# ---- what is cloned ----

def test_a_machine_is_cloned_whole_and_the_old_one_is_not_touched():
    home = make_machine(export, "tmpl", (16 * MIB, 4 * MIB))
    os.chmod(home + "/tmpl.vmx", 0o755)
    os.chmod(home + "/tmpl-flat.vmdk", 0o600)
    before = state_of(home)
    done = run(home, "vm7")
    assert done.returncode == 0, done.err
    assert done.out == "vim-cmd solo/registervm /vmfs/volumes/lab/vm7/vm7.vmx\n"
    assert state_of(home) == before
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7"), ("tmpl_1", "vm7_1")])
    assert os.stat(export + "/vm7/vm7.vmx").st_mode & 0o777 == 0o755
    assert os.stat(export + "/vm7/vm7-flat.vmdk").st_mode & 0o777 == 0o600
    made = load().Settings(content(export + "/vm7/vm7.vmx"), "x")
    assert made.get("displayName") == "vm7" and not made.get("uuid.bios")


def test_a_clone_of_a_clone_has_ids_of_its_own():
    home = make_machine(export, "tmpl")
    assert run(home, "a").returncode == 0
    assert run(export + "/a", "b", "--name", "B two").returncode == 0
    assert is_clone(export + "/b", "B two", export + "/a", [("a", "B two")])
    esx = load()
    disks = [esx.Settings(content(path), path, esx.EXTENT_LINE) for path in (
        home + "/tmpl.vmdk", export + "/a/a.vmdk", export + "/b/B two.vmdk")]
    for key in ("CID", "ddb.uuid", "ddb.longContentID"):
        assert len({disk.get(key) for disk in disks}) == 3, key


@pytest.mark.parametrize("environment", [{"LC_ALL": "C", "PYTHONUTF8": "0",
                                          "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C.UTF-8"}])
def test_any_name_survives_a_shell_without_locale(environment):
    home = make_machine(export, "M\u00e9tro \u4e2d it's")
    done = run(home, "n\u00fc 'x'", env=dict(os.environ, **environment))
    assert done.returncode == 0, done.err
    assert is_clone(export + "/n\u00fc 'x'", "n\u00fc 'x'", home, [("M\u00e9tro \u4e2d it's",
                                                                    "n\u00fc 'x'")])
    line = subprocess.run(["sh", "-c", 'eval "set -- $1"; printf %s "$3"', "sh", done.out],
                          check=True, stdout=subprocess.PIPE).stdout
    assert line == "/vmfs/volumes/lab/n\u00fc 'x'/n\u00fc 'x'.vmx".encode()


def test_the_result_as_json():
    home = make_machine(export, "tmpl")
    done = run(home, "vm7", "--json", "--verify")
    told = json.loads(done.out)
    assert told["register"].endswith("/vmfs/volumes/lab/vm7/vm7.vmx")
    assert told["files"][0]["engine"] == ("copy" if kind_here == "ext4" else "reflink")
    assert told["files"][0]["bytes"] == MIB and len(told["files"][0]["checksum"]) == 32
    again = run(home, "vm7", "--json")
    assert again.returncode == 1 and "there already" in json.loads(again.out)["error"]


def test_thick_reserves_and_says_so():
    home = make_machine(export, "tmpl", (16 * MIB,), thin=False)
    done = run(home, "thin", "--name", "x")
    assert "was thick" in done.err
    assert b'thinProvisioned = "1"' in content(export + "/thin/x.vmdk")
    assert os.stat(export + "/thin/x-flat.vmdk").st_blocks * 512 < 16 * MIB
    assert run(home, "vm7", "--thick").returncode == 0
    assert b"thinProvisioned" not in content(export + "/vm7/vm7.vmdk")
    assert os.stat(export + "/vm7/vm7-flat.vmdk").st_blocks * 512 >= 16 * MIB


def test_images_beside_the_machine_come_along():
    home = make_machine(export, "tmpl")
    write(home + "/seed.iso", b"iso")
    write(home + "/tmpl.vmx", vmx("tmpl", "tmpl.vmdk", more='sata0:0.deviceType = "cdrom-image"\n'
                                  'sata0:0.fileName = "seed.iso"\nsata0:0.present = "TRUE"'))
    assert run(home, "vm7").returncode == 0
    assert content(export + "/vm7/seed.iso") == b"iso"


def test_a_dry_run_makes_nothing():
    home = make_machine(export, "tmpl")
    before = state_of(home)
    done = run(home, "vm7", "--dry-run")
    assert done.returncode == 0 and "would clone" in done.out and "registervm" in done.out
    assert state_of(home) == before and not os.path.exists(export + "/vm7")


# ---- what is refused ----

def refused(done, status, *words):
    """It failed so, and left nothing."""
    assert done.returncode == status, done.err
    for word in words:
        assert word in done.err
    assert not os.path.exists(export + "/vm7")
    return True


def test_a_running_machine_is_refused():
    home = make_machine(export, "tmpl")
    lock = "%s/%s" % (home, lock_name(home + "/tmpl-flat.vmdk"))
    write(lock, bytes(84))
    assert refused(run(home, "vm7"), 3, "the machine runs", ".lck-")
    assert refused(run(home, "vm7", "--ignore-stale"), 3, "the machine runs")
    os.utime(lock, (1000, 1000))
    assert refused(run(home, "vm7"), 3, "--ignore-stale")


def test_a_stale_lock_can_be_ignored(capsys, monkeypatch):
    esx = load()
    monkeypatch.setattr(esx, "LOCK_WATCH_S", 1)
    monkeypatch.setattr(esx, "LOCK_LOOK_S", 0.1)
    home = make_machine(export, "tmpl")
    lock = "%s/%s" % (home, lock_name(home + "/tmpl-flat.vmdk"))
    write(lock, bytes(84))
    os.utime(lock, (1000, 1000))
    esx.clone_command(esx.parse_arguments(command(home, "vm7", "--ignore-stale")[2:]),
                      esx.Show(True))
    assert "registervm" in capsys.readouterr().out
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


@pytest.mark.rate("8M")
def test_a_machine_that_is_switched_on_meanwhile_is_not_cloned():
    home = make_machine(export, "tmpl")
    write_disk(home + "/tmpl-flat.vmdk", 16 * MIB, [(0, os.urandom(16 * MIB))])
    running = begin(home, "vm7", "--verify")
    until(lambda: os.path.exists(export + "/vm7/.lodestore-clone"), "it does not begin")
    write("%s/%s" % (home, lock_name(home + "/tmpl-flat.vmdk")), bytes(84))
    assert running.wait(60) == 3
    assert not os.path.exists(export + "/vm7")
    running.communicate()


def test_snapshots_are_refused_with_what_to_do():
    home = make_machine(export, "tmpl")
    raw = content(home + "/tmpl.vmdk").replace(b'"vmfs"', b'"vmfsSparse"')
    write(home + "/tmpl-000001.vmdk", raw)
    write(home + "/tmpl.vmx", vmx("tmpl", "tmpl-000001.vmdk"))
    assert refused(run(home, "vm7"), 1, "snapshot.removeall")


def test_what_is_there_is_left_alone():
    home = make_machine(export, "tmpl")
    other = make_machine(export, "other")
    before = state_of(other)
    for new in ("other", "tmpl"):
        assert run(home, new).returncode == 1
    assert state_of(other) == before
    assert run(home, "no/such/vm").returncode == 1
    write(export + "/file", b"x")
    assert "no directory" in run(home, "file").err


def test_servers_refusals_are_told_and_nothing_is_left():
    """The second of two files: the first, whole, goes too."""
    home = make_machine(export, "tmpl", (MIB, MIB))
    os.rename(home + "/tmpl_1-flat.vmdk", home + "/real-flat.vmdk")
    os.symlink("real-flat.vmdk", home + "/tmpl_1-flat.vmdk")
    assert refused(run(home, "vm7"), 1, "the server refuses", "regular file")


def take_all(file, step):
    """Grow a file by steps as long as there is room (on ext4 a part of it is root's)."""
    taken = os.fstat(file).st_size
    try:
        while kind_here != "ext4" or os.statvfs(top).f_bavail * os.statvfs(top).f_frsize >= step:
            os.posix_fallocate(file, taken, step)
            taken += step
    except OSError as error:
        assert error.errno == errno.ENOSPC
    return taken


def fill_disk_but(left):
    """Take all and give a part back: what statvfs() calls free is a guess after files went."""
    with open(top + "/filler", "wb") as filler:
        take_all(filler.fileno(), 64 * MIB)
        taken = take_all(filler.fileno(), MIB)
        os.ftruncate(filler.fileno(), taken - left)
        os.fsync(filler.fileno())


def test_a_full_disk_leaves_nothing():
    """Where blocks are shared that is met when they are reserved, else when they are copied."""
    home = make_machine(export, "tmpl", (MIB, 64 * MIB))
    write_disk(home + "/tmpl_1-flat.vmdk", 64 * MIB, [(0, os.urandom(64 * MIB))])
    fill_disk_but(20 * MIB)
    try:
        assert refused(run(home, "vm7", "--thick"), 1, "/vm7/vm7_1-flat.vmdk", "No space left")
    finally:
        os.unlink(top + "/filler")
    assert run(home, "vm7", "--thick").returncode == 0


def test_read_only_exports_are_told():
    home = make_machine(top + "/ro", "tmpl")
    done = run(home, "vm7", folder=top + "/ro")
    assert done.returncode == 1 and "Read-only" in done.err
    assert not os.path.exists(top + "/ro/vm7")


def test_a_server_that_is_none_is_told_at_once():
    home = make_machine(export, "tmpl")
    wrong = command(home, "vm7")
    wrong[wrong.index("--server") + 1] = "127.0.0.1:%d" % (port + 1)
    began = time.monotonic()
    done = subprocess.run(wrong, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4 and b"--server HOST:PORT" in done.stderr
    assert time.monotonic() - began < 10
    assert not os.path.exists(export + "/vm7")


def test_without_a_sidecar_nothing_is_begun(servers):
    home = make_machine(export, "tmpl")
    servers["offloadd"].end()
    assert refused(run(home, "vm7"), 4, "lodestore-offloadd")
    servers["offloadd"] = start_offloadd()


# ---- what goes wrong on the way ----

def big_machine():
    home = make_machine(export, "tmpl")
    write_disk(home + "/tmpl-flat.vmdk", 24 * MIB, [(0, os.urandom(24 * MIB))])
    return home


def begin_slow(esx, home, *more):
    """A clone whose first job runs."""
    running = begin(home, "vm7", "--verify", *more)
    until(lambda: jobs_running(esx), "no job runs")
    return running


@pytest.mark.rate("8M")
def test_it_goes_on_when_the_sidecar_was_killed(esx, servers):
    home = big_machine()
    running = begin_slow(esx, home)
    servers["offloadd"].end(signal.SIGKILL)
    time.sleep(1.5)
    servers["offloadd"] = start_offloadd()
    told = running.communicate(timeout=60)[1]
    assert running.returncode == 0, told
    assert b"trying again" in told
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


@pytest.mark.rate("8M")
def test_it_goes_on_when_nfsd_was_killed(esx, servers):
    home = big_machine()
    running = begin_slow(esx, home)
    servers["nfsd"].end(signal.SIGKILL)
    servers["nfsd"] = Daemon("NFSD", "--listen", "127.0.0.1", "--port", str(port))
    told = running.communicate(timeout=60)[1]
    assert running.returncode == 0, told
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


@pytest.mark.rate("8M")
def test_out_of_patience_the_same_command_goes_on_later(esx, servers):
    home = big_machine()
    running = begin_slow(esx, home, "--patience", "1")
    servers["offloadd"].end(signal.SIGKILL)
    told = running.communicate(timeout=60)[1]
    assert running.returncode == 4 and b"same command again" in told
    assert not os.path.exists(export + "/vm7/vm7.vmx")
    servers["offloadd"] = start_offloadd()
    assert run(home, "vm7", "--name", "x").returncode == 1  # another clone
    done = run(home, "vm7", "--verify")
    assert done.returncode == 0 and "going on" in done.err
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


@pytest.mark.rate("8M")
def test_killed_it_leaves_no_machine_and_the_same_command_goes_on(esx):
    home = big_machine()
    running = begin_slow(esx, home)
    running.kill()
    running.communicate()
    assert not os.path.exists(export + "/vm7/vm7.vmx")
    assert os.path.exists(export + "/vm7/.lodestore-clone")
    done = run(home, "vm7", "--verify")
    assert done.returncode == 0, done.err
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


def test_a_session_that_is_gone_does_not_end_the_clone():
    """Nobody reads what it says: a pipe whose other end is closed."""
    home = make_machine(export, "tmpl", (MIB, MIB))
    end, begin_of_pipe = os.pipe()
    os.close(end)
    done = subprocess.run(command(home, "vm7"), stdout=subprocess.DEVNULL, stderr=begin_of_pipe,
                          check=False)
    os.close(begin_of_pipe)
    assert done.returncode == 0
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7"), ("tmpl_1", "vm7_1")])


@pytest.mark.rate("8M")
def test_the_same_command_twice_at_once_makes_one_machine(esx):
    """The second takes over; the first writes nothing more."""
    home = big_machine()
    first = begin_slow(esx, home)
    done = run(home, "vm7", "--verify")
    assert done.returncode == 0, done.err
    told = first.communicate(timeout=60)[1]
    assert first.returncode == 4 and b"taken over" in told
    assert is_clone(export + "/vm7", "vm7", home, [("tmpl", "vm7")])


@pytest.mark.rate("8M")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_it_takes_all_away(esx, how):
    home = big_machine()
    running = begin_slow(esx, home)
    running.send_signal(how)
    told = running.communicate(timeout=60)[1]
    assert running.returncode == 1 and b"interrupted" in told
    assert not os.path.exists(export + "/vm7")
    assert jobs_running(esx) == 0


def test_killed_at_any_time_the_machine_is_whole_or_not_there():
    """And the same command makes it whole."""
    home = make_machine(export, "tmpl", (MIB, MIB))
    for step in range(12):
        new = "vm%d" % step
        running = begin(home, new)
        time.sleep(0.05 + step * 0.02)
        running.kill()
        running.communicate()
        if os.path.exists("%s/%s/%s.vmx" % (export, new, new)):
            assert set(os.listdir(export + "/" + new)) >= {
                new + ".vmdk", new + "-flat.vmdk", new + "_1.vmdk", new + "_1-flat.vmdk",
                new + ".nvram"}
        done = run(home, new)
        assert done.returncode == 0 or "there already" in done.err
        assert is_clone(export + "/" + new, new, home, [("tmpl", new), ("tmpl_1", new + "_1")])


def test_several_clones_of_one_template_at_once():
    home = make_machine(export, "tmpl", (4 * MIB,))
    results = []
    threads = [threading.Thread(target=lambda n=number: results.append(run(home, "vm%d" % n)))
               for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done.returncode for done in results] == [0] * 4, [done.err for done in results]
    for number in range(4):
        new = "vm%d" % number
        assert is_clone(export + "/" + new, new, home, [("tmpl", new)])
