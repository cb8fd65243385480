# SPDX-License-Identifier: Apache-2.0
"""Servers that begin, change and end, each test with its own."""

import socket

import pytest

from daemons import HTTP_PORT, Lodestore, ask, until


def test_none_is_nowhere_and_a_taken_port_is_no_reason_not_to_serve():
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", HTTP_PORT))
        taken.listen()
        both = Lodestore()
        assert "another program has it" in both.nfsd.log_text()
        both.nfs().getattr(both.root()).ok()
        both.end()
    both = Lodestore(conf="[metrics]\nlisten = none\n")
    with pytest.raises(ConnectionRefusedError):
        ask("/healthz")
    both.end()


def test_health_says_what_is_wrong():
    both = Lodestore()
    with open(both.top + "/exports", "w") as exports:
        exports.write("# nothing\n")
    both.nfsd.process.send_signal(1)  # SIGHUP
    until(lambda: ask("/healthz")[0] != 200)
    status, _, text = ask("/healthz")
    assert status == 503 and text.startswith(b"nothing is exported") and text.count(b"\n") == 1
    both.end()
    with pytest.raises(ConnectionRefusedError):
        ask("/healthz")
