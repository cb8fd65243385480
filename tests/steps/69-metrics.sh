#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Metrics, the status page and what else is served over HTTP, by the servers with sanitizers.

. tests/support/step.sh

build=${METRICS_BUILD:-$PWD/build-asan}
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-metrics.XXXXXX)" bash "$0"
	exit
fi

sandbox_setup
volume_mount xfs "$SANDBOX_WORK/volume" 1G
export TMPDIR=$SANDBOX_WORK/volume
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1

python=$(pytest_python)
status=0
METRICS_DIR=$TMPDIR OFFLOADD=$build/offload/lodestore-offloadd NFSD=$build/nfsd/lodestore-nfsd \
	PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider \
	--junit-xml="$SANDBOX_WORK/junit.xml" "${METRICS_TESTS:-tests/metrics}" || status=$?
count_results "$SANDBOX_WORK/junit.xml"
exit "$status"
