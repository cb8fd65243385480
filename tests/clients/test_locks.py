# SPDX-License-Identifier: Apache-2.0
"""Locks between two Linux kernel clients, with the kernel's lock manager and rpc.statd in each."""
import fcntl
import os
import shutil

import pytest

import sandbox
import servers

LIMIT_S = 90
GRACE_S = 8
PORT = 2150


def statd(guest, notify=False):
    """Shell: the guest's port mapper and status monitor, once a boot. Its state is on the host."""
    return f"""
        if [ ! -e /run/statd ]; then
            hostname guest{guest.number}
            mkdir -p "$GUEST/statd/sm" "$GUEST/statd/sm.bak" /run/rpcbind /run/sendsigs.omit.d
            ln -s "$GUEST/statd" /run/statd
            rpcbind || exit 1
            rpc.statd -P "$GUEST/statd" --no-notify || exit 1
            {'timeout 30 sm-notify -d -P "$GUEST/statd"' if notify else ''}
        fi"""


class Locked:
    """A file of a server of our own, which two guests lock."""

    def __init__(self, volume, server, guests, path, name):
        self.server, self.guests = server, guests
        self.pair = guests.start(1, 2)
        self.path, self.name, self.export = path, name, volume.export
        with open(os.path.join(path, "file"), "w", encoding="ascii") as file:
            file.write("x" * 100)

    def shell(self, which, script, notify=False):
        guest = self.pair[which]
        return guest.launch_mounted(self.server, self.export, f"cd '{self.name}'\n{script}",
                                    "lock", statd(guest, notify))

    def mark(self, which, name):
        """A file that this guest can make, and both can see."""
        return os.path.join(self.pair[which].path(""), f"{self.name}-{name}")

    def locks(self, which, *words):
        return self.shell(which, "python3 $GUEST/guest_lock.py file " + " ".join(words))

    def made(self, path):
        sandbox.wait_for(lambda: os.path.exists(path), LIMIT_S, f"{path} is made")

    @staticmethod
    def make(path):
        with open(path, "w", encoding="ascii"):
            pass


@pytest.fixture(scope="module")
def lock_server(volume, server_options):
    server_class, keywords = server_options
    if server_class is not servers.Lodestore:
        pytest.skip("locks are lodestore's here")
    server = server_class([volume.export], label="locks", port=PORT, rpcbind=True,
                          settings=f"[nfsd]\nnlm_grace = {GRACE_S}\n", **keywords).start()
    yield server
    assert server.stop() == 0, server.log_tail()
    assert not server.sanitizer_report(), server.sanitizer_report()


@pytest.fixture
def locked(volume, lock_server, guests):
    path, name = volume.scratch("locks")
    return Locked(volume, lock_server, guests, path, name)


@pytest.mark.one_volume
def test_record_locks_exclude(locked):
    """Busy, free beside it; waiting is over when the other unlocks; ranges split."""
    held, go = locked.mark(0, "held"), locked.mark(1, "go")
    first = locked.locks(0, "lock 0 100", f"say {held}", f"hear {go}", "unlock 40 20",
                         "unlock 0 40", "unlock 60 40")
    locked.made(held)
    assert locked.locks(1, "lock 10 10 shared 99 1 lock 100 10 unlock 0 0").succeed(LIMIT_S) == (
        "lock busy\nshared busy\nlock ok\nunlock ok\n")
    second = locked.locks(1, f"say {go}", "wait 45 10", "wait 0 100")
    assert second.succeed(LIMIT_S) == "wait ok\nwait ok\n"
    assert first.succeed(LIMIT_S).startswith("lock ok\n")


@pytest.mark.one_volume
def test_upgrade(locked):
    """Shared by both, then exclusive for the one that is left."""
    held, go = locked.mark(0, "held"), locked.mark(0, "go")
    first = locked.locks(0, "shared 0 10", f"say {held}", f"hear {go}")
    locked.made(held)
    assert locked.locks(1, "shared 0 10 lock 0 10").succeed(LIMIT_S) == "shared ok\nlock busy\n"
    locked.make(go)
    first.succeed(LIMIT_S)
    assert locked.locks(1, "shared 0 10 lock 0 10").succeed(LIMIT_S) == "shared ok\nlock ok\n"


@pytest.mark.one_volume
def test_flock_excludes(locked):
    """flock(1) of the whole file: busy, then waiting until it is free."""
    held, go = locked.mark(0, "held"), locked.mark(0, "go")
    first = locked.shell(0, f"exec 8<>file; flock -x 8; : > {held}\n"
                            f"until [ -e {go} ]; do :; done; flock -u 8")
    locked.made(held)
    locked.shell(1, "exec 8<>file; ! flock -n -x 8; ! flock -n -s 8").succeed(LIMIT_S)
    second = locked.shell(1, f"exec 8<>file; : > {locked.mark(1, 'waits')}; flock -x 8; echo got")
    locked.made(locked.mark(1, "waits"))
    locked.make(go)
    assert second.succeed(LIMIT_S) == "got\n"
    first.succeed(LIMIT_S)


@pytest.mark.one_volume
def test_a_program_of_the_servers_machine_excludes(locked):
    """... and is excluded."""
    with open(os.path.join(locked.path, "file"), "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
        assert locked.locks(0, "lock 0 1 lock 10 1").succeed(LIMIT_S) == "lock busy\nlock ok\n"
        waits = locked.locks(0, f"say {locked.mark(0, 'waits')}", "wait 0 1")
        locked.made(locked.mark(0, "waits"))
        fcntl.lockf(file, fcntl.LOCK_UN, 10, 0)
        assert waits.succeed(LIMIT_S) == "wait ok\n"
    held, go = locked.mark(0, "held"), locked.mark(0, "go")
    job = locked.locks(0, "lock 0 10", f"say {held}", f"hear {go}")
    locked.made(held)
    with open(os.path.join(locked.path, "file"), "r+b") as file:
        with pytest.raises(BlockingIOError):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 5)
    locked.make(go)
    job.succeed(LIMIT_S)


@pytest.mark.one_volume
def test_locks_survive_kill_9_of_the_server(locked):
    """The client is told, and takes its lock again before others can."""
    held, go = locked.mark(0, "held"), locked.mark(0, "go")
    first = locked.locks(0, "lock 0 10", f"say {held}", f"hear {go}")
    locked.made(held)
    locked.server.kill()
    locked.server.start()
    assert locked.locks(1, "lock 0 10 lock 20 1").succeed(LIMIT_S) == "lock busy\nlock ok\n"
    locked.make(go)
    first.succeed(LIMIT_S)
    assert locked.locks(1, "wait 0 10").succeed(LIMIT_S) == "wait ok\n"


@pytest.mark.one_volume
def test_a_client_that_dies_and_comes_back_holds_nothing(locked):
    """Its status monitor says that it has restarted."""
    held = locked.mark(0, "held")
    locked.locks(0, "lock 0 10", f"say {held}", "hear /nowhere")
    locked.made(held)
    dead = locked.pair[0]
    dead.kill()
    locked.pair = locked.guests.start(1, 2)
    assert locked.pair[0] is not dead
    shutil.copytree(dead.path("statd"), locked.pair[0].path("statd"))
    waits = locked.locks(1, "wait 0 10")
    locked.shell(0, "true", notify=True).succeed(LIMIT_S)
    assert waits.succeed(LIMIT_S) == "wait ok\n"
