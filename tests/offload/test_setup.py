# SPDX-License-Identifier: Apache-2.0
"""lodestore setup: asked and answered by a pipe, by options and on a terminal; who leaves in
between leaves nothing."""
import os
import pty
import signal
import subprocess
import time

import pytest

PROGRAM = os.environ["LODESTORE"]
pytestmark = pytest.mark.alone


def answer(tmp_path, answers, *words):
    return subprocess.run([PROGRAM, "setup", "--exports", tmp_path / "exports", *words],
                          input="\n".join(answers) + "\n" * bool(answers), capture_output=True,
                          text=True, timeout=60, check=False)


def test_answers_by_a_pipe(tmp_path):
    new = str(tmp_path / "ds1")
    done = answer(tmp_path, [new, "yes", "192.0.2.0/24", "lab", ""])
    assert done.returncode == 0, done
    assert (tmp_path / "exports").read_text() == f"{new}  192.0.2.0/24(rw,no_root_squash)\n"
    assert os.path.isdir(new)
    assert "esxcli storage nfs add -H " in done.stdout and f"-s '{new}' -v 'lab'" in done.stdout
    assert "MOUNTED ON" in done.stdout


def test_answers_by_options(tmp_path):
    done = answer(tmp_path, [], "--yes", "--directory", str(tmp_path / "ds"), "--hosts",
                  "esx*.lab", "--name", "x")
    assert done.returncode == 0, done
    assert (tmp_path / "exports").read_text() == f"{tmp_path}/ds  esx*.lab(rw,no_root_squash)\n"
    again = answer(tmp_path, [], "--yes", "--directory", str(tmp_path / "ds"), "--hosts",
                   "esx*.lab")
    assert again.returncode == 0 and "already" in again.stdout


@pytest.mark.parametrize("answers, says", [
    ((), "no answer"),
    (("@ds",), "no answer"),
    (("@ds", "no"), "nothing was changed"),
    (("@ds", "yes", "192.0.2.0/24", "lab"), "no answer"),
    (("@ds", "yes", "192.0.2.0/24", "lab", "no"), "nothing was changed"),
    (("@ds", "yes", "192.0.2.0/99", "lab", "yes"), "192.0.2.0/99"),
    (("ds",), "does not begin with '/'"),
])
def test_who_leaves_leaves_nothing(tmp_path, answers, says):
    done = answer(tmp_path, [word.replace("@", f"{tmp_path}/") for word in answers])
    assert done.returncode == 1 and says in done.stderr, done
    assert not os.listdir(tmp_path)


def test_ctrl_c_leaves_nothing(tmp_path):
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
        os.execv(PROGRAM, [PROGRAM, "setup", "--exports", str(tmp_path / "exports")])
    text, end = b"", time.monotonic() + 60
    for question, word in ((b"Directory", str(tmp_path / "ds").encode() + b"\n"),
                           (b"Make it?", b"\n"), (b"ESXi hosts", b"\x03")):
        while question not in text and time.monotonic() < end:
            text += os.read(terminal, 4096)
        os.write(terminal, word)
    status = os.waitpid(process, 0)[1]
    os.close(terminal)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT
    assert not os.listdir(tmp_path)
