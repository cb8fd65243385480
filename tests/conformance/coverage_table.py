#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage_table.py [--check]: write COVERAGE.md from the rules and the tests' rule(...) marks.

With --check nothing is written: the exit status is 1, and the reasons are said, if COVERAGE.md is
out of date, a rule has neither a test nor a reason, a test names a rule that does not exist or none
at all, or has no docstring. The tests are read, not run."""
import ast
import collections
import glob
import os
import sys

import rules

HERE = os.path.dirname(os.path.realpath(__file__))
TABLE = os.path.join(HERE, "COVERAGE.md")


def read_tests():
    """Two things: rule -> [file::test], and complaints about tests."""
    tests, complaints = collections.defaultdict(list), []
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        file = os.path.basename(path)
        with open(path, encoding="utf-8") as source:
            tree = ast.parse(source.read(), path)
        for node in tree.body:
            if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
                continue
            name = "%s::%s" % (file, node.name)
            named = [argument.value for decorator in node.decorator_list
                     if isinstance(decorator, ast.Call)
                     and getattr(decorator.func, "id", "") == "rule" for argument in decorator.args]
            if not named:
                complaints.append("%s names no rule" % name)
            if not ast.get_docstring(node):
                complaints.append("%s has no docstring" % name)
            for rule in named:
                if rule not in rules.RULES and not rule.startswith("RFC "):
                    complaints.append("%s names %r, which is not in rules.py" % (name, rule))
                if name not in tests[rule]:
                    tests[rule].append(name)
    for rule in rules.RULES:
        if not tests.get(rule) and rule not in rules.NOT_ON_THE_WIRE:
            complaints.append("%s has neither a test nor a reason in NOT_ON_THE_WIRE" % rule)
    return tests, complaints


def rfc_key(rule):
    return [int(part) if part.isdigit() else ord(part[0]) + 1000
            for part in rule.replace("RFC ", "").replace(" ", ".").split(".")]


def cell(tests):
    """Test names by file, so that a line stays readable."""
    by_file = collections.defaultdict(list)
    for name in tests:
        file, test = name.split("::")
        by_file[file[len("test_"):-len(".py")]].append("`%s`" % test[len("test_"):])
    return "; ".join("**%s** %s" % (group, ", ".join(names)) for group, names in by_file.items())


def render(tests):
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "# Which test holds a server to which rule",
        "",
        "Made by `coverage_table.py`; not edited by hand. Groups are bold, tests lack `test_`.",
        "The rules are in `rules.py`, in our own words.",
        ""]
    for title, listed in (("What an ESXi host needs (esxi.md)", rules.ESXI),
                          ("Mistakes that servers have made (defects.md)", rules.DEFECTS),
                          ("What VAAI-NAS plug-ins rely on (vaai-wire.md)", rules.VAAI),
                          ("What lodestore's offload program promises (offload.x)",
                           rules.OFFLOAD)):
        shown = sum(1 for rule in listed if tests.get(rule))
        lines += ["## %s" % title, "",
                  "%d claims, %d of them tested here." % (len(listed), shown), "",
                  "| rule | in short | tests |", "|---|---|---|"]
        for rule, summary in listed.items():
            parts = [cell(tests[rule])] if tests.get(rule) else []
            if rule in rules.NOT_ON_THE_WIRE:
                parts.append("_not visible on the wire: %s_" % rules.NOT_ON_THE_WIRE[rule])
            lines.append("| %s | %s | %s |" % (rule.split(" ", 1)[1], summary, " ".join(parts)))
        lines.append("")
    lines += ["## The RFCs", "", "| section | tests |", "|---|---|"]
    for rule in sorted((rule for rule in tests if rule.startswith("RFC ")), key=rfc_key):
        lines.append("| %s | %s |" % (rule, cell(tests[rule])))
    return "\n".join(lines) + "\n"


def main():
    tests, complaints = read_tests()
    text = render(tests)
    if sys.argv[1:] == ["--check"]:
        current = open(TABLE, encoding="utf-8").read() if os.path.exists(TABLE) else ""
        if current != text:
            complaints.append("COVERAGE.md is out of date: run tests/conformance/coverage_table.py")
    elif sys.argv[1:]:
        sys.exit(__doc__.splitlines()[0])
    else:
        with open(TABLE, "w", encoding="utf-8") as table:
            table.write(text)
    for complaint in complaints:
        print("coverage_table.py: " + complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
