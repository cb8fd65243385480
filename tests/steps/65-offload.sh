#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
# each: xfs ext4 btrfs
# parallel: 2
#
# The sidecar with sanitizers on each file system: space, engines, jobs, kills at every step of the
# journal; then the programs as clients see them, over the network and on the socket.

. tests/support/step.sh

kind=$1
build=$PWD/build-asan
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-offload.XXXXXX)" bash "$0" "$kind"
	exit
fi

sandbox_setup
volume_mount "$kind" "$SANDBOX_WORK/volume" 3G
export TMPDIR=$SANDBOX_WORK/volume CK_TIMEOUT_MULTIPLIER=10
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1

good=0 bad=0
for test in space engine jobs full journal kill; do
	# A directory each: what a failed one leaves (a full disk) is not the next one's to meet.
	mkdir "$TMPDIR/$test"
	if TMPDIR=$TMPDIR/$test "$build/tests/offload/test-offload-$test"; then
		good=$((good + 1))
	else
		bad=$((bad + 1))
	fi
	rm -rf "${TMPDIR:?}/$test"
done
count_add "$good" "$bad"

python=$(pytest_python)
# Most of what the command does and prints is the same everywhere: all of it once.
chosen=() once='test_cli or test_export or test_setup'
[ "$kind" = xfs ] ||
	chosen=(-k "clone or stat or reserve or checksum or punch or not ($once)")
status=0
OFFLOAD_KIND=$kind OFFLOAD_DIR=$TMPDIR OFFLOADD=$build/offload/lodestore-offloadd \
	NFSD=$build/nfsd/lodestore-nfsd LODESTORE=$build/offload/cli/lodestore \
	"$python" -m pytest -q -p no:cacheprovider --junit-xml="$SANDBOX_WORK/junit.xml" \
	"${chosen[@]}" tests/offload/test_native.py tests/offload/test_cli.py \
	tests/offload/test_export.py tests/offload/test_setup.py \
	tests/offload/test_vaai.py || status=$?
count_results "$SANDBOX_WORK/junit.xml"
[ "$status" -eq 0 ] && [ "$bad" -eq 0 ]
