#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Every lint, and the proof that each refuses what it must.

. tests/support/step.sh

good=0 bad=0
for lint in tests/lint/check-*.sh tests/lint/selftest.sh; do
	status=0
	echo "== $lint"
	"$lint" || status=$?
	if [ "$status" -eq 0 ]; then
		good=$((good + 1))
	else
		bad=$((bad + 1))
	fi
done
count_add "$good" "$bad"
[ "$bad" -eq 0 ]
