#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
#
# What a newcomer tries first: ./dev run --check, then ./dev run, here on a machine that has no
# network but loopback.

. tests/support/step.sh

if [ -z "${SANDBOX_WORK:-}" ]; then
	./dev run --check
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-run-serve.XXXXXX)" bash "$0"
	exit
fi

sandbox_setup
said=$SANDBOX_WORK/said
mkdir "$SANDBOX_WORK/dir"
tests/support/run-serve.sh build/bin "$SANDBOX_WORK/folder" 2049 "$SANDBOX_WORK/dir" \
	> "$said" 2>&1 &
script=$!

fail()
{
	cat "$said"
	echo "FAILED: $1"
	exit 1
}

for ((tries = 200; tries > 0; tries--)); do
	! grep -q 'Ctrl-C stops' "$said" || break
	sleep 0.1
done
[ "$tries" -gt 0 ] || fail "./dev run does not say that it serves"
for line in "needs an address that the host reaches" \
	"mount -t nfs -o vers=3,nolock 127.0.0.1:$SANDBOX_WORK/dir /mnt" \
	"lodestore clone 127.0.0.1:$SANDBOX_WORK/dir/a 127.0.0.1:$SANDBOX_WORK/dir/b"; do
	grep -qF -e "$line" "$said" || fail "./dev run does not say: $line"
done
! grep -q 'esxcli' "$said" || fail "./dev run names loopback for ESXi"
python3 -B tests/clients/wire_check.py --port 2049 --export "$SANDBOX_WORK/dir" --offload ||
	fail "what ./dev run started does not serve"
echo "content of a" > "$SANDBOX_WORK/dir/a"
# The very words that it shows.
read -ra clone < <(grep -F '/lodestore clone ' "$said")
"${clone[@]}" || fail "the clone that ./dev run shows does not work: ${clone[*]}"
cmp "$SANDBOX_WORK/dir/a" "$SANDBOX_WORK/dir/b" || fail "the clone is not equal"
server_stop "$script" || fail "./dev run ended with a bad status"
! pgrep -f "$SANDBOX_WORK/folder" || fail "./dev run left a server behind"
echo "OK: ./dev run says what to do, and leaves nothing running"
