# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a volume (a mounted file system), a server that exports it, kernel clients."""
import os
import subprocess

import pytest
from _pytest import runner

import content
import kernel_client
import sandbox
import servers

HERE = os.path.dirname(os.path.abspath(__file__))


def pytest_addoption(parser):
    parser.addoption("--fs", default="xfs")
    parser.addoption("--server", default="lodestore")
    parser.addoption("--server-bin")


def pytest_configure(config):
    # pytest keeps a fixture only while its parameter is the very same object.
    config.volume_kinds = config.getoption("--fs").split(",")
    config.addinivalue_line("markers", "one_volume: runs on the first file system only")


def pytest_generate_tests(metafunc):
    if "volume" in metafunc.fixturenames:
        kinds = metafunc.config.volume_kinds
        if metafunc.definition.get_closest_marker("one_volume"):
            kinds = kinds[:1]
        metafunc.parametrize("volume", kinds, indirect=True, scope="session")


class Volume:
    """An exported folder on a file system of its own, and the server that exports it."""

    def __init__(self, kind, root, server, first):
        self.kind = kind
        self.first = first  # of the run's file systems: it gets the long tests
        self.server = server
        self.export = root
        self._count = 0

    def scratch(self, name):
        """A new folder in the export: (its path on the host, its name in the export)."""
        self._count += 1
        name = f"{name}-{self.kind}-{self._count}"
        path = os.path.join(self.export, name)
        os.mkdir(path)
        return path, name


@pytest.fixture(scope="session")
def server_options(pytestconfig):
    """What a test needs to start a server of its own: (class, keyword arguments)."""
    kind = servers.KINDS[pytestconfig.getoption("--server")]
    if kind is servers.Lodestore:
        return kind, {"binary": pytestconfig.getoption("--server-bin")}
    return kind, {}


@pytest.fixture(scope="session")
def programs():
    """The folder of our small programs, built once a run."""
    target = sandbox.folder("bin")
    os.chmod(target, 0o755)
    for name, flags in {"fsx_like": [], "uml_fpregs.so": ["-shared", "-fPIC"]}.items():
        source = os.path.join(HERE, name.removesuffix(".so") + ".c")
        sandbox.command(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", *flags,
                         "-o", os.path.join(target, name), source])
    return target


@pytest.fixture(scope="session")
def volume(request, server_options):
    kind = request.param
    mounted = sandbox.mount_volume(kind)
    export = os.path.join(mounted, "export")
    os.mkdir(export)
    os.chmod(export, 0o1777)
    server_class, keywords = server_options
    server = server_class([export], label=kind, **keywords).start()
    yield Volume(kind, export, server, kind == request.config.volume_kinds[0])
    status = server.stop()
    sandbox.unmount_volume(kind)
    assert status == 0, (f"{server.name} did not end with status 0 on SIGTERM but with {status};"
                         f" its log:\n{server.log_tail()}")
    assert not server.sanitizer_report(), server.sanitizer_report()


@pytest.fixture(autouse=True)
def server_survives(request):
    """After each test the server still runs and no sanitizer has spoken."""
    yield
    if "volume" in request.fixturenames:
        server = request.getfixturevalue("volume").server
        if not server.alive():
            tail = server.log_tail()
            server.start()
            pytest.fail(f"the server died; its log:\n{tail}")
        assert not server.sanitizer_report(), server.sanitizer_report()


class Guests:
    """Kernel clients by number, booted when first asked for and again after one hung."""

    def __init__(self, programs):
        self._programs = programs
        self._running = {}

    def start(self, *numbers):
        for number in numbers:
            if number not in self._running or not self._running[number].alive():
                self._running[number] = kernel_client.KernelClient(number, self._programs).start()
        return [self._running[number].wait_ready() for number in numbers]

    def stop(self):
        for guest in self._running.values():
            guest.stop()


@pytest.fixture(scope="session")
def guests(programs):
    all_guests = Guests(programs)
    yield all_guests
    all_guests.stop()


@pytest.fixture
def guest(guests):
    return guests.start(1)[0]


@pytest.fixture(scope="session")
def trees():
    """Two folders to copy, the same in every run: one of 5,000 files, and a small one."""
    made = []
    for name, files in (("tree", content.TREE_FILES), ("small-tree", content.SMALL_TREE_FILES)):
        made.append(os.path.join(sandbox.folder("content"), name))
        content.make_tree(made[-1], files)
    return made


def pytest_runtest_protocol(item, nextitem):
    """User-mode Linux sometimes dies or loses its network. Then, and only then, once more with a
    fresh guest; what was seen is printed. A guest that hangs but answers pings is a failure."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runner.runtestprotocol(item, log=False, nextitem=nextitem)
    lost = [report for report in reports if report.failed
            and kernel_client.GuestLost.__name__ in report.longreprtext]
    if lost:
        print(f"\n{item.nodeid} once more: the guest was lost.",
              *(report.longreprtext for report in lost), sep="\n", flush=True)
        reports = runner.runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture
def tree(volume, trees):
    """The large tree on the first file system, the small one on the others."""
    return trees[0] if volume.first else trees[1]


def _run_client(*argv, seconds=120, prefix=(), text=True):
    done = subprocess.run([*prefix, *argv], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=seconds, check=False)
    assert done.returncode == 0, (f"{' '.join(argv)}: status {done.returncode}\n"
                                  f"{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}")
    return done.stdout.decode("utf-8", "replace") if text else done.stdout


@pytest.fixture(scope="session")
def run_client():
    """Run a client program on the host's side; its output, and a failure if it fails."""
    return _run_client
