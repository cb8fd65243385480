# SPDX-License-Identifier: Apache-2.0
"""What was done is what the metrics tell, in a format that a strict reader takes."""

import json
import os
import re
import time

import nfs3
from daemons import CRED, HOSTILE, PORT, ask, here, until
from exposition import total, value
from native import Client, path

MIB = 1 << 20
MKDIR = 9
PACKAGING = os.path.join(here, "..", "..", "packaging")


def test_counts_are_those_of_the_calls(lodestore):
    before = lodestore.metrics()
    nfs, root = lodestore.nfs("127.0.0.2"), lodestore.root()
    handle = nfs.new_file(root, b"counted")
    for i in range(7):
        nfs.write(handle, i * 4096, b"w" * 4096, nfs3.FILE_SYNC).ok()
    for i in range(5):
        nfs.read(handle, i * 1024, 1024).ok()
    for _ in range(3):
        nfs.lookup(root, b"nothing").fails(nfs3.NFS3ERR_NOENT)
    now = lodestore.metrics()

    def grown(name, suffix="", **labels):
        return value(now, name, suffix, **labels) - value(before, name, suffix, **labels)

    calls = "lodestore_call_duration_seconds"
    for procedure, count in (("WRITE", 7), ("READ", 5), ("LOOKUP", 3)):
        assert grown(calls, "_count", program="nfs", procedure=procedure) == count
        assert grown(calls, "_bucket", program="nfs", procedure=procedure, le="+Inf") == count
        assert grown(calls, "_sum", program="nfs", procedure=procedure) > 0
    assert grown("lodestore_call_errors_total", program="nfs", procedure="LOOKUP") == 3
    assert grown("lodestore_errors_total", status="NFS3ERR_NOENT") == 3
    for key, label in (("client", "127.0.0.2"), ("export", lodestore.export)):
        assert grown(f"lodestore_{key}_written_bytes_total", **{key: label}) == 7 * 4096
        assert grown(f"lodestore_{key}_read_bytes_total", **{key: label}) == 5 * 1024
        assert grown(f"lodestore_{key}_errors_total", **{key: label}) == 3
    assert value(now, "lodestore_client_connections", client="127.0.0.2") == 1
    assert grown("lodestore_flush_calls_total") in (0, 7)
    assert grown("lodestore_reply_cache_kept_total") >= 8
    assert grown("lodestore_connections_accepted_total") == 2
    assert value(now, "lodestore_healthy") == 1
    nfs.connection.close()


def test_a_call_that_comes_again_hits_the_cache(lodestore):
    root = lodestore.root()
    nfs = lodestore.nfs()
    before = total(lodestore.metrics(), "lodestore_reply_cache_hits_total")
    args = nfs3.pack_arguments("MKDIR", dir=root, name=b"again", sattr=nfs3.Sattr())
    for _ in range(2):
        nfs.connection.call_rpc(100003, 3, MKDIR, args, CRED, xid=4711)
    assert total(lodestore.metrics(), "lodestore_reply_cache_hits_total") == before + 1
    nfs.connection.close()


def test_refusals_have_a_reason(lodestore):
    before = lodestore.metrics()
    nfs = lodestore.nfs()
    nfs.connection.call_rpc(100003, 2, 0)
    nfs.connection.call_rpc(100003, 3, 99)
    now = lodestore.metrics()
    for reason in "program", "procedure":
        assert (value(now, "lodestore_refusals_total", reason=reason) ==
                value(before, "lodestore_refusals_total", reason=reason) + 1)
    nfs.connection.close()


def test_names_are_escaped_and_come_out_again(lodestore):
    exports = {dict(labels)["export"]
               for _, labels in lodestore.metrics()["lodestore_export_calls_total"].samples}
    assert lodestore.top + "/" + HOSTILE in exports
    assert any(name.endswith("/bytes\\xff\\xfe") for name in exports)
    assert "other" in exports


def test_space_is_that_of_the_file_system(lodestore):
    def seen():
        return value(lodestore.metrics(), "lodestore_export_size_bytes", export=lodestore.export)

    until(seen)
    disk = os.statvfs(lodestore.export)
    assert seen() == disk.f_blocks * disk.f_frsize


def clone(lodestore, name):
    with open(lodestore.export + "/source", "wb") as file:
        file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    client = Client(("127.0.0.1", PORT))
    job = client.clone(path(lodestore.export + "/source"), path(f"{lodestore.export}/{name}"))
    client.close()
    return job


def test_offloads_are_counted(lodestore):
    before = total(lodestore.metrics(), "lodestore_offload_bytes_total", kind="clone")
    job = clone(lodestore, "copy")
    assert job.refused == 0, job

    def ended():
        now = lodestore.metrics()
        return total(now, "lodestore_offload_bytes_total", kind="clone", engine=job.engine,
                     state="complete") == before + MIB

    until(ended)
    client = Client(("127.0.0.1", PORT))
    assert client.clone(path(lodestore.export + "/nothing"), path("/nowhere/x")).refused
    client.close()
    until(lambda: value(lodestore.metrics(), "lodestore_offload_refusals_total",
                        reason="noent") == 1)
    assert "offload CLONE from 127.0.0.1 is refused: source: " in lodestore.offloadd.log_text()
    assert value(lodestore.metrics(), "lodestore_call_duration_seconds", "_count",
                 program="offload", procedure="OFFLOAD CLONE") == 2


def test_a_sidecar_that_is_down_or_hangs_is_told_and_waited_for_by_nobody(lodestore):
    def up():
        return value(lodestore.metrics(), "lodestore_offload_up") == 1

    until(up)
    lodestore.offloadd.process.send_signal(19)  # SIGSTOP
    until(lambda: not up())
    began = time.monotonic()
    lodestore.nfs().getattr(lodestore.root()).ok()
    assert ask("/healthz")[0] == 200
    assert time.monotonic() - began < 5
    lodestore.offloadd.process.send_signal(18)  # SIGCONT
    until(up)
    lodestore.offloadd.end()
    until(lambda: not up())
    lodestore.start_offloadd()
    until(up)


def test_dashboard_shows_what_there_is(lodestore):
    """Every metric that the Grafana dashboard asks for is one that the server has."""
    assert clone(lodestore, "for-the-dashboard").refused == 0
    with open(PACKAGING + "/grafana/lodestore.json") as file:
        dashboard = json.load(file)
    families = lodestore.metrics()
    samples = {name + suffix for name, family in families.items()
               for suffix in {"histogram": ("_bucket", "_sum", "_count")}.get(family.kind, ("",))}
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            asked |= set(re.findall(r"lodestore_[a-z_]+", target["expr"]))
    assert asked and asked <= samples, asked - samples


def test_documents_name_every_metric(lodestore):
    with open(os.path.join(here, "..", "..", "docs", "monitoring.md")) as file:
        told = set(re.findall(r"lodestore_[a-z_]+", file.read()))
    families = set(lodestore.metrics())
    assert families - told == set(), "docs/monitoring.md does not describe them"
