# SPDX-License-Identifier: Apache-2.0
"""lodestore rehearse against a server that fails in every way: a plug-in's patience, and its end.

$LODESTORE is the program. Nothing here needs root: the server is in this process."""
import json
import os
import signal
import subprocess
import time

import pytest

from plugin_fake import ABORT, CLONE, PROGRESS, Fake

PROGRAM = os.environ["LODESTORE"]


@pytest.fixture
def fake():
    server = Fake()
    yield server
    server.close()


def start(fake, folder, steps, *options):
    path = folder / "scenario"
    path.write_text("server 127.0.0.1 port %d\ndatastore /ds\ndialect O\npoll 10ms\n%s\n"
                    % (fake.port, steps))
    return subprocess.Popen([PROGRAM, "rehearse", "--json", *options, str(path)],
                            stdout=subprocess.PIPE, text=True)


def rehearse(fake, folder, steps, *options):
    """The exit status, and the only task."""
    process = start(fake, folder, steps, *options)
    output = process.communicate(timeout=50)[0]
    task, = json.loads(output)["tasks"]
    return process.returncode, task


def good(fake, folder, steps, *options):
    status, task = rehearse(fake, folder, steps, *options)
    assert status == 0 and task["good"], task
    return task


def bad(fake, folder, steps, *options):
    status, task = rehearse(fake, folder, steps, *options)
    assert status == 1 and not task["good"], task
    return task["note"]


def test_a_clone_is_polled_until_it_is_complete(fake, tmp_path):
    good(fake, tmp_path, "clone image to slow")
    assert fake.calls == [CLONE] + [PROGRESS] * 12


def test_a_full_disk_is_said(fake, tmp_path):
    assert "NFS3ERR_NOSPC, result 1004: the disk is full" in bad(fake, tmp_path,
                                                                 "clone image to full")


def test_60_failed_polls_in_a_row_fail_the_clone(fake, tmp_path):
    assert "60 polls in a row failed" in bad(fake, tmp_path, "clone image to refuses")
    assert fake.count(PROGRESS) == 60


def test_59_failed_polls_in_a_row_do_not(fake, tmp_path):
    good(fake, tmp_path, "clone image to misses")
    assert fake.count(PROGRESS) == 130


def test_without_progress_it_is_aborted_once(fake, tmp_path):
    note = bad(fake, tmp_path, "patience 1s\nclone image to stalls")
    assert note == "no progress for 1 s; aborted"
    assert fake.count(ABORT) == 1


def test_an_abort_as_the_scenario_says(fake, tmp_path):
    task = good(fake, tmp_path, "clone image to stalls abort after 300ms")
    assert task["note"] == "aborted" and task["seconds"] >= 0.3
    assert fake.count(ABORT) == 1


def test_a_lost_connection_costs_a_call_only(fake, tmp_path):
    good(fake, tmp_path, "clone image to hangs-up")
    assert fake.count(CLONE) == 3


def test_jukebox_is_asked_again(fake, tmp_path):
    good(fake, tmp_path, "clone image to later")
    assert fake.count(CLONE) == 3


def test_a_reply_of_79_bytes_is_no_reply(fake, tmp_path):
    good(fake, tmp_path, "clone image to short")
    assert fake.count(CLONE) == 2


def test_a_failed_clone_is_tried_as_often_as_said(fake, tmp_path):
    good(fake, tmp_path, "tries 3\nclone image to third-time")
    assert fake.count(CLONE) == 3


def test_and_not_more_often(fake, tmp_path):
    assert "NFS3ERR_IO" in bad(fake, tmp_path, "tries 2\nclone image to third-time")
    assert fake.count(CLONE) == 2


def test_verify_finds_a_difference(fake, tmp_path):
    assert good(fake, tmp_path, "clone image to same", "--verify")["note"] == "equal"
    assert "NOT EQUAL" in bad(fake, tmp_path, "clone image to differs", "--verify")


def test_nothing_is_overwritten(fake, tmp_path):
    fake.files.add(b"there")
    assert "overwrites nothing" in bad(fake, tmp_path, "clone image to there", "--clean")
    assert b"there" in fake.files and not fake.calls


def test_clean_removes_what_was_made_and_only_that(fake, tmp_path):
    good(fake, tmp_path, "clone image to new", "--clean")
    assert fake.files == {b"image"}
    good(fake, tmp_path, "clone image to new")
    assert fake.files == {b"image", b"new"}


def test_interrupted_it_aborts_and_cleans(fake, tmp_path):
    process = start(fake, tmp_path, "clone image to stalls", "--clean")
    deadline = time.monotonic() + 20
    while not fake.count(PROGRESS):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=20)[0]
    assert process.returncode == 130
    assert json.loads(output)["tasks"][0]["note"] == "interrupted; aborted"
    assert fake.count(ABORT) == 1 and fake.files == {b"image"}


def test_no_server(tmp_path):
    fake = Fake()
    fake.close()
    process = start(fake, tmp_path, "support")
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)  # it would try for 60 s
    task, = json.loads(process.communicate(timeout=20)[0])["tasks"]
    assert "cannot connect to 127.0.0.1 port" in task["note"]
