# SPDX-License-Identifier: Apache-2.0
"""What rpcinfo(8) and showmount(8) are told: with rpcbind running, and by the server alone."""
import os

import pytest

import sandbox
import servers

NFS, MOUNT, PORTMAP = "100003", "100005", "100000"
NLM, NSM = "100021", "100024"
ALONE, WITH_RPCBIND = "alone", "with rpcbind"


class Place:
    """A server with two exports in a namespace of its own."""

    def __init__(self, server, network, exports):
        self.server = server
        self.prefix = network.prefix
        self.exports = exports


@pytest.fixture(scope="module", params=[ALONE, WITH_RPCBIND])
def place(request, server_options):
    server_class, keywords = server_options
    if request.param == ALONE and not server_class.has_portmapper:
        pytest.skip(f"{server_class.name} has no portmapper of its own")
    network = sandbox.Network()
    exports = [sandbox.folder("portmap", name) for name in ("first", "second")]
    rpcbind = None
    if server_class is servers.Lodestore:
        keywords = {**keywords, "rpcbind": True}
        if request.param == WITH_RPCBIND:
            rpcbind = servers.start_rpcbind(network.prefix)
    label = request.param.replace(" ", "-")
    server = server_class(exports, label=f"portmap-{label}", prefix=network.prefix,
                          **keywords).start()
    yield Place(server, network, exports)
    assert server.alive(), f"the server died; its log:\n{server.log_tail()}"
    status = server.stop()
    if rpcbind:
        left = sandbox.command(network.prefix + ["rpcinfo", "-p", sandbox.ADDRESS])
        rpcbind.kill()
        rpcbind.wait()
        assert not {NFS, MOUNT} & {line.split()[0] for line in left.splitlines()}, \
            f"still registered after the end:\n{left}"
    network.close()
    assert status == 0, f"status {status} on SIGTERM; its log:\n{server.log_tail()}"
    assert not server.sanitizer_report(), server.sanitizer_report()


def mappings(run_client, place, *options):
    """{(program, version, protocol): port} as rpcinfo -p prints it."""
    lines = run_client("rpcinfo", "-p", *options, prefix=place.prefix).splitlines()[1:]
    return {tuple(line.split()[:3]): int(line.split()[3]) for line in lines}


def test_rpcinfo_p(place, run_client):
    found = mappings(run_client, place, sandbox.ADDRESS)
    assert found[PORTMAP, "2", "tcp"] == 111
    assert found[PORTMAP, "2", "udp"] == 111
    assert found[NFS, "3", "tcp"] == place.server.nfs_port
    assert found[MOUNT, "3", "tcp"] == place.server.mount_port
    if place.server.name == "lodestore":
        assert found[MOUNT, "1", "tcp"] == place.server.mount_port
        assert found[MOUNT, "3", "udp"] == place.server.mount_port
        assert found[NFS, "3", "udp"] == place.server.nfs_port
        for transport in ("tcp", "udp"):
            assert found[NLM, "4", transport] == place.server.nfs_port
            assert found[NSM, "1", transport] == place.server.nfs_port


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("program, version", [(NFS, "3"), (MOUNT, "1"), (MOUNT, "3")])
def test_rpcinfo_calls_null(place, run_client, transport, program, version):
    if place.server.name == "ganesha" and transport == "udp":
        pytest.skip("nfs-ganesha is set up for TCP only")
    answer = run_client("rpcinfo", "-T", transport, sandbox.ADDRESS, program, version,
                        prefix=place.prefix)
    assert f"program {program} version {version} ready and waiting" in answer


@pytest.mark.parametrize("option", ["-t", "-u"])
def test_rpcinfo_by_portmap_version_2(place, run_client, option):
    """-t and -u ask the way that programs of the 1990s ask."""
    if place.server.name == "ganesha" and option == "-u":
        pytest.skip("nfs-ganesha is set up for TCP only")
    for program, version in ((NFS, "3"), (MOUNT, "3")):
        answer = run_client("rpcinfo", option, sandbox.ADDRESS, program, version,
                            prefix=place.prefix)
        assert "ready and waiting" in answer


def test_rpcinfo_s_by_rpcbind_version_3(place, run_client):
    lines = run_client("rpcinfo", "-s", sandbox.ADDRESS, prefix=place.prefix).splitlines()
    listed = {line.split()[0] for line in lines}
    assert {NFS, MOUNT} <= listed


def test_unknown_program_is_refused(place, run_client):
    with pytest.raises(AssertionError, match="status 1"):
        run_client("rpcinfo", "-T", "tcp", sandbox.ADDRESS, "200999", "1", prefix=place.prefix)


def test_showmount_e(place, run_client):
    lines = run_client("showmount", "--no-headers", "-e", sandbox.ADDRESS,
                       prefix=place.prefix).splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(place.exports)


def test_showmount_a_and_d(place, run_client):
    """After a mount the client and the folder are listed."""
    if place.server.name == "ganesha":
        pytest.skip("nfs-ganesha keeps no list of mounts")
    with open(os.path.join(place.exports[0], "file"), "wb") as out:
        out.write(b"content")
    run_client("nfs-cat", f"nfs://{sandbox.ADDRESS}{place.exports[0]}/file",
               prefix=place.prefix)
    # libnfs unmounts at its end; a mount without an unmount is made by hand.
    run_client("/usr/bin/python3", os.path.join(servers.HERE, "mount_call.py"), sandbox.ADDRESS,
               str(place.server.mount_port), place.exports[1], prefix=place.prefix)
    both = run_client("showmount", "--no-headers", "-a", sandbox.ADDRESS, prefix=place.prefix)
    assert f"{sandbox.ADDRESS}:{place.exports[1]}" in both.split()
    folders = run_client("showmount", "--no-headers", "-d", sandbox.ADDRESS, prefix=place.prefix)
    assert place.exports[1] in folders.split()


def test_libnfs_finds_the_ports_itself(place, run_client):
    """Without nfsport= and mountport= libnfs asks the portmapper."""
    with open(os.path.join(place.exports[0], "asked"), "wb") as out:
        out.write(b"by portmap")
    url = f"nfs://{sandbox.ADDRESS}{place.exports[0]}/asked?uid=0&gid=0"
    assert run_client("nfs-cat", url, prefix=place.prefix) == "by portmap"
