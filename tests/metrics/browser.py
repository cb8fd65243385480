# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by chromedriver over WebDriver (w3.org/TR/webdriver2)."""

import base64
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time

START_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    def __init__(self):
        self.port = free_port()
        # A short path: its sockets are in it.
        self.folder = tempfile.TemporaryDirectory(prefix="lodestore-browser.", dir="/tmp",
                                                  ignore_cleanup_errors=True)
        environment = dict(os.environ, HOME=self.folder.name, TMPDIR=self.folder.name)
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        end = time.monotonic() + START_S
        while self.session is None:
            try:
                self.session = self.begin()
            except ConnectionRefusedError:
                assert self.driver.poll() is None and time.monotonic() < end, "no chromedriver"
                time.sleep(0.05)

    def begin(self):
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage", "--hide-scrollbars",
                            f"--user-data-dir={self.folder.name}/profile"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        return answer["sessionId"]

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        assert not isinstance(answer, dict) or "error" not in answer, answer
        return answer

    def command(self, path, **body):
        return self.request("POST", f"/session/{self.session}/{path}", body)

    def devtools(self, method, **parameters):
        return self.command("goog/cdp/execute", cmd=method, params=parameters)

    def go(self, address):
        self.command("url", url=address)

    def run(self, script):
        return self.command("execute/sync", script=script, args=[])

    def console(self):
        """What pages have said since this was last asked; not the browser's own."""
        return [line["message"] for line in self.command("se/log", type="browser")
                if not line["message"].startswith("chrome://")]

    def look(self, width, height, dark=False):
        """As a window of this size, or a phone."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self):
        """All of the page, as a PNG."""
        return base64.b64decode(self.devtools("Page.captureScreenshot", format="png",
                                              captureBeyondViewport=True)["data"])

    def close(self):
        if self.session:
            self.request("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait(START_S)
        self.folder.cleanup()
