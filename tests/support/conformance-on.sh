#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# conformance-on.sh KIND NFSD [ARGUMENT...] - the conformance suite against NFSD on a file system of
# KIND (xfs, ext4, btrfs, tmpfs), in namespaces of its own. Arguments go to tests/conformance/run.
#
# The server is started as a user would have it, with a port mapper of its own on port 111; what the
# suite may restart, kill, fill and freeze, it is given.

. tests/support/step.sh

kind=$1 nfsd=$2
if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-conformance.XXXXXX)" bash "$0" "$@"
	exit
fi
shift 2

sandbox_setup
work=$SANDBOX_WORK
chmod 755 "$work"
volume_mount "$kind" "$work/main" 4G
volume_mount "$kind" "$work/second" 1G
volume_mount ext4 "$work/full" 32M
mkdir "$work/main/rw" "$work/main/ro" "$work/state" "$work/ctl"
echo "read only" > "$work/main/ro/file"

printf '%s\n' "$nfsd" --foreground --port 2049 --state-dir "$work/state" \
	--export "$work/main/rw *(rw,no_root_squash,insecure)" \
	--export "$work/main/ro *(ro,no_root_squash,insecure)" \
	--export "$work/second *(rw,no_root_squash,insecure)" \
	--export "$work/full *(rw,no_root_squash,insecure)" > "$work/ctl/words"
export SERVER_CTL=$work/ctl
control=$PWD/tests/support/server-ctl.sh
bash "$control" start

options=(--server 127.0.0.1 --export "$work/main/rw" --ro-export "$work/main/ro"
	--second-export "$work/second" --full-export "$work/full" --second-address 127.0.0.2
	--restart-cmd "bash $control restart" --kill-cmd "bash $control kill")
if [ "$kind" != tmpfs ]; then
	volume_mount "$kind" "$work/frozen" 1G
	sed -i "\$a --export\n$work/frozen *(rw,no_root_squash,insecure)" "$work/ctl/words"
	bash "$control" restart
	# A file system that stays frozen could not be unmounted.
	trap 'fsfreeze -u "$work/frozen" 2> /dev/null || true' EXIT
	options+=(--frozen-export "$work/frozen" --freeze-cmd "fsfreeze -f $work/frozen"
		--thaw-cmd "fsfreeze -u $work/frozen")
fi

status=0
results=$PWD/build/test-logs/conformance-$kind.xml
rm -f "$results"
tests/conformance/run "${options[@]}" --junit "$results" "$@" || status=$?
count_results "$results"
bash "$control" stop || status=1
if grep -qE 'Sanitizer|runtime error|Assertion' "$work/ctl/log"; then
	grep -nE -A 40 'Sanitizer|runtime error|Assertion' "$work/ctl/log" | head -n 80
	echo "the server's sanitizers found something"
	status=1
fi
[ "$status" -eq 0 ] || tail -n 20 "$work/ctl/log"
exit "$status"
