# SPDX-License-Identifier: Apache-2.0
"""The status page in a browser: it shows what is served, moves under load, and takes no name for
anything but text. With $METRICS_PICTURES its pictures are left in that folder."""

import os
import re
import threading
import time

import nfs3
import pytest

from browser import Browser
from daemons import HOSTILE, HTTP_PORT, until

PHONE, DESK = (390, 844), (1200, 900)
VIOLATIONS = """document.addEventListener("securitypolicyviolation",
                (event) => console.error("CSP: " + event.violatedDirective));"""


@pytest.fixture(scope="module", name="browser")
def fixture_browser():
    browser = Browser()
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=VIOLATIONS)
    yield browser
    browser.close()


@pytest.fixture(scope="module", autouse=True)
def fixture_load(lodestore):
    """A client that goes on writing and reading."""
    stop = threading.Event()
    nfs, root = lodestore.nfs("127.0.0.3"), lodestore.root()

    def work():
        handle = nfs.new_file(root, b"load")
        while not stop.is_set():
            nfs.write(handle, 0, b"w" * 65536, nfs3.FILE_SYNC).ok()
            nfs.read(handle, 0, 65536).ok()
            time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join(60)
    nfs.connection.close()


@pytest.fixture(name="page")
def fixture_page(browser, lodestore):
    browser.look(*DESK)
    browser.console()
    browser.go(f"http://127.0.0.1:{HTTP_PORT}/")
    until(lambda: text(browser, "#health") == "good")
    return browser


def text(browser, selector):
    return browser.run(f"return document.querySelector('{selector}').textContent")


def texts(browser, selector):
    return browser.run(f"return [...document.querySelectorAll('{selector}')]"
                       ".map((found) => found.textContent.toWellFormed())")


def test_it_shows_what_is_served_and_says_nothing_else(page, lodestore):
    names = texts(page, "#exports td:first-child")
    assert lodestore.export in names
    assert lodestore.top + "/" + HOSTILE in names  # as it is, and not as HTML
    assert "127.0.0.3" in texts(page, "#clients td:first-child")
    assert page.run("return document.querySelectorAll('td img').length") == 0
    assert re.match(r"version [0-9.]+, port [0-9]+, up ", text(page, "#about"))
    assert page.console() == []


def test_it_moves_under_load(page):
    until(lambda: re.fullmatch(r"[1-9][0-9.]* [KM]iB/s", text(page, "#now-written")))
    until(lambda: re.fullmatch(r"[0-9.]+ (µs|ms|s)", text(page, "#now-slow")))

    def drawn():
        return page.run("return document.querySelector('#chart-bytes polyline')"
                        ".getAttribute('points')") or ""

    until(lambda: len(drawn().split()) >= 2)
    before = drawn()
    until(lambda: drawn() != before)
    assert page.console() == []


def test_nothing_jumps(page):
    moved = page.run("""return new Promise((done) => {
        let sum = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => sum += entry.value))
            .observe({ type: "layout-shift" });
        setTimeout(() => done(sum), 3000);
    })""")
    assert moved < 0.01


@pytest.mark.parametrize("name, size, dark", [
    ("light", DESK, False), ("dark", DESK, True), ("phone", PHONE, False)])
def test_it_fits(page, name, size, dark):
    """Nothing sticks out, and letters stand out from their ground (WCAG 2: 4.5 to 1)."""
    page.look(*size, dark)
    wide, window = page.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    for selector in "#about", ".tiles h2", "#health", ".one", ".two", "td", "a":
        assert contrast(page, selector) >= 4.5, selector
    if "METRICS_PICTURES" in os.environ:
        with open(f"{os.environ['METRICS_PICTURES']}/status-{name}.png", "wb") as file:
            file.write(page.picture())


def contrast(page, selector):
    letters, ground = page.run(f"""
        let element = document.querySelector('{selector}');
        const letters = getComputedStyle(element).color;
        while (getComputedStyle(element).backgroundColor === "rgba(0, 0, 0, 0)")
            element = element.parentElement;
        return [letters, getComputedStyle(element).backgroundColor];""")
    light, dark = sorted((luminance(letters), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"[0-9]+", colour)[:3]]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
                        for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_server_that_ends_is_said_to_be_gone(page, lodestore):
    lodestore.nfsd.process.send_signal(19)  # SIGSTOP: it is only silent
    until(lambda: text(page, "#health") == "the server does not answer")
    lodestore.nfsd.process.send_signal(18)  # SIGCONT
    until(lambda: text(page, "#health") == "good")
