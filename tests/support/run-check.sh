#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run-check.sh BIN - ./dev run --check: BIN's programs on an XFS image, worked on over the wire.
#
# All of it happens in namespaces of its own (serve.sh), so nothing is left however it ends.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. "$(dirname "$0")/serve.sh"

bin=$1
here=$(dirname "$0")

if [ -z "${SANDBOX_WORK:-}" ]; then
	sandbox_enter "$(mktemp -d /var/tmp/lodestore-check.XXXXXX)" "$0" "$@"
	exit
fi

sandbox_setup
export_dir=$SANDBOX_WORK/export
volume_mount xfs "$export_dir" 1G
port=$(free_port)
server='' sidecar=''

log()
{
	echo "--- what the server said:"
	cat "$SANDBOX_WORK/log"
}

echo "server    $bin/lodestore-nfsd on 127.0.0.1 port $port, exporting an XFS image of 1 GiB"
echo "sidecar   $bin/lodestore-offloadd beside it, for what is done on the server"
started=$(date +%s%N)
servers_start "$bin" "$SANDBOX_WORK" "$port" "$export_dir *(rw,no_root_squash,insecure)" \
	--no-rpcbind --listen 127.0.0.1 > "$SANDBOX_WORK/log" 2>&1 || {
	log
	echo "FAILED: the server did not start"
	exit 1
}
echo "server    took its first connection after $((($(date +%s%N) - started) / 1000000)) ms"

status=0
python3 -B "$here/../clients/wire_check.py" --port "$port" --export "$export_dir" --offload ||
	status=$?
[ "$status" -eq 0 ] || {
	log
	exit 1
}
for pid in "$server" "$sidecar"; do
	server_stop "$pid" || {
		status=$?
		log
		echo "FAILED: a server ended with status $status after SIGTERM"
		exit 1
	}
done
echo "server    ended with status 0 after SIGTERM, and so did the sidecar"
echo "OK: lodestore serves"
