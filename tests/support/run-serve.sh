#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run-serve.sh BIN FOLDER PORT [DIR] - ./dev run: serve DIR, or an image in FOLDER, until Ctrl-C.
#
# FOLDER keeps the image and the servers' state (the key of the file handles, jobs), so a client
# that still has the export mounted goes on after a restart.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. "$(dirname "$0")/serve.sh"

bin=$1 folder=$2 port=$3 dir=${4:-}
server='' sidecar='' mounted=''

clean_up()
{
	trap '' INT TERM
	[ -z "$server" ] || server_stop "$server" || true
	[ -z "$sidecar" ] || server_stop "$sidecar" || true
	[ -z "$mounted" ] || umount "$mounted" || umount -l "$mounted"
}

stop()
{
	echo
	echo "Stopping."
	exit 0
}

# addresses - this machine's, IPv4 first; nothing if it has only loopback's.
addresses()
{
	{ ip -o -4 addr show scope global; ip -o -6 addr show scope global; } 2> /dev/null |
		awk '{ sub("/.*", "", $4); print $4 }'
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
	if [ -z "$address" ]; then
		echo "For ESXi, this machine needs an address that the host reaches: it has only \
loopback's."
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
	local found=() address options="vers=3" other_port=''

	mapfile -t found < <(addresses)
	address=${found[0]:-}
	# Locks are not for this machine itself, and are found by the port mapper.
	[ -n "$address" ] && [ "$port" -eq 2049 ] || options+=",nolock"
	[ "$port" -eq 2049 ] || {
		options+=",port=$port,mountport=$port"
		other_port="--port $port "
	}
	cat << END

Serving $dir on port $port of:
$(printf '    %s\n' "${found[@]:-127.0.0.1 (loopback)}")

Anyone who reaches this port may read and write it: keep it to a network you trust.

$(print_esxi_lines "$address")

From Linux:

    mount -t nfs -o $options ${address:-127.0.0.1}:$dir /mnt

To have the server clone a file, from here or from any client:

    $bin/lodestore clone $other_port${address:-127.0.0.1}:$dir/a ${address:-127.0.0.1}:$dir/b

END
	[ -z "$mounted" ] || echo "The image is $folder/export.img and is kept for the next run."
	echo "Ctrl-C stops the server."
}

mkdir -p "$folder"
[ -n "$dir" ] || mount_image
trap clean_up EXIT
trap stop INT TERM

if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
	echo "dev: something serves port $port already (ss -tlnp 'sport = :$port' tells what)." >&2
	echo "Stop it, or try another port: ./dev run --port $((port + 10000))" >&2
	exit 1
fi

# A process group of their own: Ctrl-C reaches only this script, which then stops them.
set -m
servers_start "$bin" "$folder" "$port" "\"$dir\" *(rw,no_root_squash,insecure)" || {
	echo "dev: the server did not start; the reason is above" >&2
	exit 1
}
set +m
print_lines
wait "$server" || {
	status=$?
	server=
	echo "dev: the server ended with status $status" >&2
	exit 1
}
