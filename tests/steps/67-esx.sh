#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# each: xfs ext4
# parallel: 2
#
# lodestore-esx.py: its parsers, and machines cloned against both daemons, on a file system that
# shares blocks and on one that does not. The export's own directory stands for the datastore.

. tests/support/step.sh

kind=$1
build=$PWD/build-asan
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-esx.XXXXXX)" bash "$0" "$kind"
	exit
fi

sandbox_setup
volume_mount "$kind" "$SANDBOX_WORK/volume" 2G
export TMPDIR=$SANDBOX_WORK/volume
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1

python=$(pytest_python)
status=0
OFFLOAD_KIND=$kind OFFLOAD_DIR=$TMPDIR OFFLOADD=$build/offload/lodestore-offloadd \
	NFSD=$build/nfsd/lodestore-nfsd PYTHONDONTWRITEBYTECODE=1 \
	"$python" -m pytest -q -p no:cacheprovider --junit-xml="$SANDBOX_WORK/junit.xml" \
	tests/esx || status=$?
count_results "$SANDBOX_WORK/junit.xml"
exit "$status"
