#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [DEB] - build the package (or take DEB), install it in a clean Debian, use it, purge.
#
# The clean Debian is made by debootstrap from this machine's own mirror, once, into
# /var/cache/lodestore-test/; a test works on an overlay of it, so the cache stays clean and this
# machine's own installation is never touched. No systemd runs in there: the servers are started by
# hand, with the users, the capabilities and the view of /proc that their units give them.

set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/serve.sh
. tests/support/serve.sh

say() { printf '== %s\n' "$1"; }

die()
{
	printf 'FAILED: %s\n' "$1"
	exit 1
}

host_release() { sed -nE 's/^VERSION_CODENAME=//p' /etc/os-release; }

# The first mirror of this machine's apt.
host_mirror()
{
	{
		sed -nE 's/^URIs: *([^ ]+).*/\1/p' /etc/apt/sources.list.d/*.sources
		sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' /etc/apt/sources.list \
			/etc/apt/sources.list.d/*.list
	} 2> /dev/null | head -n 1
}

# base_make FOLDER - systemd is in it for systemd-analyze; it is not started.
base_make()
{
	local base=$1

	say "making a clean Debian $(host_release) in $base (once)"
	rm -rf "$base" "$base.part"
	mkdir -p "${base%/*}"
	debootstrap --variant=minbase --include=ca-certificates,systemd "$(host_release)" \
		"$base.part" "$(host_mirror)" > "$base.log" 2>&1 || {
		tail -n 5 "$base.log"
		die "debootstrap failed; the whole log is $base.log"
	}
	rm -f "$base.part/etc/apt/sources.list"
	cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d "$base.part/etc/apt/"
	echo 'Dpkg::Use-Pty "0";' > "$base.part/etc/apt/apt.conf.d/90lodestore-test"
	mv "$base.part" "$base"
}

inside() { "${enter[@]}" "$@"; }

files_of_root() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./run \
	-o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
	-o -path ./dev \) -prune -o -print | sort); }

units=(lodestore-nfsd lodestore-offloadd)

install_package()
{
	inside apt-get install -y -qq --no-install-recommends "/tmp/${deb##*/}" \
		> "$SANDBOX_WORK/apt.log" 2>&1 || {
		tail -n 20 "$SANDBOX_WORK/apt.log"
		die "the package does not install"
	}
}

# unit_value UNIT KEY - what the installed unit says.
unit_value() { sed -nE "s/^$2=//p" "$root/lib/systemd/system/$1.service"; }

is_enabled() { [ -h "$root/etc/systemd/system/multi-user.target.wants/$1.service" ]; }

check_installed()
{
	local path unit

	say "installed: files, user, units"
	for path in /etc/lodestore/lodestore.conf /etc/lodestore/exports \
		/usr/share/man/man5/lodestore.conf.5.gz /usr/share/man/man1/lodestore.1.gz \
		/usr/share/bash-completion/completions/lodestore; do
		[ -e "$root$path" ] || die "$path is not there"
	done
	for unit in "${units[@]}"; do
		for path in "/usr/sbin/$unit" "/usr/share/man/man8/$unit.8.gz" \
			"/lib/systemd/system/$unit.service"; do
			[ -e "$root$path" ] || die "$path is not there"
		done
		inside systemd-analyze verify --man=no "/lib/systemd/system/$unit.service" ||
			die "systemd-analyze finds fault with the unit of $unit"
		inside "$unit" --version
	done
	is_enabled lodestore-nfsd || die "the server was not enabled by installing it"
	[[ " $(unit_value lodestore-nfsd Wants) " == *" lodestore-offloadd.service "* ]] ||
		die "the server does not start the sidecar"
	grep -q 'lodestore: nothing is exported yet' "$SANDBOX_WORK/apt.log" ||
		die "installing does not say what to do next"
	inside getent passwd lodestore > /dev/null || die "there is no user lodestore"
	inside lodestore check-config || die "the default configuration is refused"
}

# unit_start UNIT - its own command line, as its user with its capabilities; sets $started.
unit_start()
{
	local unit=$1 capabilities command

	capabilities=$(unit_value "$unit" AmbientCapabilities | tr '[:upper:]' '[:lower:]' |
		sed -E 's/cap_/+/g; s/ /,/g')
	command=$(unit_value "$unit" ExecStart)
	# Not by inside(): $! must be the server itself, which each of these becomes.
	# shellcheck disable=SC2086 # a command line of words without blanks
	"${enter[@]}" setpriv --reuid lodestore --regid lodestore --init-groups --no-new-privs \
		--inh-caps="-all,$capabilities" --ambient-caps="$capabilities" \
		--bounding-set="-all,$capabilities" $command > "$SANDBOX_WORK/$unit.log" 2>&1 &
	started=$!
}

# In a network of its own.
check_serves()
{
	local server sidecar pid

	say "started as the units say"
	volume_mount xfs "$root/srv/lab" 1G
	echo "/srv/lab 127.0.0.0/8(rw,no_root_squash,insecure)" > "$root/etc/lodestore/exports"
	inside install -d -o lodestore -m 0700 /var/lib/lodestore
	inside install -d -o lodestore -m 0750 /run/lodestore
	mount -t proc -o subset=pid,hidepid=invisible proc "$root/proc"
	unit_start lodestore-offloadd
	sidecar=$started
	unit_start lodestore-nfsd
	server=$started
	if ! server_wait "$server" 2049 10 ||
		! server_wait "$sidecar" "$root/run/lodestore/offload.sock" 10; then
		cat "$SANDBOX_WORK"/lodestore-*.log
		die "what was installed does not start"
	fi
	python3 -B tests/clients/wire_check.py --port 2049 --export /srv/lab --offload || {
		cat "$SANDBOX_WORK"/lodestore-*.log
		die "what was installed does not serve"
	}
	for pid in "$server" "$sidecar"; do
		server_stop "$pid" || die "a server ended with status $? after SIGTERM"
	done
	umount "$root/proc" "$root/srv/lab"
	rm -r "$root/srv/lab" "$root/srv/lab.img"
}

check_removed()
{
	local unit

	say "removed: configuration and state stay"
	inside apt-get remove -y -qq lodestore > /dev/null
	for unit in "${units[@]}"; do
		[ ! -e "$root/usr/sbin/$unit" ] || die "remove leaves $unit"
	done
	[ -e "$root/etc/lodestore/exports" ] || die "remove takes the configuration"
	[ -d "$root/var/lib/lodestore" ] || die "remove takes the state"

	say "purged: nothing stays"
	inside apt-get purge -y -qq lodestore > /dev/null
	inside apt-get autoremove -y -qq --purge > /dev/null
	files_of_root > "$SANDBOX_WORK/after"
	diff "$SANDBOX_WORK/before" "$SANDBOX_WORK/after" | grep '^[<>]' |
		grep -vE '^. \./etc/(passwd|shadow|group|gshadow|ld.so.cache)-?$' \
			> "$SANDBOX_WORK/left" || true
	[ ! -s "$SANDBOX_WORK/left" ] || {
		cat "$SANDBOX_WORK/left"
		die "purge leaves these behind"
	}
}

# Where another NFS server is at work, ours leaves it alone.
check_beside_another()
{
	local unit=$root/lib/systemd/system/nfs-server.service
	local wants=$root/etc/systemd/system/multi-user.target.wants

	say "installed beside another NFS server: neither enabled nor started"
	mkdir -p "$wants"
	touch "$unit"
	ln -s ../../../../lib/systemd/system/nfs-server.service "$wants/"
	install_package
	! is_enabled lodestore-nfsd || die "the server was enabled beside another NFS server"
	grep -q 'nfs-server.service is enabled, so lodestore-nfsd is not' "$SANDBOX_WORK/apt.log" ||
		die "installing does not say why the server is not started"
	rm "$wants/nfs-server.service" "$unit"
	inside apt-get purge -y -qq lodestore > /dev/null
}

# Outside: build, make the base, go in.
if [ -z "${SANDBOX_WORK:-}" ]; then
	[ "$(id -u)" -eq 0 ] || die "chroot and mounts need root: run it with sudo"
	work=$(mktemp -d /var/tmp/lodestore-deb.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	if [ $# -eq 0 ]; then
		say "building"
		DEB_BUILD_OPTIONS=nocheck packaging/build-deb.sh "$work" > "$work/log" 2>&1 || {
			tail -n 40 "$work/log"
			die "the package does not build"
		}
		set -- "$(echo "$work"/lodestore_*.deb)"
	fi
	base=/var/cache/lodestore-test/$(host_release)
	[ -d "$base" ] || base_make "$base"
	SANDBOX_NET=host sandbox_enter "$work" "$0" "$(realpath "$1")" "$base"
	exit
fi

# Inside.
deb=$1 base=$2 root=$SANDBOX_WORK/root
enter=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
	DEBIAN_FRONTEND=noninteractive)
if [ "${3:-}" = serve ]; then
	ip link set lo up
	check_serves
	exit
fi
mkdir -p "$SANDBOX_WORK/layer" "$root"
mount -t tmpfs -o size=2g layer "$SANDBOX_WORK/layer"
mkdir "$SANDBOX_WORK/layer/upper" "$SANDBOX_WORK/layer/work"
mount -t overlay -o "lowerdir=$base,upperdir=$SANDBOX_WORK/layer/upper,\
workdir=$SANDBOX_WORK/layer/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs run "$root/run"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2> /dev/null || true
files_of_root > "$SANDBOX_WORK/before"

say "installing ${deb##*/}"
cp "$deb" "$root/tmp/"
inside apt-get update -qq
install_package
check_installed
unshare --net "$0" "$deb" "$base" serve
check_removed
check_beside_another
echo "OK: installed, served, removed, purged"
