#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# parallel: 2
#
# Hosts on a network that loses, delays, reorders and forgets packets, beside one on a good one.

. tests/support/step.sh

export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
tests/faults/network --nfsd build-asan/nfsd/lodestore-nfsd | tee "$log" || status=$?
count_add "$(grep -c '^ok: ' "$log")" "$(grep -c '^FAILED: ' "$log" || true)"
exit "$status"
