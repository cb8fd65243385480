# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# serve.sh - a file system to serve, a server on it, and an end to both; for ./dev run and steps.
#
# sandbox_enter puts the calling script into namespaces of its own; when the script ends, however it
# ends, the kernel ends its servers and unmounts what it mounted.

# Programs that mount and make file systems are not in every user's PATH.
export PATH=$PATH:/usr/sbin:/sbin

# serve_why WHAT COMMAND... - run it quietly; if it fails, say what failed and why.
serve_why()
{
	local what=$1 output

	shift
	if ! output=$("$@" 2>&1); then
		printf 'dev: %s failed: %s\n' "$what" "$output" >&2
		return 1
	fi
}

# sandbox_enter WORK SCRIPT [ARGUMENT...] - run SCRIPT with mounts, processes and network of its own
# and give its status. WORK is removed afterwards. To be called from outside only: inside,
# SANDBOX_WORK is set. SANDBOX_NET=host leaves it the machine's network.
sandbox_enter()
{
	local work=$1 status=0 network=--net

	shift
	[ "${SANDBOX_NET:-}" != host ] || network=--
	if [ "$(id -u)" -ne 0 ]; then
		echo "dev: mounts and namespaces need root: run it with sudo" >&2
		return 1
	fi
	SANDBOX_WORK=$work unshare --mount --propagation slave --pid --fork --kill-child \
		--mount-proc "$network" "$@" &
	trap 'kill -TERM $! 2> /dev/null || true' INT TERM
	wait $! || status=$?
	trap - INT TERM
	rm -rf "$work"
	return "$status"
}

# sandbox_setup - inside: loopback, and a /run of its own (rpcbind's socket lives there).
sandbox_setup()
{
	ip link set lo up
	mount -t tmpfs run /run
}

# volume_mount KIND DIR [SIZE] - make a file system in an image beside DIR and mount it there.
volume_mount()
{
	local kind=$1 dir=$2 size=${3:-2G} image=$2.img options=loop

	mkdir -p "$dir"
	case $kind in
	tmpfs)
		serve_why "mounting tmpfs on $dir" \
			mount -t tmpfs -o "size=$size,mode=755" volume "$dir"
		return
		;;
	xfs) set -- mkfs.xfs -q -m reflink=1 ;;
	ext4) set -- mkfs.ext4 -q -F ;;
	btrfs)
		# statfs(2) there tells what a transaction committed; the suite waits for 10 s.
		options=loop,commit=3
		set -- mkfs.btrfs -q
		;;
	*)
		echo "serve.sh: no file system '$kind' here: xfs, ext4, btrfs or tmpfs" >&2
		return 2
		;;
	esac
	if [ ! -s "$image" ]; then
		truncate -s "$size" "$image"
		serve_why "$1 $image" "$@" "$image" || {
			rm -f "$image"
			return 1
		}
	fi
	serve_why "mounting $image on $dir" mount -o "$options" "$image" "$dir"
}

# free_port - a TCP port of 127.0.0.1 that nothing uses now.
free_port()
{
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# server_answers WHERE - it takes connections: on a port of 127.0.0.1, or on a socket's path.
server_answers()
{
	case $1 in
	/*)
		python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2> /dev/null
		;;
	*) (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null ;;
	esac
}

# server_wait PID WHERE SECONDS - until it takes connections; fails if it ended or did not in time.
server_wait()
{
	local pid=$1 where=$2 tries=$(($3 * 50))

	while [ "$tries" -gt 0 ]; do
		! server_answers "$where" || return 0
		kill -0 "$pid" 2> /dev/null || return 1
		sleep 0.02
		tries=$((tries - 1))
	done
	return 1
}

# servers_start BIN FOLDER PORT EXPORT [OPTION...] - the sidecar and lodestore-nfsd, this one with
# OPTIONs, from BIN; settings, state and the socket between them are in FOLDER. Sets $sidecar and
# $server, their process ids, as soon as there are any, and fails if one does not come up.
servers_start()
{
	local bin=$1 folder=$2 port=$3 socket=$2/offload.sock
	local common=(--foreground --config "$folder/lodestore.conf" --state-dir "$folder/state"
		--export "$4")

	shift 4
	mkdir -p "$folder/state"
	printf '[offload]\nsocket = %s\n' "$socket" > "$folder/lodestore.conf"
	"$bin/lodestore-offloadd" "${common[@]}" &
	sidecar=$!
	server_wait "$sidecar" "$socket" 10 || return 1
	"$bin/lodestore-nfsd" "${common[@]}" --port "$port" "$@" &
	server=$!
	server_wait "$server" "$port" 10
}

# server_stop PID - politely; after 10 s not so. Gives the server's exit status.
server_stop()
{
	local pid=$1 tries=100 status=0

	kill -TERM "$pid" 2> /dev/null || true
	while kill -0 "$pid" 2> /dev/null && [ "$tries" -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	if [ "$tries" -eq 0 ]; then
		echo "the server did not end within 10 s of SIGTERM; killed" >&2
		kill -KILL "$pid" 2> /dev/null || true
	fi
	wait "$pid" || status=$?
	return "$status"
}
