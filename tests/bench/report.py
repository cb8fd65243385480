# SPDX-License-Identifier: Apache-2.0
"""From the results of tests/bench/run to the tables and plots that people look at."""
import figures
import plot
import targets

LATENCIES = ("p50_us", "p99_us", "p999_us")
FLUSHES = "disk_flushes_per_op"
BLOCK_BYTES_AS_MB = 65536  # from here on MB/s say more than operations


def one_line(result):
    """A result as one prints it while the bench runs."""
    if "failed" in result:
        return f"FAILED: {result['failed']}"
    latency = ", p50 {p50_us:.0f} p99 {p99_us:.0f} us".format(**result) if "p50_us" in result \
        else ""
    return f"{_rate(result)}{latency}, {result.get(figures.CPU, 0):.1f} us CPU"


def _rate(result):
    if result.get("block_bytes", 0) >= BLOCK_BYTES_AS_MB:
        return f"{result['bytes_per_s'] / 1e6:,.0f} MB/s"
    return f"{result[figures.RATE]:,.0f}/s"


def _cell(result, key, digits, scale=1):
    return f"{result[key] / scale:,.{digits}f}" if key in result else ""


def _row(row, who, found):
    if not found:
        return f"| {row} | {who} | failed | | | | | | |"
    middle = figures.middle(found)
    peaks = [result["server_peak_kib"] for result in found if "server_peak_kib" in result]
    peak = f"{max(peaks) / 1024:.0f}" if peaks else ""
    return (f"| {row} | {who} | {_rate(middle)} |"
            + "".join(f" {_cell(middle, key, 0)} |" for key in LATENCIES)
            + f" {_cell(middle, figures.CPU, 2)} | {_cell(middle, FLUSHES, 3)} | {peak} |")


def _figures(results):
    lines = ["| workload | server | rate | p50 us | p99 us | p99.9 us | CPU us/op | flushes/op |"
             " peak MiB |", "|---|---|---|---|---|---|---|---|---|"]
    for row in results["rows"]:
        for name in results["servers"]:
            if any(row in turn["servers"].get(name, {}) for turn in results["turns"]):
                lines.append(_row(row, name, figures.of_server(results, row, name)))
        echo = [turn["echo"][row] for turn in results["turns"]
                if figures.good(turn["echo"].get(row))]
        if echo:
            lines.append(_row(row, "(echo: the network alone)", echo))
        best = [found for found in (figures.best_raw(turn, row) for turn in results["turns"])
                if found]
        if best:
            policy = max(best, key=lambda found: found[1][figures.RATE])[0]
            lines.append(_row(row, f"({policy})", [result for _, result in best]))
    return lines


def _comparison(results, other):
    us = results["servers"][0]
    columns = {}
    if other:
        columns = {f"rate: {us} / {other}": lambda row: figures.against_server(results, row, other),
                   "CPU per operation": lambda row: figures.against_server(
                       results, row, other, figures.CPU)}
    columns |= {"of echo": lambda row: figures.against_echo(results, row),
                "of raw": lambda row: figures.against_raw(results, row)}
    lines = [f"| workload | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for row in results["rows"]:
        cells = [column(row) for column in columns.values()]
        if any(cells):
            lines.append(f"| {row} | " + " | ".join(figures.spread(cell) for cell in cells)
                         + " |")
    return lines


def _growth(results):
    lines = ["| workload | server | CPU per operation | rate | against |", "|---|---|---|---|---|"]
    for row, base in results["bases"].items():
        for name in results["servers"]:
            cpu = figures.growth(results, row, name)
            if cpu:
                rate = figures.growth(results, row, name, figures.RATE)
                lines.append(f"| {row} | {name} | {figures.spread(cpu)} |"
                             f" {figures.spread(rate)} | {base} |")
    return lines


def _policies(results):
    """Every way to do it without a server, in the first turn."""
    lines = ["| workload | policy | rate | p50 us | p99 us | flushes/op |",
             "|---|---|---|---|---|---|"]
    for row in results["rows"]:
        policies = results["turns"][0]["raw"].get(row, {})
        for name, result in policies.items():
            if figures.good(result):
                lines.append(f"| {row} | {name} | {_rate(result)} | {_cell(result, 'p50_us', 0)} |"
                             f" {_cell(result, 'p99_us', 0)} | {_cell(result, FLUSHES, 3)} |")
            else:
                lines.append(f"| {row} | {name} | {result['failed']} | | | |")
    return lines


def _at_rest(results):
    lines = ["| server | resident with 100 idle connections | start to first answer with"
             " 1,000 exports |", "|---|---|---|"]
    return lines + [f"| {name} | {results['idle_kib'][name] / 1024:.1f} MiB |"
                    f" {results['first_answer_ms'][name]:.0f} ms |"
                    for name in results["idle_kib"]]


def _about(results):
    about = results["machine"]
    return (f"{about['when']}, commit {about['commit']}; {about['cores']} cores"
            f" ({about['cpu']}), Linux {about['kernel']}; {about['file_system']} on a loop device"
            f" whose image lies {about['image']}; client and server share the machine."
            f" Turns of each server: {about['pairs']}; {about['seconds']:g} s a workload, sizes at"
            f" {about['scale']:g} of the full ones; load average before:"
            f" {about['load_before']:.1f}.")


def markdown(results):
    """The whole report."""
    us, *others = results["servers"]
    lines = [f"# {us}, measured", "", _about(results), "", "## Targets", "",
             *targets.table(results), ""]
    for other in others or [None]:
        lines += [f"## {us} against {other}" if other else f"## {us} against the ceilings", "",
                  "Median of the turns, and from the smallest to the largest.", "",
                  *_comparison(results, other), ""]
    lines += ["## Figures", "", "The turn with the median rate; the peak is the highest of all."
              " Flushes are those of the disk: none, where data or names were to be durable, means"
              " that they were not.",
              "", *_figures(results), ""]
    for title, part in (("Growth", _growth(results)),
                        ("On the machine itself", _policies(results))):
        if len(part) > 2:
            lines += [f"## {title}", "", *part, ""]
    if "idle_kib" in results:
        lines += ["## At rest", "", *_at_rest(results), ""]
    lines += [f"![{name}]({name}.svg)" for name in plots(results)] + [""]
    failed = figures.failures(results)
    if failed:
        lines += ["## Failed", "", *(f"- {line}" for line in failed), ""]
    return "\n".join(lines)


def _ratio_plots(results):
    us, *others = results["servers"]
    for other in others:
        for stem, key, what in (("rate", figures.RATE, "operations per second"),
                                ("cpu", figures.CPU, "server CPU per operation")):
            rows = [(row, figures.against_server(results, row, other, key))
                    for row in results["rows"]]
            rows = [(row, values) for row, values in rows if values and min(values) > 0]
            if rows:
                yield f"{stem}-{other}", plot.ratio_bars(
                    f"{us} / {other}: {what}",
                    f"median and spread; turns of each: {results['machine']['pairs']}", rows,
                    more_is_better=key == figures.RATE)


def _latency_plot(results):
    rows = []
    for row in results["rows"]:
        marks = {}
        for name in results["servers"]:
            found = figures.of_server(results, row, name)
            if found and LATENCIES[0] in found[0]:
                marks[name] = tuple(figures.middle(found)[key] for key in LATENCIES)
        if marks:
            rows.append((row, marks))
    if rows:
        yield "latency", plot.latency_marks(
            "Latency, microseconds", "filled: p50; hollow: p99 and p99.9", results["servers"],
            rows)


def _growth_plot(results):
    """CPU per operation from one connection to many."""
    largest = [row for row in results["bases"] if "connection" in row]
    if not largest:
        return
    rows = [results["bases"][largest[0]], *largest]
    series = {}
    for name in results["servers"]:
        found = [figures.of_server(results, row, name) for row in rows]
        values = [figures.middle(part).get(figures.CPU) if part else None for part in found]
        if any(values):
            series[name] = values
    if series:
        yield "connections", plot.lines(
            "Server CPU per operation, microseconds", "4 KiB cached reads, 8 calls under way on"
            " each connection", [row.split(", ")[-1] for row in rows], series)


def plots(results):
    """{name: SVG text}."""
    return {name: text for part in (_ratio_plots, _latency_plot, _growth_plot)
            for name, text in part(results)}
