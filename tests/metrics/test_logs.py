# SPDX-License-Identifier: Apache-2.0
"""Who is turned away can be read in the log: who, what, why, and what to write instead."""

import os
import socket

import mount3
import nfs3
import pytest
import rpc
from daemons import CRED, PORT, Lodestore, until

JOURNAL = "/run/systemd/journal/socket"


@pytest.fixture(scope="module", name="lodestore")
def fixture_lodestore():
    both = Lodestore()
    for name in "squashed", "others":
        os.mkdir(f"{both.top}/{name}", 0o755)
    with open(both.top + "/exports", "a") as file:
        file.write(f"{both.top}/squashed 127.0.0.0/8(rw)\n{both.top}/others 192.0.2.1(rw)\n")
    both.nfsd.process.send_signal(1)  # SIGHUP
    until(lambda: "/squashed" in "".join(row["path"] for row in both.status()["status"]["exports"]))
    yield both
    both.end()


def test_root_that_is_nobody_here_is_told_with_what_to_write(lodestore):
    nfs, root = lodestore.nfs("127.0.0.5"), lodestore.root(lodestore.top + "/squashed")
    nfs.create(root, b"x").fails(nfs3.NFS3ERR_ACCES)
    said = lodestore.nfsd.log_text()
    assert ("CREATE from 127.0.0.5 is refused: its root acts as user 65534 in the export" in said
            and "write 127.0.0.5(rw,no_root_squash) in exports" in said)
    before = lodestore.nfsd.log_text().count("is refused")
    nobody = lodestore.nfs("127.0.0.6", rpc.auth_sys(65534, 65534, ()))
    nobody.create(root, b"x").fails(nfs3.NFS3ERR_ACCES)  # no root, so nothing to be told
    assert lodestore.nfsd.log_text().count("is refused") == before
    for client in nfs, nobody:
        client.connection.close()


def test_a_host_that_is_not_listed_is_told(lodestore):
    connection = rpc.TcpConnection("127.0.0.1", PORT)
    mount3.Mount(connection, CRED).mnt(os.fsencode(lodestore.top + "/others")).fails(13)
    connection.close()
    assert (f'127.0.0.1 may not mount "{lodestore.top}/others": the export\'s line does not list'
            " this host" in lodestore.nfsd.log_text())


def entries(journal):
    """What has come, as dictionaries (systemd's native protocol; no value here has a newline)."""
    found = []
    try:
        while True:
            lines = journal.recv(65536, socket.MSG_DONTWAIT).decode().splitlines()
            found.append(dict(line.split("=", 1) for line in lines))
    except BlockingIOError:
        return found


def test_the_journal_gets_who_and_what_as_fields(lodestore, monkeypatch):
    """A socket in the journal's place, and a file that stderr is and $JOURNAL_STREAM names."""
    os.makedirs(os.path.dirname(JOURNAL))
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(JOURNAL)
    lodestore.nfsd.end()
    stream = os.stat(f"{lodestore.top}/NFSD.log")
    monkeypatch.setenv("JOURNAL_STREAM", f"{stream.st_dev}:{stream.st_ino}")
    lodestore.start_nfsd()
    connection = rpc.TcpConnection("127.0.0.1", PORT)
    path = lodestore.top + "/others"
    mount3.Mount(connection, CRED).mnt(os.fsencode(path)).fails(13)
    connection.close()
    found = until(lambda: [entry for entry in entries(journal) if "LODESTORE_EXPORT" in entry])
    assert len(found) == 1
    assert found[0]["LODESTORE_CLIENT"] == "127.0.0.1" and found[0]["LODESTORE_EXPORT"] == path
    assert found[0]["LODESTORE_CALL"] == "MNT" and found[0]["PRIORITY"] == "4"
    assert found[0]["SYSLOG_IDENTIFIER"] == "lodestore-nfsd"
    assert found[0]["MESSAGE"].startswith("127.0.0.1 may not mount ")
    said = lodestore.nfsd.log_text()
    assert "may not mount" not in said and "<6>ready on port" in said
    journal.close()
    os.unlink(JOURNAL)
