# SPDX-License-Identifier: Apache-2.0
"""Whoever asks over HTTP gets an answer or a refusal, and never slows who works with files."""

import http.client
import socket
import threading
import time

import pytest

from daemons import HTTP_PORT, ask, until

CONNECTIONS_MAX = 16  # of one address: CONNECTIONS_ADDRESS_MAX of nfsd/http.c
LIMIT_S = 10  # CONNECTION_MS of it


@pytest.mark.parametrize("path, kind", [
    ("/", "text/html; charset=utf-8"), ("/page.css", "text/css; charset=utf-8"),
    ("/page.js", "text/javascript; charset=utf-8"), ("/page.svg", "image/svg+xml"),
    ("/healthz", "text/plain; charset=utf-8")])
def test_pages_come_with_their_type_and_little_trust(lodestore, path, kind):
    status, headers, text = ask(path)
    assert status == 200 and text and headers["Content-Type"] == kind
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    status, head, text = ask(path, "HEAD")
    assert (status, text) == (200, b"")
    assert head["Content-Length"] == headers["Content-Length"]


def test_what_is_not_there_is_not_found(lodestore):
    for path in "/x", "/metrics/", "/../metrics", "/%6detrics/x", "/page.html":
        assert ask(path)[0] == 404


def test_nothing_can_be_changed(lodestore):
    for method in "POST", "PUT", "DELETE", "OPTIONS", "TRACE":
        status, headers, _ = ask("/metrics", method, body=b"x" * 1000 if method == "POST" else None)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_a_name_that_was_led_here_is_refused(lodestore):
    for host in "evil.example", f"evil.example:{HTTP_PORT}", "localhost.evil.example":
        assert ask("/status.json", headers={"Host": host})[0] == 403
    for host in "localhost", f"localhost:{HTTP_PORT}", "127.0.0.1", f"[::1]:{HTTP_PORT}":
        assert ask("/status.json", headers={"Host": host})[0] == 200


def test_what_is_no_http_is_cut_off(lodestore):
    for bytes_sent in (b"\0" * 100, b"GET /" + b"x" * 100000,
                       b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 9999):
        with socket.create_connection(("127.0.0.1", HTTP_PORT), 30) as connection:
            try:
                connection.sendall(bytes_sent + b"\r\n\r\n")
                answer = connection.recv(100)
            except ConnectionError:
                answer = b""
        assert not answer.startswith(b"HTTP/1.1 200")
    assert ask("/healthz")[0] == 200


def test_who_stalls_is_cut_off_and_keeps_nobody_else(lodestore):
    """All that one address may have, each sending a byte now and then: files are served, other
    addresses are answered, and after a while this one is, too."""
    began = time.monotonic()
    stalled = [socket.create_connection(("127.0.0.1", HTTP_PORT), 30)
               for _ in range(CONNECTIONS_MAX)]
    nfs, root = lodestore.nfs(), lodestore.root()
    worst = 0
    for number in range(50):
        for connection in stalled:
            try:
                connection.send(b"x" if number else b"GET / HTTP/1.1\r\nX-Slow: ")
            except ConnectionError:
                pass
        at = time.monotonic()
        nfs.getattr(root).ok()
        worst = max(worst, time.monotonic() - at)
    assert worst < 2  # LIMIT_S if it were waited for
    other = http.client.HTTPConnection("127.0.0.1", HTTP_PORT, timeout=30,
                                       source_address=("127.0.0.2", 0))
    other.request("GET", "/healthz")
    assert other.getresponse().read() == b"good\n"
    other.close()
    for connection in stalled:
        connection.settimeout(LIMIT_S * 6)
        while connection.recv(1000):
            pass
        connection.close()
    assert time.monotonic() - began >= LIMIT_S - 1
    until(lambda: ask("/healthz")[0] == 200)
    nfs.connection.close()


def test_a_flood_is_answered_slowly_and_files_are_served(lodestore):
    stop, answered = threading.Event(), []

    def flood():
        while not stop.is_set():
            try:
                answered.append(ask("/metrics")[0])
            except OSError:
                pass
            except http.client.HTTPException:
                pass

    threads = [threading.Thread(target=flood) for _ in range(6)]
    nfs, root = lodestore.nfs(), lodestore.root()
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for _ in range(500):
        nfs.getattr(root).ok()
    time.sleep(max(0, began + 1 - time.monotonic()))
    stop.set()
    for thread in threads:
        thread.join(60)
    rate = len(answered) / (time.monotonic() - began)
    assert set(answered) == {200} and rate <= 210  # REQUEST_MS of nfsd/http.c
    nfs.connection.close()
