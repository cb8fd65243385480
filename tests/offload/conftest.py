# SPDX-License-Identifier: Apache-2.0
"""Words for pytest, and a fresh pair of servers for every test."""

import os
import subprocess

import pytest

from native import Client
from servers import port, sock, start_nfsd, start_offloadd, top


def pytest_configure(config):
    config.addinivalue_line("markers", "rate(bytes): copy_rate of the sidecar")
    config.addinivalue_line("markers", "alone: needs no servers")
    config.addinivalue_line("markers", "dialects(words): offload_dialects of nfsd")


@pytest.fixture(scope="module", name="shares")
def fixture_shares():
    return os.environ["OFFLOAD_KIND"] in ("xfs", "btrfs")


@pytest.fixture(autouse=True)
def fixture_servers(request):
    """A fresh export and both programs; request.node.offloadd and .nfsd can be replaced."""
    if request.node.get_closest_marker("alone"):
        yield
        return
    old = ("e", "ro", "off", "state", "conf", "NFSD.log", "OFFLOADD.log")
    subprocess.run(["rm", "-rf", *(f"{top}/{name}" for name in old)], check=True)
    for name in ("e", "ro", "off"):
        os.mkdir(f"{top}/{name}", 0o755)
    with open(top + "/conf", "w", encoding="ascii") as conf:
        marker = request.node.get_closest_marker("dialects")
        conf.write("[nfsd]\nrpcbind = no\n"
                   + (f"offload_dialects = {marker.args[0]}\n" if marker else "")
                   + f"[offload]\nsocket = {sock}\n")
        marker = request.node.get_closest_marker("rate")
        if marker:
            conf.write(f"copy_rate = {marker.args[0]}\n")
    with open(top + "/exports", "w", encoding="ascii") as exports:
        exports.write(f"{top}/e 127.0.0.1(rw,no_root_squash) ::1(rw,no_root_squash)"
                      " 10.0.0.2(ro) 10.0.0.3(rw) 127.0.0.3(rw)\n"
                      f"{top}/ro 127.0.0.1(ro,no_root_squash)\n"
                      f"{top}/off 127.0.0.1(rw,no_root_squash,no_offload)\n")
    request.node.offloadd = start_offloadd()
    request.node.nfsd = start_nfsd()
    yield
    for server in request.node.nfsd, request.node.offloadd:
        if server:
            server.end()


@pytest.fixture(name="net")
def fixture_net():
    client = Client(("127.0.0.1", port))
    yield client
    client.close()
