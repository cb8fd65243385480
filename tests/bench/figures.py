# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a report: ratios pair by pair, their medians and spread. Pure.

Results are what tests/bench/run writes to results.json:

    rows     names of rows in their order
    bases    {row: the smaller row that it is held against}
    servers  names, lodestore first
    turns    [{"servers": {name: {row: result}}, "echo": {row: result},
               "raw": {row: {policy: result}}}]

A result is nfsbench's JSON object, or {"failed": what it said}.
"""
import statistics

RATE, CPU = "ops_per_s", "server_cpu_us_per_op"


def good(result):
    """The result, unless it is missing or says that it failed."""
    return result if result and "failed" not in result else None


def of_server(results, row, name):
    """The good results of a row, turn by turn."""
    found = [good(turn["servers"].get(name, {}).get(row)) for turn in results["turns"]]
    return [result for result in found if result]


def _ratios(pairs, key):
    return [ours[key] / theirs[key] for ours, theirs in pairs
            if ours and theirs and ours.get(key) is not None and theirs.get(key)]


def against_server(results, row, other, key=RATE):
    """lodestore's figure over another server's, pair by pair."""
    us = results["servers"][0]
    return _ratios([(good(turn["servers"].get(us, {}).get(row)),
                     good(turn["servers"].get(other, {}).get(row)))
                    for turn in results["turns"]], key)


def against_echo(results, row):
    """lodestore's rate over the RPC echo's."""
    us = results["servers"][0]
    return _ratios([(good(turn["servers"].get(us, {}).get(row)), good(turn["echo"].get(row)))
                    for turn in results["turns"]], RATE)


def best_raw(turn, row):
    """The policy with the highest rate and its result, or None."""
    policies = {name: good(result) for name, result in turn["raw"].get(row, {}).items()}
    policies = {name: result for name, result in policies.items() if result}
    if not policies:
        return None
    name = max(policies, key=lambda policy: policies[policy][RATE])
    return name, policies[name]


def against_raw(results, row, policy=None):
    """lodestore's rate over the best raw policy's of the same turn, or over the given one's."""
    us = results["servers"][0]
    pairs = []
    for turn in results["turns"]:
        best = best_raw(turn, row)
        raw = turn["raw"].get(row, {}).get(policy) if policy else best and best[1]
        pairs.append((good(turn["servers"].get(us, {}).get(row)), good(raw)))
    return _ratios(pairs, RATE)


def growth(results, row, name, key=CPU):
    """A row's figure over that of the smaller row it is held against, within each turn."""
    base = results["bases"].get(row)
    return _ratios([(good(turn["servers"].get(name, {}).get(row)),
                     good(turn["servers"].get(name, {}).get(base)))
                    for turn in results["turns"]], key)


def middle(found):
    """One result standing for several: the one with the median rate."""
    ordered = sorted(found, key=lambda result: result[RATE])
    return ordered[len(ordered) // 2]


def peak_mib(results, name):
    """The most memory that a server had resident under any load, in MiB."""
    peaks = [result["server_peak_kib"] for row in results["rows"]
             for result in of_server(results, row, name) if "server_peak_kib" in result]
    return max(peaks) / 1024 if peaks else None


def spread(values, digits=2):
    """Median, and the smallest and largest if there are several; - if there are none."""
    if not values:
        return "-"
    text = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}-{max(values):.{digits}f})"
    return text


def failures(results):
    """Every failed run, as lines."""
    lines = []
    for number, turn in enumerate(results["turns"], 1):
        loads = [(name, row, result) for name, rows in turn["servers"].items()
                 for row, result in rows.items()]
        loads += [("echo", row, result) for row, result in turn["echo"].items()]
        lines += [f"{name}, turn {number}, {row}: {result['failed']}"
                  for name, row, result in loads if "failed" in result]
    return lines
