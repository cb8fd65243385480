# SPDX-License-Identifier: Apache-2.0
"""The report's arithmetic, its tables and its plots, on results made up here."""
import os
import sys
from xml.etree import ElementTree

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../clients")]

import figures  # noqa: E402
import kernel_read  # noqa: E402
import peer  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import sandbox  # noqa: E402
import targets  # noqa: E402
import workloads  # noqa: E402

SYNC = "4K random FILE_SYNC write, depth 32"
ONE, MANY = "4K read, depth 8, 1 connection", "4K read, depth 8, 256 connections"


def result(rate, cpu=10.0, peak_mib=20, p50=100.0):
    return {"ops_per_s": rate, "bytes_per_s": rate * 4096, "block_bytes": 4096,
            "server_cpu_us_per_op": cpu, "server_peak_kib": peak_mib * 1024, "p50_us": p50,
            "p99_us": 3 * p50, "p999_us": 9 * p50}


def turn(ours, theirs, echo=None, raw=None):
    return {"servers": {"lodestore": ours, "ganesha": theirs}, "echo": echo or {},
            "raw": raw or {}}


def results(*turns, rows=(SYNC,), bases=None):
    return {"machine": {"when": "now", "commit": "abc", "cores": 2, "cpu": "a <fast> one",
                        "kernel": "6", "file_system": "xfs", "image": "in memory", "pairs": 2,
                        "seconds": 1, "scale": 1, "load_before": 0},
            "servers": ["lodestore", "ganesha"], "rows": list(rows), "bases": bases or {},
            "turns": list(turns)}


def two_turns():
    raw = [{SYNC: {"slow": result(100), "fast": result(800), "refused": {"failed": "EINVAL"}}},
           {SYNC: {"slow": result(500), "fast": result(400)}}]
    return results(turn({SYNC: result(400, 5)}, {SYNC: result(100, 20)}, {SYNC: result(1000)},
                        raw[0]),
                   turn({SYNC: result(300, 5)}, {SYNC: result(100, 25)}, {SYNC: result(1000)},
                        raw[1]))


def test_ratios_are_taken_turn_by_turn():
    assert figures.against_server(two_turns(), SYNC, "ganesha") == [4, 3]
    assert figures.against_server(two_turns(), SYNC, "ganesha", figures.CPU) == [0.25, 0.2]
    assert figures.against_echo(two_turns(), SYNC) == [0.4, 0.3]


def test_raw_is_the_best_policy_of_the_same_turn():
    assert figures.best_raw(two_turns()["turns"][0], SYNC)[0] == "fast"
    assert figures.best_raw(two_turns()["turns"][1], SYNC)[0] == "slow"
    assert figures.against_raw(two_turns(), SYNC) == [0.5, 0.6]
    assert figures.against_raw(two_turns(), SYNC, "slow") == [4, 0.6]
    assert figures.against_raw(two_turns(), SYNC, "refused") == []


def test_a_failed_run_makes_no_ratio_and_is_told():
    data = results(turn({SYNC: {"failed": "no answer"}}, {SYNC: result(1)}),
                   turn({SYNC: result(6)}, {SYNC: result(2)}))
    assert figures.against_server(data, SYNC, "ganesha") == [3]
    assert figures.failures(data) == [f"lodestore, turn 1, {SYNC}: no answer"]
    assert "no answer" in report.markdown(data)


def test_what_was_not_measured_makes_no_ratio():
    data = results(turn({SYNC: result(6)}, {}))
    assert figures.against_server(data, SYNC, "ganesha") == []
    assert figures.against_echo(data, SYNC) == figures.against_raw(data, SYNC) == []
    assert f"| {SYNC} | ganesha |" not in report.markdown(data)
    assert figures.peak_mib(data, "ganesha") is None


def test_nothing_is_divided_by_zero():
    data = results(turn({SYNC: result(6, 0)}, {SYNC: result(0, 0)}))
    assert figures.against_server(data, SYNC, "ganesha") == []
    assert figures.against_server(data, SYNC, "ganesha", figures.CPU) == []
    assert "rate-ganesha" not in report.plots(data)


def test_growth_is_against_the_base_of_the_same_turn():
    rows = {ONE: result(100, 4), MANY: result(90, 5)}
    data = results(turn(rows, {}), rows=(ONE, MANY), bases={MANY: ONE})
    assert figures.growth(data, MANY, "lodestore") == [1.25]
    assert figures.growth(data, MANY, "lodestore", figures.RATE) == [0.9]
    assert f"| {MANY} | CPU per operation / the small case | at most 1.1 | 1.25 |" \
        " **missed** |" in report.markdown(data)


def test_spread_shows_the_ends_of_several():
    assert figures.spread([2, 1, 4]) == "2.00 (1.00-4.00)"
    assert figures.spread([2]) == "2.00"
    assert figures.spread([]) == "-"


def test_targets_are_judged_by_the_median():
    lines = targets.table(two_turns())
    assert f"| {SYNC} | rate / ganesha | at least 2.5 | 3.50 (3.00-4.00) | met |" in lines
    assert f"| {SYNC} | rate / best raw policy | at least 0.7 | 0.55 (0.50-0.60) | **missed** |" \
        in lines
    assert lines[-1] == "| all of them | peak memory | at most 64 MiB | 20 MiB | met |"


def test_every_target_is_of_a_workload():
    rows = {row for load in workloads.WORKLOADS for row in load.rows()}
    assert {target.row for target in targets.TARGETS} <= rows


def test_rows_are_unique_and_bases_exist():
    rows = [row for load in workloads.WORKLOADS for row in load.rows()]
    assert len(rows) == len(set(rows))
    assert {load.base for load in workloads.WORKLOADS if load.base} <= set(rows)


def test_all_arguments_can_be_filled_in_at_any_scale():
    for scale in (0.001, 1):
        sizes = workloads.sizes(scale) | {"copy": "/copy", "boot_mib": 1}
        for load in workloads.WORKLOADS:
            assert "{" not in load.argv.format(**sizes) + load.raw.format(**sizes)


def test_dd_is_understood():
    said = ("3+1 records in\n3+1 records out\n"
            "7340032 bytes (7.3 MB, 7.0 MiB) copied, 0.5 s, 14.7 MB/s\n")
    found = kernel_read.result_of(said)
    assert (found["calls"], found["ops_per_s"], found["bytes_per_s"]) == (7, 14, 7340032 * 2)
    assert "failed" in kernel_read.result_of("dd: failed to open")


def test_without_reflink_there_are_no_clones():
    assert workloads.chosen(["boot"], False, reflink=False) == []


def test_words_choose_by_name_or_group():
    assert {load.group for load in workloads.chosen(["small"], False)} == {"small"}
    assert len(workloads.chosen(["GETATTR", "boot"], False)) == 2
    assert len(workloads.chosen([], True)) < len(workloads.chosen([], False))
    assert workloads.chosen(["no such"], False) == []


@pytest.mark.parametrize("low, high", [(0.04, 7), (1, 1), (99, 101), (1e-3, 1e6), (2, 5)])
def test_an_axis_holds_its_numbers(low, high):
    start, end, ticks = plot.axis(low, high)
    assert start <= low * 1.001 and end >= high * 0.999 and start < end
    assert ticks[0] == start and ticks[-1] == end


def numbers_inside(svg):
    """Every coordinate lies on the page; gives the texts."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(element.get(name, 0)) <= width
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(element.get(name, 0)) <= height
    return [element.text for element in root.iter() if element.text and element.text.strip()]


def test_plots_are_well_formed_and_on_the_page():
    rows = {ONE: result(100, 4), MANY: result(1, 500, p50=1e6)}
    data = results(turn(rows, {ONE: result(90, 8), MANY: result(7000, 0.5)}), rows=(ONE, MANY),
                   bases={MANY: ONE})
    plots = report.plots(data)
    assert set(plots) == {"rate-ganesha", "cpu-ganesha", "latency", "connections"}
    for svg in plots.values():
        numbers_inside(svg)
    assert {ONE, MANY, "1.11"} <= set(numbers_inside(plots["rate-ganesha"]))


def test_labels_are_escaped():
    assert "a < b & c" in numbers_inside(plot.ratio_bars("t", "s", [("a < b & c", [2, 3])]))


def test_a_peer_needs_an_export_and_a_port():
    assert peer.check("/opt/x/serverd -p {port} --export '{export}'") == "serverd"
    for command, word in (("serverd", "{export}"), ("d {export}", "{port}"),
                          ("d {export} {port} {nonsense}", "nonsense")):
        with pytest.raises(sandbox.SandboxError, match=word):
            peer.check(command)


def test_peers_must_be_there_and_have_names_of_their_own():
    peer.need_all(["sh {export} {port}", "/bin/true {export} {port}"])
    for commands, word in ((["no-such-server {export} {port}"], "no program"),
                           (["sh {export} {port}", "/bin/sh {export} {port}"], "two servers")):
        with pytest.raises(sandbox.SandboxError, match=word):
            peer.need_all(commands)
