# SPDX-License-Identifier: Apache-2.0
"""lodestore export: the exports file is changed whole or not at all."""
import fcntl
import json
import os
import subprocess
import threading
import time

import pytest

PROGRAM = os.environ["LODESTORE"]
pytestmark = pytest.mark.alone


@pytest.fixture(name="lab")
def fixture_lab(tmp_path):
    return Lab(tmp_path)


class Lab:
    def __init__(self, path):
        self.path, self.file = path, path / "exports"
        self.ds1, self.ds2 = str(path / "ds1"), str(path / "ds 2")
        os.mkdir(self.ds1)
        os.mkdir(self.ds2)

    def run(self, *words):
        return subprocess.run([PROGRAM, "export", *words, "--exports", self.file],
                              capture_output=True, text=True, timeout=60, check=False)

    def good(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, done
        return done.stdout

    def bad(self, *words, says, status=1):
        before = self.file.read_text() if self.file.exists() else None
        done = self.run(*words)
        assert done.returncode == status and says in done.stderr, done
        assert (self.file.read_text() if self.file.exists() else None) == before


def test_add_list_remove(lab):
    lab.good("add", lab.ds1, "192.0.2.0/24(rw,no_root_squash)")
    lab.good("add", lab.ds2, "*(ro)", "192.0.2.9(rw)")
    assert lab.file.read_text() == (f"{lab.ds1}  192.0.2.0/24(rw,no_root_squash)\n"
                                    f"\"{lab.ds2}\"  *(ro)  192.0.2.9(rw)\n")
    listed = json.loads(lab.good("list", "--json"))["exports"]
    assert [(row["path"], row["line"]) for row in listed] == [(lab.ds1, 1), (lab.ds2, 2)]
    assert listed[1]["hosts"][1] == {"host": "192.0.2.9", "read_only": False,
                                     "root_squash": True, "written": "192.0.2.9(rw)"}
    assert lab.good("list") == (f"{lab.ds1}  192.0.2.0/24(rw,no_root_squash)\n"
                                f"{lab.ds2}  *(ro) 192.0.2.9(rw)\n")
    lab.good("remove", lab.ds2 + "/", "192.0.2.9")
    assert lab.file.read_text().endswith("  *(ro)\n")
    lab.good("remove", lab.ds2)
    assert lab.file.read_text() == f"{lab.ds1}  192.0.2.0/24(rw,no_root_squash)\n"


def test_once_more_changes_nothing(lab):
    lab.good("add", lab.ds1, "esx(rw)")
    before = os.stat(lab.file)
    assert "already" in lab.good("add", lab.ds1, "esx(rw)")
    assert "not in" in lab.good("remove", lab.ds2)
    assert os.stat(lab.file).st_ino == before.st_ino


def test_owner_mode_comments_and_link_stay(lab):
    real = lab.path / "real"
    real.write_text("# ours\n")
    os.chmod(real, 0o640)
    os.chown(real, 12, 34)
    lab.file.symlink_to(real)
    lab.good("add", lab.ds1, "esx(rw)")
    stat = os.stat(real)
    assert (stat.st_mode & 0o7777, stat.st_uid, stat.st_gid) == (0o640, 12, 34)
    assert lab.file.is_symlink() and real.read_text() == f"# ours\n{lab.ds1}  esx(rw)\n"
    assert sorted(os.listdir(lab.path)) == ["ds 2", "ds1", "exports", "real"]


def test_mistakes_change_nothing(lab):
    lab.good("add", lab.ds1, "esx(rw)")
    lab.bad("add", lab.ds1, "esx(rw,no_root_sqaush)", says="no_root_squash")
    lab.bad("add", "ds1", "esx", says="no absolute path")
    lab.bad("add", lab.ds1 + "/none", "esx", says="is not there")
    lab.bad("add", lab.ds1, "esx (rw)", says="is not one host")
    lab.bad("add", lab.ds1, "a(rw,fsid=1)", "b(rw,fsid=2)", says="fsid")
    lab.bad("add", lab.ds1, says="name the directory and its hosts", status=2)
    lab.bad("change", lab.ds1, says="none of add, remove and list", status=2)
    lab.bad("add", lab.ds1, "esx", "--json", says="goes with list", status=2)
    lab.file.write_text("# one\nsrv esx\n/b  esx(xx)\n")
    lab.bad("add", lab.ds1, "esx", says="exports:2: ")
    lab.bad("remove", "/b", says="exports:3: ")


def test_overlap_is_told(lab):
    os.mkdir(lab.ds1 + "/in")
    lab.good("add", lab.ds1, "esx(rw)")
    done = lab.run("add", lab.ds1 + "/in", "esx(rw)")
    assert done.returncode == 0 and "lie in each other" in done.stderr
    assert "is not below /srv" in done.stderr


def test_two_at_once_both_count(lab):
    threads = [threading.Thread(target=lab.good, args=("add", lab.ds1, f"10.0.0.{i}(rw)"))
               for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hosts = json.loads(lab.good("list", "--json"))["exports"][0]["hosts"]
    assert sorted(row["host"] for row in hosts) == sorted(f"10.0.0.{i}" for i in range(12))


def test_it_waits_for_the_lock(lab):
    lock = os.open(lab.path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with subprocess.Popen([PROGRAM, "export", "add", lab.ds1, "esx", "--exports", lab.file],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while "flock" not in open(f"/proc/{process.pid}/stack").read():
            assert time.monotonic() < end
            time.sleep(0.01)
        assert not lab.file.exists()
        os.close(lock)
        assert process.wait(60) == 0
    assert lab.file.exists()
