#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_results.py FILE: print "PASSED FAILED", the single tests in a result file.

FILE is meson's testlog.json (one object a line; a Check program counts as the checks it ran) or
JUnit XML. No test at all counts as a failure: it means that something did not run.
"""
import json
import re
import sys
import xml.etree.ElementTree

CHECK_SUMMARY = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.MULTILINE)
MESON_GOOD = ("OK", "EXPECTEDFAIL", "SKIP")


def count_meson(text):
    passed = failed = 0
    for line in text.splitlines():
        test = json.loads(line)
        good = test["result"] in MESON_GOOD
        summaries = CHECK_SUMMARY.findall(test.get("stdout") or "")
        checks = sum(int(ran) for ran, _, _ in summaries)
        bad = sum(int(failures) + int(errors) for _, failures, errors in summaries)
        if not summaries:
            checks = 1
        if not good:
            bad = max(bad, 1)
        passed += max(checks - bad, 0)
        failed += bad
    return passed, failed


def count_junit(text):
    passed = failed = 0
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None:
            passed += 1
    return passed, failed


def main():
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    count = count_junit if text.lstrip().startswith("<") else count_meson
    passed, failed = count(text)
    if passed + failed == 0:
        failed = 1
    print(passed, failed)


if __name__ == "__main__":
    main()
