# SPDX-License-Identifier: Apache-2.0
"""Words for pytest."""

import pytest

from esx import load


def pytest_configure(config):
    config.addinivalue_line("markers", "rate(bytes): copy_rate of the sidecar")


@pytest.fixture(name="esx")
def fixture_esx():
    """The script as a module, fresh: a test may change what it holds."""
    return load()
