# SPDX-License-Identifier: Apache-2.0
"""What `run --smoke` left behind has the shape of a report; nothing is said of speed."""
import json
import os
import sys
from xml.etree import ElementTree

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures  # noqa: E402
import workloads  # noqa: E402

ROWS = [(load, row) for load in workloads.WORKLOADS for row in load.rows()]
FOLDER = os.environ.get("BENCH_OUT")
pytestmark = pytest.mark.skipif(not FOLDER, reason="BENCH_OUT names no folder of run --smoke")


@pytest.fixture(scope="module", name="turn")
def the_turn():
    with open(os.path.join(FOLDER, "results.json"), encoding="utf-8") as file:
        results = json.load(file)
    assert results["servers"] == ["lodestore"] and len(results["turns"]) == 1
    assert results["rows"] == [row for _, row in ROWS]
    return results["turns"][0]


@pytest.mark.parametrize("load, row", ROWS, ids=[row for _, row in ROWS])
def test_workload_ran(turn, load, row):
    result = turn["servers"]["lodestore"][row]
    assert "failed" not in result
    assert result["calls"] > 0 and result["seconds"] > 0 and result[figures.CPU] >= 0
    if not load.guest:
        assert 0 < result["p50_us"] <= result["p99_us"] <= result["p999_us"]
        assert 1024 < result["server_peak_kib"]
        assert result["disk_flushes_per_op"] >= 0
    if load.echo:
        assert figures.good(turn["echo"][row])
    if load.raw and not load.phases:
        assert len(turn["raw"][row]) == 4
        assert all(figures.good(policy) for policy in turn["raw"][row].values())


def test_small_files_were_also_made_without_a_server(turn):
    for name in ("small files, 1 connection: create", "small files, 4 connections: remove"):
        assert figures.best_raw(turn, name)


def test_what_is_durable_flushes_the_disk(turn):
    ours = turn["servers"]["lodestore"]
    for row in ("4K random FILE_SYNC write, depth 1", "small files, 1 connection: create",
                "small files, 1 connection: commit", "small files, 1 connection: remove"):
        assert ours[row]["disk_flushes_per_op"] > 0
    assert ours["GETATTR, depth 32"]["disk_flushes_per_op"] < 0.01


def test_report_and_plots_are_there():
    with open(os.path.join(FOLDER, "report.md"), encoding="utf-8") as file:
        text = file.read()
    assert "## Targets" in text and "## Failed" not in text
    for name in ("latency", "connections"):
        assert f"({name}.svg)" in text
        ElementTree.parse(os.path.join(FOLDER, f"{name}.svg"))
