# SPDX-License-Identifier: Apache-2.0
"""The harness itself: a guest that was lost is told from a server that hangs."""
import signal

import pytest

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
def test_ping_tells_whether_the_guest_lives(volume, guest):
    assert guest.answers_ping()
    guest.signal(signal.SIGSTOP)
    stopped = guest.answers_ping()
    guest.signal(signal.SIGCONT)
    assert not stopped
    assert guest.answers_ping()
