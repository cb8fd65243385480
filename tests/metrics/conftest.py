# SPDX-License-Identifier: Apache-2.0
"""One pair of daemons a module; tests that end one of them make their own."""

import os

import pytest

from daemons import HOSTILE, NOT_UTF8, Lodestore


@pytest.fixture(scope="module", name="lodestore")
def fixture_lodestore():
    top = os.environ["METRICS_DIR"] + "/t/"
    both = Lodestore(exports=(top + HOSTILE, os.fsencode(top) + NOT_UTF8))
    yield both
    both.end()
