#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage_gate.py BUILD LIST: is each file of LIST run by at least 90 % of its lines?

Prints a line a file, with the lines that are not run where it is not enough.
"""
import json
import subprocess
import sys

PERCENT_MIN = 90


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    spans = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join("%d-%d" % (a, b) if b > a else str(a) for a, b in spans)


def covered_lines(build):
    """{file: {line: was it run}}"""
    report = subprocess.run(["gcovr", "--root", ".", "--json", "-", build], check=True,
                            stdout=subprocess.PIPE).stdout
    return {entry["file"]: {line["line_number"]: line["count"] > 0 for line in entry["lines"]
                            if not line.get("gcovr/noncode")}
            for entry in json.loads(report)["files"]}


def main():
    build, names = sys.argv[1:]
    with open(names, encoding="utf-8") as file:
        wanted = [line.split("#")[0].strip() for line in file]
    found = covered_lines(build)
    short = 0
    for name in filter(None, wanted):
        lines = found.get(name)
        if not lines:
            print("%-28s no line is run: is it compiled, has it a unit test?" % name)
            short += 1
            continue
        percent = 100 * sum(lines.values()) / len(lines)
        print("%-28s %5.1f %% of %d lines" % (name, percent, len(lines)))
        if percent < PERCENT_MIN:
            print("    not run: %s" % ranges(sorted(n for n, ran in lines.items() if not ran)))
            short += 1
    if short:
        print("%d file(s) under %d %%. Add unit tests for the lines that are not run."
              % (short, PERCENT_MIN))
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
