# SPDX-License-Identifier: Apache-2.0
"""What the project has set itself, and whether a run met it."""
import statistics
from typing import NamedTuple

import figures
import workloads

PEER = "ganesha"
MEMORY_MIB_MAX = 64


class Target(NamedTuple):
    """Median of a ratio, at least or at most so much."""
    row: str
    against: str  # ganesha, ganesha's CPU, echo, raw, a raw policy, growth
    at_least: bool
    limit: float


def _small():
    for connections in ("1 connection", "4 connections"):
        name = f"small files, {connections}"
        for phase in workloads.SMALL_PHASES:
            yield Target(f"{name}: {phase}", PEER, True, 2)
        yield Target(f"{name}: create", "raw", True, 0.8)


TARGETS = [
    Target("4K random read, depth 32", PEER, True, 2.5),
    Target("4K random read, depth 32", "CPU", False, 0.12),
    Target("4K random read, depth 32", "echo", True, 0.5),
    Target("4K random read, depth 1", PEER, True, 2),
    Target("4K random read, depth 1", "echo", True, 0.5),
    Target("4K random FILE_SYNC write, depth 32", PEER, True, 2.5),
    Target("4K random FILE_SYNC write, depth 32", "raw", True, 0.7),
    Target("4K random FILE_SYNC write, depth 1", PEER, True, 1),
    Target("4K random FILE_SYNC write, depth 1", "buffered-flush", True, 0.8),
    Target("64K sequential FILE_SYNC write, depth 4", PEER, True, 2),
    Target("1M sequential read, depth 4", PEER, True, 1.3),
    Target("1M sequential read, depth 4", "CPU", False, 0.6),
    Target("1M sequential read, depth 4", "echo", True, 0.8),
    Target("GETATTR, depth 32", PEER, True, 2.5),
    *_small(),
    *(Target(load.name, "growth", False, 1.1) for load in workloads.WORKLOADS if load.base),
]

WORDS = {PEER: "rate / ganesha", "CPU": "CPU per operation / ganesha", "echo": "rate / echo",
         "raw": "rate / best raw policy", "buffered-flush": "rate / raw write + fdatasync",
         "growth": "CPU per operation / the small case"}


def measured(results, target):
    """The ratios that a target is about, one a turn."""
    if target.against == "CPU":
        return figures.against_server(results, target.row, PEER, figures.CPU)
    if target.against == PEER:
        return figures.against_server(results, target.row, PEER)
    if target.against == "echo":
        return figures.against_echo(results, target.row)
    if target.against == "growth":
        return figures.growth(results, target.row, results["servers"][0])
    policy = None if target.against == "raw" else target.against
    return figures.against_raw(results, target.row, policy)


def met(target, values):
    median = statistics.median(values)
    return median >= target.limit if target.at_least else median <= target.limit


def table(results):
    """Lines of a Markdown table with a row for each target that was measured."""
    lines = ["| workload | of what | target | measured | |", "|---|---|---|---|---|"]
    for target in TARGETS:
        values = measured(results, target)
        if values:
            sign = "at least" if target.at_least else "at most"
            lines.append(f"| {target.row} | {WORDS[target.against]} | {sign} {target.limit:g} |"
                         f" {figures.spread(values)} |"
                         f" {'met' if met(target, values) else '**missed**'} |")
    peak = figures.peak_mib(results, results["servers"][0])
    if peak is not None:
        lines.append(f"| all of them | peak memory | at most {MEMORY_MIB_MAX} MiB |"
                     f" {peak:.0f} MiB | {'met' if peak <= MEMORY_MIB_MAX else '**missed**'} |")
    return lines
