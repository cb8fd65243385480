#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run-serve.sh NFSD FOLDER PORT [DIR] - ./dev run: serve DIR, or an image in FOLDER, until Ctrl-C.
#
# FOLDER keeps the image and the server's state (the key of its file handles), so a client that
# still has the export mounted goes on after a restart.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. "$(dirname "$0")/serve.sh"

nfsd=$1 folder=$2 port=$3 dir=${4:-}
server='' mounted=''

clean_up()
{
	trap '' INT TERM
	[ -z "$server" ] || server_stop "$server" || true
	[ -z "$mounted" ] || umount "$mounted" || umount -l "$mounted"
}

stop()
{
	echo
	echo "Stopping."
	exit 0
}

# addresses - this machine's, IPv4 first; loopback's if there is no other.
addresses()
{
	local found

	found=$({ ip -o -4 addr show scope global; ip -o -6 addr show scope global; } 2> /dev/null |
		awk '{ sub("/.*", "", $4); print $4 }')
	printf '%s\n' "${found:-127.0.0.1}"
}

mount_image()
{
	dir=$folder/export
	if mountpoint -q "$dir"; then
		umount "$dir" || {
			echo "dev: $dir is mounted and in use. Is another ./dev run there?" >&2
			exit 1
		}
	fi
	if volume_mount xfs "$dir"; then
		mounted=$dir
		return
	fi
	echo "dev: no image can be mounted here (a container?): serving $dir as it is" >&2
	mkdir -p "$dir"
}

print_esxi_lines()
{
	local address=$1

	if [ "$port" -ne 2049 ]; then
		echo "ESXi asks for port 2049 and no other: for ESXi, run without --port."
		return
	fi
	cat << END
From ESXi, on its command line:

    esxcli storage nfs add --host=$address --share=$dir --volume-name=lodestore

From ESXi, in the host client: Storage > Datastores > New datastore > Mount NFS datastore;
name lodestore, NFS server $address, NFS share $dir, NFS version "NFS 3".
END
}

print_lines()
{
	local address options="vers=3,nolock"

	[ "$port" -eq 2049 ] || options+=",port=$port,mountport=$port"
	address=$(addresses | head -n 1)
	cat << END

Serving $dir on port $port of:
$(addresses | sed 's/^/    /')

Anyone who reaches this port may read and write it: keep it to a network you trust.

$(print_esxi_lines "$address")

From Linux:

    mount -t nfs -o $options $address:$dir /mnt

END
	[ -z "$mounted" ] || echo "The image is $folder/export.img and is kept for the next run."
	echo "Ctrl-C stops the server."
}

mkdir -p "$folder/state"
[ -n "$dir" ] || mount_image
trap clean_up EXIT
trap stop INT TERM

if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
	echo "dev: something serves port $port already (ss -tlnp 'sport = :$port' tells what)." >&2
	echo "Stop it, or try another port: ./dev run --port $((port + 10000))" >&2
	exit 1
fi

# A process group of its own: Ctrl-C reaches only this script, which then stops the server.
set -m
"$nfsd" --foreground --port "$port" --state-dir "$folder/state" \
	--export "\"$dir\" *(rw,no_root_squash,insecure)" &
server=$!
set +m
if ! server_wait "$server" "$port" 10; then
	echo "dev: the server did not start; the reason is above" >&2
	exit 1
fi
print_lines
wait "$server" || {
	status=$?
	server=
	echo "dev: the server ended with status $status" >&2
	exit 1
}
