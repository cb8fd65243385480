# SPDX-License-Identifier: Apache-2.0
"""Two Linux kernel clients on the same files."""
import os

import pytest

import sandbox

LIMIT_S = 60
RACES = 200
ROUNDS = 6


@pytest.fixture
def pair(guests):
    return guests.start(1, 2)


def turns(own, other, name):
    """Shell functions `say` and `hear`: each guest writes below its own folder on the host and
    looks into the other's."""
    for guest in (own, other):
        os.makedirs(guest.path(name), exist_ok=True)
    return (f"say() {{ : >'{own.path(name)}'/$1; }}\n"
            f"hear() {{ until [ -e '{other.path(name)}'/$1 ]; do :; done; }}\n")


def test_close_to_open(volume, pair):
    """What one client wrote and closed, the other reads after its next open, cached or not."""
    _, name = volume.scratch("closed")
    writer = pair[0].launch_mounted(volume.server, volume.export, f"""
        {turns(pair[0], pair[1], name)}
        cd '{name}'
        for i in $(seq {ROUNDS}); do
            printf 'round %03d' $i > same-length
            head -c $((i * 5000)) /dev/zero | tr '\\0' x > growing
            say wrote-$i
            hear read-$i
        done
        """)
    reader = pair[1].launch_mounted(volume.server, volume.export, f"""
        {turns(pair[1], pair[0], name)}
        cd '{name}'
        for i in $(seq {ROUNDS}); do
            hear wrote-$i
            [ "$(cat same-length)" = "$(printf 'round %03d' $i)" ] || {{ cat same-length; exit 1; }}
            [ $(wc -c < growing) = $((i * 5000)) ] || {{ ls -l growing; exit 1; }}
            say read-$i
        done
        """)
    reader.succeed(LIMIT_S)
    writer.succeed(LIMIT_S)


def test_exclusive_create_has_one_winner(volume, pair):
    path, name = volume.scratch("race")
    start = os.path.join(sandbox.folder("marks"), name)
    jobs = [guest.launch_mounted(
        volume.server, volume.export,
        f"cd '{name}'\npython3 $GUEST/guest_race.py {me} {start} {RACES}")
            for guest, me in zip(pair, "ab")]
    with open(start, "w", encoding="ascii"):
        pass
    won_by_a, won_by_b = (set(map(int, job.succeed(LIMIT_S).split())) for job in jobs)
    assert not won_by_a & won_by_b, "both believe they created these"
    assert won_by_a | won_by_b == set(range(RACES)), "nobody created these"
    for number in range(RACES):
        with open(os.path.join(path, f"race-{number}"), encoding="ascii") as file:
            assert file.read() == ("a" if number in won_by_a else "b"), f"race-{number}"
