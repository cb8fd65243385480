#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The bench does not rot: its arithmetic, and each workload for a split second. No speed is judged.

. tests/support/step.sh

out=$PWD/build/test-logs/bench
rm -rf "$out"
tests/bench/run --smoke --out "$out"

python=$(pytest_python)
status=0
BENCH_OUT=$out "$python" -m pytest -q -p no:cacheprovider --junit-xml="$out/junit.xml" \
	tests/bench || status=$?
count_results "$out/junit.xml"
exit "$status"
