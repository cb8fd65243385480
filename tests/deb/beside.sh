# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# beside.sh - a part of inside.sh: the packages where another NFS server is, and what is answered
# when they ask for a port.
#
# shellcheck disable=SC2154 # root and packages are of inside.sh

# says TEXT COMMAND... - it works and says that.
says()
{
	local text=$1

	shift
	quietly "$@"
	grep -qF "$text" "$SANDBOX_WORK/apt.log" || die "$* does not say: $text"
}

# reconfigure PORT TEXT - the question answered anew, and what that says.
reconfigure()
{
	echo "lodestore lodestore/port string $1" | inside debconf-set-selections
	says "$2" dpkg-reconfigure lodestore
}

# Where another NFS server is at work, ours leaves it alone.
check_beside_another()
{
	local wants=$root/etc/systemd/system/multi-user.target.wants listener
	local drop_in=$root/etc/systemd/system/lodestore-nfsd.service.d/port.conf
	local refused='nfs-server.service is enabled, so lodestore-nfsd is not started'

	say "beside another NFS server that is enabled: neither enabled nor started"
	mkdir -p "$wants"
	ln -s ../../../../lib/systemd/system/nfs-server.service "$wants/"
	says "$refused" sh -c 'apt-get install -y -qq /build/lodestore*.deb'
	! is_enabled lodestore-nfsd || die "the server was enabled beside another NFS server"
	reconfigure 65536 "$refused" # is no port
	reconfigure 2049 "$refused"  # is the other's
	! is_enabled lodestore-nfsd || die "the server was enabled beside another NFS server"
	rm "$wants/nfs-server.service"

	say "beside a program that has the port, with another one as the answer"
	python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 2049))
print("listening", flush=True)
time.sleep(3600)' > "$SANDBOX_WORK/listener.log" &
	listener=$!
	wait_for_line "$SANDBOX_WORK/listener.log" listening
	reconfigure 20049 'a program has port 2049, so lodestore-nfsd answers on port 20049'
	is_enabled lodestore-nfsd || die "with a port of its own the server was not enabled"
	grep -qx 'Environment="LODESTORE_NFSD_OPTIONS=--port 20049"' "$drop_in" ||
		die "the port is not in the unit's drop-in"
	inside systemd-analyze verify --man=no lodestore-nfsd.service ||
		die "systemd-analyze finds fault with the drop-in"
	reconfigure '' 'a program has port 2049, so lodestore-nfsd is not started'
	! is_enabled lodestore-nfsd || die "without a port the server stays enabled"
	[ ! -e "$drop_in" ] || die "without a port the drop-in stays"
	reconfigure 20049 'a program has port 2049, so lodestore-nfsd answers on port 20049'
	is_enabled lodestore-nfsd || die "with a port again the server was not enabled"

	say "the program gone: the usual port again"
	kill "$listener"
	wait "$listener" || true
	quietly dpkg-reconfigure lodestore
	[ ! -e "$drop_in" ] || die "the port stays when nobody else has 2049"
	is_enabled lodestore-nfsd || die "with the usual port the server is not enabled"
	quietly apt-get purge -y -qq "${packages[@]}"
	[ ! -e "$drop_in" ] || die "purge leaves the drop-in"
}
