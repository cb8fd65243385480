# SPDX-License-Identifier: Apache-2.0
"""pytest's side of the suite: options, fixtures, time-outs, and what a failure prints.

Fixtures a test can ask for:

    server    where the server is (server.py)
    root      the handle of the export's root
    nfs       a client on a connection of its own, as the suite's user (root, or --uid)
    home      the handle of a fresh directory that only this test uses; removed afterwards
    home_path its path, the export's before it
    shared    the same, but everybody may write there (mode 0777)
    offload   a client of lodestore's offload program, as the suite's user
    user      a client as uid 1000 on the same connection as nfs; `other` is uid 1001
    fh        an empty regular file "file" in home
"""
import collections
import fnmatch
import os
import secrets
import signal
import time

import pytest

import nfs3
import offload as offload_program
import rpc
import vaai
from nfs3 import NFS3_OK
from server import Server
from xdr import Packer

GROUPS = ("rpc", "portmap", "mount", "attr", "lookup", "access", "read", "write", "commit",
          "create", "setattr", "remove", "rename", "link", "symlink", "mknod", "readdir", "fsinfo",
          "handles", "replay", "limits", "esxi", "vaai", "vaai_o", "vaai_q", "offload",
          "offload_jobs", "nlm", "soak", "faults")
TEST_SECONDS_MAX = 60
FAULTS_SECONDS_MAX = 180  # the user's commands take their time


def pytest_addoption(parser):
    group = parser.getgroup("NFSv3 server under test")
    add = group.addoption
    add("--server", help="host name or address")
    add("--export", help="an exported path, read-write, root not squashed for the full suite")
    add("--port", type=int, default=0, help="NFS port (default: ask the portmapper)")
    add("--mount-port", type=int, default=0, help="MOUNT port (default: --port)")
    add("--portmap-port", type=int, default=111, help="the portmapper's own port")
    add("--timeout", type=float, default=10.0, help="seconds to wait for an answer")
    add("--uid", type=int, default=0, help="act as this user")
    add("--gid", type=int, default=0, help="act as this group")
    add("--reserved-port", action="store_true", help="connect from ports below 1024")
    add("--ro-export", help="a path exported read-only")
    add("--second-export", help="another read-write export")
    add("--full-export", help="an export on a nearly full small file system that may be filled")
    add("--frozen-export", help="an export that --freeze-cmd freezes")
    add("--second-address", help="another address of this machine that can reach the server")
    add("--private-export", help="a read-write export that --second-address may not use")
    add("--restart-cmd", help="stops the server politely and starts it again")
    add("--kill-cmd", help="kills the server (SIGKILL) and starts it again")
    add("--offload-stop-cmd", help="stops the offload service, and leaves NFS")
    add("--offload-start-cmd", help="starts it again")
    add("--freeze-cmd", help="makes writes to --frozen-export hang, as fsfreeze does")
    add("--thaw-cmd", help="undoes --freeze-cmd")
    add("--fail-cmd", help="makes flushes on --failing-export fail")
    add("--heal-cmd", help="undoes --fail-cmd")
    add("--failing-export", help="an export that --fail-cmd breaks")
    add("--soak-seconds", type=float, default=3.0, help="how long each soak test goes on")
    add("--soak-seed", type=int, default=0, help="repeat the random choices of an earlier soak")
    add("--forbid-skips", action="store_true", help="a skipped test is a failure")
    add("--allow-skip", action="append", default=[], metavar="PATTERN",
        help="with --forbid-skips: tests (file::name) or reasons that may be skipped")


def pytest_configure(config):
    for group in GROUPS:
        config.addinivalue_line("markers", "%s: tests of the group %s" % (group, group))
    config.addinivalue_line("markers", "rule(*ids): the rules that a test holds the server to")
    config.lost_server = LostServer()
    config.left_behind = None
    if config.getoption("collectonly") or config.getoption("help"):
        return
    if not (config.getoption("server") and config.getoption("export")):
        raise pytest.UsageError("--server and --export are needed")


def pytest_sessionstart(session):
    """Mount, and make the suite's folder: if that is not possible, nothing else is."""
    config = session.config
    if config.getoption("collectonly"):
        return
    name = b"conformance-" + secrets.token_hex(4).encode()
    try:
        server = config.server_under_test = Server(config.option)
        config.export_root = server.mounted()
        nfs = server.nfs()
        config.suite_folder = nfs.new_dir(config.export_root, name)
        config.suite_folder_name = name
    except (AssertionError, OSError) as error:
        pytest.exit("cannot begin with %s:%s: %s" % (
            config.getoption("server"), config.getoption("export"), str(error).strip()), 4)


def pytest_sessionfinish(session):
    config = session.config
    if not hasattr(config, "suite_folder_name"):
        return
    try:
        config.server_under_test.nfs().remove_tree(config.export_root, config.suite_folder_name)
    except (AssertionError, OSError) as error:
        config.left_behind = "%s/%s (%s)" % (config.getoption("export").rstrip("/"),
                                             config.suite_folder_name.decode(), str(error).strip())


def pytest_collection_modifyitems(items):
    for item in items:
        group = item.path.stem[len("test_"):]
        item.add_marker(getattr(pytest.mark, group))
    items.sort(key=lambda item: GROUPS.index(item.path.stem[len("test_"):]))


# ------------------------------------------------------------------------------- time-outs

class TookTooLong(AssertionError):
    pass


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """No test takes the run hostage: an alarm ends it wherever it hangs."""
    seconds = FAULTS_SECONDS_MAX if item.get_closest_marker("faults") else TEST_SECONDS_MAX

    def alarm(signum, frame):
        raise TookTooLong("the test did not end within %d s" % seconds)

    previous = signal.signal(signal.SIGALRM, alarm)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def pytest_runtest_setup(item):
    """A dead server costs the remaining tests seconds, not a time-out each."""
    rpc.trace.clear()
    lost = item.config.lost_server
    if lost.since and not lost.is_back(item.config.server_under_test):
        pytest.fail("not run: the server does not answer a NULL call any more; the last test that "
                    "reached it was %s" % lost.since, pytrace=False)


class LostServer:
    """Remembers that the server could not be reached, and asks now and then if it is back."""

    def __init__(self):
        self.since, self.asked, self.pause = None, 0, 0

    def suspect(self, test):
        self.since = self.since or test

    def is_back(self, server):
        if time.monotonic() - self.asked < self.pause:
            return False
        if server.answers(2.0):
            self.since, self.pause = None, 0
            return True
        self.asked, self.pause = time.monotonic(), min(30, 2 * self.pause + 1)
        return False


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    config = item.config
    if report.failed and call.excinfo.errisinstance(
            (rpc.NoAnswer, rpc.ConnectionLost, TookTooLong, OSError)):
        config.lost_server.suspect(item.nodeid)
    if report.failed:
        rules = [rule for mark in item.iter_markers("rule") for rule in mark.args]
        report.sections.insert(0, ("the rule", "%s\n%s" % (
            ", ".join(rules), (item.function.__doc__ or "").strip())))
        report.sections.insert(1, ("the last calls", "\n".join(
            line if len(line) < 600 else line[:600] + "..." for line in rpc.trace) or "none"))
    if report.skipped and config.getoption("forbid_skips"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        allowed = config.getoption("allow_skip")
        if not any(fnmatch.fnmatch(text, "*%s*" % pattern)
                   for pattern in allowed for text in (item.nodeid, reason)):
            report.outcome = "failed"
            report.longrepr = "a skip, and --forbid-skips was given: %s" % reason


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("collectonly"):
        return
    counts = {name: len(terminalreporter.stats.get(name, ()))
              for name in ("passed", "failed", "error", "skipped")}
    failed_groups = collections.Counter(
        os.path.basename(report.nodeid.split("::")[0])[len("test_"):-len(".py")]
        for name in ("failed", "error") for report in terminalreporter.stats.get(name, ()))
    if failed_groups:
        terminalreporter.write_line("failures by group: " + ", ".join(
            "%s %d" % pair for pair in sorted(failed_groups.items())))
    if config.left_behind:
        terminalreporter.write_line("left behind on the server: %s" % config.left_behind)
    terminalreporter.write_line(
        "conformance of %s:%s: %d passed, %d failed, %d skipped" % (
            config.getoption("server"), config.getoption("export"), counts["passed"],
            counts["failed"] + counts["error"], counts["skipped"]))


# -------------------------------------------------------------------------------- fixtures

@pytest.fixture(scope="session")
def server(pytestconfig):
    return pytestconfig.server_under_test


@pytest.fixture(scope="session")
def root(pytestconfig):
    return pytestconfig.export_root


@pytest.fixture(scope="session")
def folder(pytestconfig):
    """The one folder in the export that everything happens in."""
    return pytestconfig.suite_folder


@pytest.fixture(scope="session")
def squashed(server, folder):
    """Why uid 0 cannot be used here, or "" if it can."""
    if server.options.uid != 0:
        return "the suite does not act as root (--uid)"
    nfs = server.nfs()
    name = b"whoami"
    owner = nfs.attributes(nfs.new_file(folder, name)).uid
    nfs.remove(folder, name).ok()
    nfs.connection.close()
    return "" if owner == 0 else "the export squashes root to uid %d" % owner


@pytest.fixture
def as_root(squashed):
    """Tests that switch users or ownership need a root that is one."""
    if squashed:
        pytest.skip(squashed)


@pytest.fixture(autouse=True)
def nothing_left_open():
    """A failed test may have left a thousand connections behind; the next one starts without."""
    yield
    while rpc.connections:
        rpc.connections.pop().reset()


@pytest.fixture
def nfs(server):
    client = server.nfs()
    yield client
    client.connection.close()


@pytest.fixture(scope="session")
def why_no_procedure_22(server):
    """Why no plug-in can offload here, or ""."""
    connection = server.connect()
    reply = connection.call_rpc(nfs3.PROGRAM, nfs3.VERSION, vaai.PROCEDURE,
                                Packer().u32(vaai.Q_REGISTER).u64(vaai.Q_MAGIC).bytes(),
                                server.cred)
    connection.close()
    unknown = reply.accept_stat == rpc.PROC_UNAVAIL
    return "the server has no procedure 22 (offload by VAAI-NAS plug-ins)" if unknown else ""


@pytest.fixture
def has_procedure_22(why_no_procedure_22):
    if why_no_procedure_22:
        pytest.skip(why_no_procedure_22)


@pytest.fixture(scope="session")
def offload_missing(server):
    """Why the offload program cannot be held to anything, or "" if it can."""
    connection = server.connect()
    program = offload_program.Offload(connection, server.cred)
    header = program.call_rpc(offload_program.NULL)
    if header.accept_stat == rpc.PROG_UNAVAIL:
        return "the server has no offload program 0x%x" % offload_program.PROGRAM
    missing = program.jobs().status == offload_program.UNAVAILABLE
    connection.close()
    return "the server's offload service does not run" if missing else ""


@pytest.fixture
def offload(server, offload_missing):
    if offload_missing:
        pytest.skip(offload_missing)
    client = offload_program.Offload(server.connect(), server.cred)
    yield client
    client.connection.close()


@pytest.fixture
def user(nfs, as_root):
    return nfs.as_user(1000, 1000)


@pytest.fixture
def other(nfs, as_root):
    return nfs.as_user(1001, 1001)


_home_number = 0


def _fresh_directory(server, folder, mode):
    global _home_number
    _home_number += 1
    name = b"t%d" % _home_number
    nfs = server.nfs()
    fh = nfs.new_dir(folder, name, mode=mode)
    nfs.connection.close()
    yield fh
    try:
        nfs = server.nfs()
        nfs.remove_tree(folder, name)
        nfs.connection.close()
    except (rpc.NoAnswer, rpc.ConnectionLost):
        pass  # the test has said so; the folder's own removal tries again


@pytest.fixture
def home(server, folder):
    yield from _fresh_directory(server, folder, 0o755)


@pytest.fixture
def home_path(server, root, nfs, folder, home):
    """The path of home, as MNT would be given it."""
    def name_of(handle, above):
        fileid = nfs.attributes(handle).fileid
        return next(entry.name for entry in nfs.list(above)
                    if entry.fileid == fileid and entry.name not in (b".", b".."))
    return b"/".join((server.export.rstrip(b"/"), name_of(folder, root), name_of(home, folder)))


@pytest.fixture
def shared(server, folder):
    yield from _fresh_directory(server, folder, 0o777)


@pytest.fixture
def fh(nfs, home):
    return nfs.new_file(home, b"file")


def other_export(server, option):
    path = getattr(server.options, option)
    if not path:
        pytest.skip("needs --%s" % option.replace("_", "-"))
    return server.mounted(path.encode())


@pytest.fixture
def ro_root(server):
    """The root of the read-only export. Should the server let "conformance-x" be made: it goes."""
    root = other_export(server, "ro_export")
    yield root
    nfs = server.nfs()
    if nfs.lookup(root, b"conformance-x").status == NFS3_OK:
        nfs.remove_tree(root, b"conformance-x")


def prepared_by_user(server, ro_root, name):
    """Only what was put there for the suite is used for calls that a wrong server would execute."""
    reply = server.nfs().lookup(ro_root, name)
    if reply.status != NFS3_OK:
        pytest.skip("needs a %s in the root of --ro-export" % name.decode())
    return reply.fh


@pytest.fixture
def ro_file(server, ro_root):
    return prepared_by_user(server, ro_root, b"conformance-file")


@pytest.fixture
def ro_dir(server, ro_root):
    return prepared_by_user(server, ro_root, b"conformance-dir")


@pytest.fixture
def second_root(server):
    return other_export(server, "second_export")


def home_in(server, export_root):
    name = b"conformance-" + secrets.token_hex(4).encode()
    nfs = server.nfs()
    fh = nfs.new_dir(export_root, name)
    nfs.connection.close()
    yield fh
    nfs = server.nfs()  # a test may have restarted the server
    nfs.remove_tree(export_root, name)
    nfs.connection.close()


@pytest.fixture
def second_home(server, second_root):
    """A fresh directory in the second export."""
    yield from home_in(server, second_root)


@pytest.fixture
def private_home(server):
    """A fresh directory in the export that the second address may not use."""
    yield from home_in(server, other_export(server, "private_export"))
