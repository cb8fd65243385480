#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh NFSD - a server stopped under load, reloaded, watched, restarted, with limits, on a disk
# that does not answer, on file systems that are given up, refused its ring and its ids, confined;
# files removed behind its back; subvolumes. In namespaces and on file systems of its own.

. tests/support/step.sh

nfsd=$1
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-faults.XXXXXX)" bash "$0" "$@"
	exit
fi

sandbox_setup
work=$SANDBOX_WORK
volume_mount xfs "$work/xfs" 1G
volume_mount btrfs "$work/btrfs" 1G
mkdir "$work/btrfs/export"
btrfs -q subvolume create "$work/btrfs/export/sub"
mkdir "$work/btrfs/export/sub/inner" "$work/btrfs/export/plain"
echo text > "$work/btrfs/export/sub/file"
btrfs -q subvolume snapshot "$work/btrfs/export/sub" "$work/btrfs/export/snap"

cc -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -shared -fPIC -o "$work/clock_back.so" \
	tests/faults/clock_back.c

export TMPDIR=$work
good=0 bad=0
try()
{
	local name=$1

	shift
	echo "== $name"
	if timeout 120 python3 -B "tests/faults/$name.py" "$nfsd" 2049 "$@"; then
		good=$((good + 1))
	else
		bad=$((bad + 1))
		tail -n 30 "$work"/lodestore-faults.*/log
	fi
}

try stop_under_load "$work/xfs"
try reload "$work/xfs"
try freeze "$work/xfs" "$work/btrfs"
try broken_disk "$work" "$work/xfs"
try limits "$work/xfs"
try bounds "$work/xfs"
try status "$work/xfs"
try watchdog "$work/xfs"
try restart "$work/xfs"
try no_ring "$work/xfs"
try refused "$work/xfs"
try mistakes "$work/xfs"
try trace "$work/xfs"
try locks "$work/xfs"
try confined "$work/xfs"
try user_namespace "$work/xfs"
try behind "$work/xfs" "$work/clock_back.so"
try subvolumes "$work/btrfs/export"
if grep -lE 'Sanitizer|runtime error|Assertion' "$work"/lodestore-faults.*/log; then
	grep -hE -A 40 'Sanitizer|runtime error|Assertion' "$work"/lodestore-faults.*/log |
		head -n 80
	bad=$((bad + 1))
fi
count_add "$good" "$bad"
[ "$bad" -eq 0 ]
