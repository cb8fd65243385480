# SPDX-License-Identifier: Apache-2.0
"""A session as tshark's dissectors see it: nothing malformed, nothing they find odd."""
import os
import re
import signal
import subprocess

import pytest

import sandbox

CHECKED = {"RPC", "NFS", "MOUNT", "PORTMAP"}
LIMIT_S = 120
ATTEMPTS = 6
FILE_BYTES = 300_001


class Capture:
    """tshark writing a file while packets of some ports pass through the bridge and loopback."""

    def __init__(self, ports):
        self.file = os.path.join(sandbox.folder("capture"), "session.pcapng")
        self._ports = ports
        ports_filter = " or ".join(f"port {port}" for port in ports)
        self._log = open(self.file + ".log", "w+b")
        self._process = subprocess.Popen(
            ["tshark", "-q", "-n", "-B", "64", "-i", "lo", "-i", sandbox.BRIDGE,
             "-f", ports_filter, "-w", self.file],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        sandbox.wait_for(lambda: b"Capturing on" in self._read_log(), 20, "tshark captures")

    def _read_log(self):
        self._log.seek(0)
        return self._log.read()

    def stop(self):
        """End it; true if packets were dropped."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=30)
        dropped = re.search(rb"[1-9][0-9]* packets? dropped", self._read_log())
        self._log.close()
        return dropped is not None

    def dissect(self, *options):
        argv = ["tshark", "-n", "-r", self.file, "-o", "rpc.desegment_rpc_over_tcp:TRUE",
                "-o", "tcp.reassemble_out_of_order:TRUE"]
        for port in self._ports:
            argv += ["-d", f"tcp.port=={port},rpc"]
        return subprocess.run(argv + list(options), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=LIMIT_S, check=True).stdout


@pytest.fixture(scope="session")
def session(volume, guests, run_client):
    """A capture without a gap. The kernel may drop packets when the machine is busy; a session
    with a gap in it says nothing, so there is another one then."""
    guest = guests.start(1)[0]
    ports = sorted({volume.server.nfs_port, volume.server.mount_port})
    for _ in range(ATTEMPTS):
        capture = Capture(ports)
        use_everything(volume, guest, run_client)
        if not capture.stop():
            return capture
    pytest.fail(f"{ATTEMPTS} captures in a row had packets dropped")


def use_everything(volume, guest, run_client):
    """libnfs and a kernel client doing a bit of everything."""
    _, name = volume.scratch("session")
    server = volume.server
    source = os.path.join(sandbox.folder("content"), name)
    with open(source, "wb") as out:
        out.write(os.urandom(FILE_BYTES))
    query = f"?nfsport={server.nfs_port}&mountport={server.mount_port}&uid=0&gid=0"
    url = f"nfs://{sandbox.ADDRESS}{volume.export}/{name}"
    run_client("nfs-cp", source, f"{url}/file{query}")
    run_client("nfs-cp", f"{url}/file{query}", source + ".back")
    run_client("nfs-ls", f"{url}{query}")
    guest.launch_mounted(server, volume.export, f"""
        cd '{name}'
        mkdir folder; echo one > folder/one; ln folder/one folder/two; ln -s one folder/link
        mknod folder/pipe p; mv folder/one folder/three; cat folder/link || true
        chmod 600 folder/two; touch -d 2001-01-01 folder/two; truncate -s 12345 folder/two
        ls -la folder; stat -f .; for i in $(seq 40); do : > folder/entry-$i; done; ls folder
        ! mkdir folder; ! rmdir folder; ! cat nothing; dd if=file of=/dev/null bs=64k
        dd if=/dev/zero of=folder/synced bs=4k count=5 oflag=sync; rm -r folder
        """, "rsize=65536").succeed(LIMIT_S)


@pytest.mark.one_volume
def test_nothing_is_malformed(session):
    assert session.dissect("-Y", "_ws.malformed or _ws.short").strip() == ""


@pytest.mark.one_volume
def test_no_expert_finds_fault(session):
    """Warnings and errors of the RPC family's dissectors; what TCP's say is about the capture."""
    table = session.dissect("-q", "-z", "expert,warn")
    rows = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()]
    faults = [row for row in rows if len(row) >= 4 and row[2].upper() in CHECKED]
    assert not faults


@pytest.mark.one_volume
def test_every_call_has_its_reply(session):
    """And the session did what it says: enough procedures were seen."""
    xids = [set(re.findall(r"0x[0-9a-f]+", session.dissect(
        "-Y", f"rpc.msgtyp == {kind}", "-T", "fields", "-e", "rpc.xid"))) for kind in (0, 1)]
    calls, replies = xids
    assert len(calls) > 100
    unanswered = [session.dissect("-Y", f"rpc.xid == {xid}") for xid in calls ^ replies]
    assert not unanswered
    procedures = session.dissect("-Y", "nfs && rpc.msgtyp == 0", "-T", "fields", "-e",
                                 "rpc.procedure")
    assert len(set(re.findall(r"\d+", procedures))) >= 18
