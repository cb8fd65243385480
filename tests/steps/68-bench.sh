#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The bench does not rot: its arithmetic, and each workload for a split second. No speed is judged.

. tests/support/step.sh

out=$PWD/build/test-logs/bench
rm -rf "$out"
tests/bench/run --smoke --out "$out"

# The first Python that has pytest: the one in PATH need not be the system's.
for python in python3 /usr/bin/python3; do
	! "$python" -c 'import pytest' 2> /dev/null || break
done
status=0
BENCH_OUT=$out "$python" -m pytest -q -p no:cacheprovider --junit-xml="$out/junit.xml" \
	tests/bench || status=$?
count_results "$out/junit.xml"
exit "$status"
