#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run-check.sh NFSD - ./dev run --check: a server on an XFS image, worked on over the wire.
#
# All of it happens in namespaces of its own (serve.sh), so nothing is left however it ends.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. "$(dirname "$0")/serve.sh"

nfsd=$1
here=$(dirname "$0")

if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-check.XXXXXX)" "$0" "$@"
	exit
fi

sandbox_setup
export_dir=$SANDBOX_WORK/export
volume_mount xfs "$export_dir" 1G
mkdir "$SANDBOX_WORK/state"
port=$(free_port)

echo "server    $nfsd on 127.0.0.1 port $port, exporting an XFS image of 1 GiB"
started=$(date +%s%N)
"$nfsd" --foreground --no-rpcbind --listen 127.0.0.1 --port "$port" \
	--state-dir "$SANDBOX_WORK/state" --export "$export_dir *(rw,no_root_squash,insecure)" \
	> "$SANDBOX_WORK/log" 2>&1 &
server=$!

log()
{
	echo "--- what the server said:"
	cat "$SANDBOX_WORK/log"
}

if ! server_wait "$server" "$port" 10; then
	log
	echo "FAILED: the server did not start"
	exit 1
fi
echo "server    took its first connection after $((($(date +%s%N) - started) / 1000000)) ms"

status=0
python3 -B "$here/../clients/wire_check.py" --port "$port" --export "$export_dir" || status=$?
[ "$status" -eq 0 ] || {
	log
	exit 1
}
server_stop "$server" || {
	status=$?
	log
	echo "FAILED: the server ended with status $status after SIGTERM"
	exit 1
}
echo "server    ended with status 0 after SIGTERM"
echo "OK: lodestore-nfsd serves"
