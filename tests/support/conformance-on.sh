#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# conformance-on.sh KIND BUILD [ARGUMENT...] - the conformance suite against the programs of the
# folder BUILD on a file system of KIND (xfs, ext4, btrfs, tmpfs), in namespaces of its own.
# Arguments go to tests/conformance/run.
#
# The server is started as a user would have it, with a port mapper of its own on port 111 and the
# sidecar beside it; what the suite may restart, kill, fill and freeze, it is given.

. tests/support/step.sh

kind=$1 build=$2
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-conformance.XXXXXX)" bash "$0" "$@"
	exit
fi
shift 2

sandbox_setup
work=$SANDBOX_WORK
chmod 755 "$work"
# Images in memory: the suite makes thousands of small durable changes, and what a disk's flush
# costs is not its subject.
mkdir "$work/memory" "$work/small" "$work/state" "$work/ctl" "$work/ctl-offload" /run/lodestore
mount -t tmpfs -o size=12g memory "$work/memory"
mount -t tmpfs -o size=40m small "$work/small"

# A file system on an image whose data blocks are holes, on a tmpfs that can be filled: writing them
# fails then, and what the file system needs for itself is already there.
failing_mount()
{
	truncate -s 256M "$work/small/image"
	serve_why mkfs.ext4 mkfs.ext4 -q -F -N 2048 -J size=4 \
		-E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$work/small/image"
	mkdir "$work/failing"
	mount -o loop "$work/small/image" "$work/failing"
}

volume_mount "$kind" "$work/memory/main" 4G
volume_mount "$kind" "$work/memory/second" 1G
volume_mount ext4 "$work/memory/full" 32M
failing_mount
mkdir "$work/memory/main/rw" "$work/memory/main/ro" "$work/memory/main/private"
echo "read only" > "$work/memory/main/ro/conformance-file"
mkdir "$work/memory/main/ro/conformance-dir"
fill="cat /dev/zero > $work/small/filler 2> /dev/null || true"
control=$PWD/tests/support/server-ctl.sh
main=$work/memory/main
options=(--forbid-skips --server 127.0.0.1 --second-address 127.0.0.2
	--export "$main/rw" --ro-export "$main/ro" --second-export "$work/memory/second"
	--private-export "$main/private"
	--full-export "$work/memory/full"
	--restart-cmd "bash $control restart" --kill-cmd "bash $control kill"
	--offload-stop-cmd "SERVER_CTL=$work/ctl-offload bash $control stop"
	--offload-start-cmd "SERVER_CTL=$work/ctl-offload bash $control start"
	--failing-export "$work/failing" --fail-cmd "$fill" --heal-cmd "rm $work/small/filler")
served=("$main/rw" "$work/memory/second" "$work/memory/full" "$work/failing")

if [ "$kind" != tmpfs ]; then
	frozen=$work/memory/frozen
	volume_mount "$kind" "$frozen" 1G
	# A file system that stays frozen could not be unmounted.
	trap 'fsfreeze -u "$frozen" 2> /dev/null || true' EXIT
	options+=(--frozen-export "$frozen" --freeze-cmd "fsfreeze -f $frozen"
		--thaw-cmd "fsfreeze -u $frozen")
	served+=("$frozen")
else
	options+=(--allow-skip '*--freeze-cmd*')
fi

# Each data path has file systems to be tested on; and the suite looks at copies while they run.
case $kind in
xfs | tmpfs) data_path=direct ;;
*) data_path=buffered ;;
esac
printf '%s\n' '[nfsd]' "data_path = $data_path" '[offload]' 'copy_rate = 16M' \
	> "$work/lodestore.conf"

# Both know the same exports, the same state and the socket between them.
exported()
{
	printf -- '--export\n%s *(rw,no_root_squash,insecure)\n' "${served[@]}"
	printf -- '--export\n%s *(ro,no_root_squash,insecure)\n' "$main/ro"
	printf -- '--export\n%s 127.0.0.1(rw,no_root_squash,insecure)\n' "$main/private"
}
{
	# Port 111 of the second address is the suite's: it is called back there (locks).
	printf '%s\n' "$build/nfsd/lodestore-nfsd" --foreground --port 2049 --listen 127.0.0.1
	printf '%s\n' --config "$work/lodestore.conf"
	printf '%s\n' --state-dir "$work/state"
	exported
} > "$work/ctl/words"
{
	printf '%s\n' "$build/offload/lodestore-offloadd" --foreground
	printf '%s\n' --state-dir "$work/state" --socket /run/lodestore/offload.sock
	printf '%s\n' --config "$work/lodestore.conf"
	exported
} > "$work/ctl-offload/words"

# server_do COMMAND - with both.
server_do()
{
	local folder done=0

	for folder in "$work/ctl" "$work/ctl-offload"; do
		SERVER_CTL=$folder bash "$control" "$1" || done=1
	done
	return "$done"
}
export SERVER_CTL=$work/ctl
server_do start

status=0
results=$PWD/build/test-logs/conformance-$kind.xml
rm -f "$results"
tests/conformance/run "${options[@]}" --junit "$results" "$@" || status=$?
count_results "$results"
server_do stop || status=1
for log in "$work"/ctl*/log; do
	if grep -qE 'Sanitizer|runtime error|Assertion' "$log"; then
		grep -nE -A 40 'Sanitizer|runtime error|Assertion' "$log" | head -n 80
		echo "the sanitizers found something"
		status=1
	fi
	[ "$status" -eq 0 ] || tail -n 20 "$log"
done
exit "$status"
