# SPDX-License-Identifier: Apache-2.0
"""Words for pytest."""


def pytest_configure(config):
    config.addinivalue_line("markers", "rate(bytes): copy_rate of the sidecar")
