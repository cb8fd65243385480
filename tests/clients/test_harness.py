# SPDX-License-Identifier: Apache-2.0
"""The harness itself: a guest that was lost is told from a server that hangs."""
import signal

import pytest

import kernel_client

BOOTED_S = 60
tries = []


@pytest.mark.one_volume
def test_lost_guest_is_tried_again(volume, guest):
    tries.append(guest)
    job = guest.launch_mounted(volume.server, volume.export, "sleep 1")
    if len(tries) == 1:
        guest.kill()
    job.succeed(BOOTED_S)
    assert len(tries) == 2


@pytest.mark.one_volume
def test_a_guest_that_hangs_is_not_waited_for(volume, guest, monkeypatch):
    monkeypatch.setattr(kernel_client, "PING_EVERY_S", 1)
    monkeypatch.setattr(kernel_client, "LOST_S", 5)
    job = guest.launch_mounted(volume.server, volume.export, "sleep 1000")
    guest.signal(signal.SIGSTOP)
    with pytest.raises(kernel_client.GuestLost, match="no end after"):
        job.wait(BOOTED_S)
    assert not guest.alive()


@pytest.mark.one_volume
def test_ping_tells_whether_the_guest_lives(volume, guest):
    assert guest.answers_ping()
    guest.signal(signal.SIGSTOP)
    stopped = guest.answers_ping()
    guest.signal(signal.SIGCONT)
    assert not stopped
    assert guest.answers_ping()
