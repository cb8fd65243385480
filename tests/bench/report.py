# SPDX-License-Identifier: Apache-2.0
"""From the results of tests/bench/run to tables that people read."""
import statistics


def one_line(result):
    """A result as one prints it while the bench runs."""
    if "failed" in result:
        return f"FAILED: {result['failed']}"
    return (f"{_rate(result)}, p50 {result['p50_us']:.0f} p99 {result['p99_us']:.0f} us,"
            f" {result['server_cpu_us_per_op']:.1f} us CPU")


def _rate(result):
    if result["block_bytes"] >= 65536:
        return f"{result['bytes_per_s'] / 1e6:,.0f} MB/s"
    return f"{result['ops_per_s']:,.0f}/s"


def _good(results):
    return [result for result in results if "failed" not in result]


def _median(results, key):
    return statistics.median(result[key] for result in results)


def _spread(values, digits=2):
    """Median, and the smallest and largest if there are several."""
    text = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f}-{max(values):.{digits}f})"
    return text


def _middle(results):
    """One result standing for several: the one with the median rate."""
    ordered = sorted(results, key=lambda result: result["ops_per_s"])
    return ordered[len(ordered) // 2]


def _row(name, kind, results):
    good = _good(results)
    if not good:
        return f"| {name} | {kind} | failed | | | | | |"
    middle = _middle(good)
    return (f"| {name} | {kind} | {_rate(middle)} | {_median(good, 'p50_us'):,.0f} |"
            f" {_median(good, 'p99_us'):,.0f} | {_median(good, 'p999_us'):,.0f} |"
            f" {_median(good, 'server_cpu_us_per_op'):.2f} |"
            f" {max(result['server_peak_kib'] for result in good) / 1024:.0f} |")


def _ratios(results, name, key, kinds):
    """lodestore's figure over the other's, pair by pair."""
    found = []
    for turn in results["turns"]:
        ours, theirs = turn[kinds[0]][name], turn[kinds[1]][name]
        if _good([ours, theirs]) == [ours, theirs] and theirs[key]:
            found.append(ours[key] / theirs[key])
    return found


def failures(results):
    """Every failed run, as lines."""
    lines = []
    for number, turn in enumerate(results["turns"], 1):
        for kind, loads in turn.items():
            lines += [f"{kind}, turn {number}, {name}: {load['failed']}"
                      for name, load in loads.items() if "failed" in load]
    return lines


def _figures(results, kinds):
    lines = ["| workload | server | rate | p50 us | p99 us | p99.9 us | CPU us/op | peak MiB |",
             "|---|---|---|---|---|---|---|---|"]
    for name in results["workloads"]:
        for kind in kinds:
            lines.append(_row(name, kind, [turn[kind][name] for turn in results["turns"]]))
        lines.append(_row(name, "(echo: the network alone)", [results["echo"][name]]))
    return lines


def _comparison(results, kinds):
    lines = [f"| workload | rate: {kinds[0]} / {kinds[1]} | CPU per operation | rate / echo |",
             "|---|---|---|---|"]
    for name in results["workloads"]:
        rates = _ratios(results, name, "ops_per_s", kinds)
        cpu = _ratios(results, name, "server_cpu_us_per_op", kinds)
        echo = results["echo"][name].get("ops_per_s")
        ours = [turn[kinds[0]][name]["ops_per_s"] for turn in results["turns"]
                if "failed" not in turn[kinds[0]][name]]
        lines.append(f"| {name} | {_spread(rates) if rates else '-'} |"
                     f" {_spread(cpu) if cpu else '-'} |"
                     f" {_spread([rate / echo for rate in ours]) if echo and ours else '-'} |")
    return lines


def markdown(results):
    """The whole report."""
    about = results["machine"]
    kinds = list(results["turns"][0])
    lines = ["# lodestore, measured", "",
             f"{about['when']}, commit {about['commit']}; {about['cores']} cores ({about['cpu']}),"
             f" Linux {about['kernel']}; {about['file_system']} on a loop device; client and"
             f" server share the machine. {about['pairs']} pairs of turns, {about['seconds']:g} s"
             f" a workload; load average before: {about['load_before']:.1f}.", ""]
    if len(kinds) > 1:
        lines += ["## Ratios", "", "Median, and from the smallest to the largest of the pairs.",
                  "", *_comparison(results, kinds), ""]
    lines += ["## Figures", "", *_figures(results, kinds), ""]
    if "idle_kib" in results:
        lines += ["## At rest", "",
                  "| server | resident with 100 idle connections | start to first answer with"
                  " 1,000 exports |", "|---|---|---|"]
        lines += [f"| {kind} | {results['idle_kib'][kind] / 1024:.1f} MiB |"
                  f" {results['first_answer_ms'][kind]:.0f} ms |" for kind in kinds]
        lines.append("")
    bad = failures(results)
    if bad:
        lines += ["## Failed", "", *(f"- {line}" for line in bad), ""]
    return "\n".join(lines)
