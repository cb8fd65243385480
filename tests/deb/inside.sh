#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# inside.sh DEBS BASE - for install.sh, in its sandbox: the packages in the folder DEBS installed in
# an overlay of the clean Debian BASE by the README's own commands, used, upgraded under a client
# that works, removed and purged; then beside other NFS servers.
#
# No systemd runs in there: the servers are started by hand, with the users, the capabilities and
# the view of /proc that their units give them; systemctl writes down what it was asked, and carries
# out a reload.

set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/serve.sh
. tests/support/serve.sh
# shellcheck source=tests/deb/beside.sh
. tests/deb/beside.sh

say() { printf -- '-- %s\n' "$1"; }

die()
{
	printf 'FAILED: %s\n' "$1"
	[ ! -s "$SANDBOX_WORK/apt.log" ] || tail -n 20 "$SANDBOX_WORK/apt.log"
	exit 1
}

debs=$1 base=$2 root=$SANDBOX_WORK/root
units=(lodestore-nfsd lodestore-offloadd)
packages=(lodestore lodestore-client)
address=192.0.2.10 # of the README, in a network of its own
enter=(chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
	DEBIAN_FRONTEND=noninteractive)

inside() { "${enter[@]}" "$@"; }

quietly() { inside "$@" > "$SANDBOX_WORK/apt.log" 2>&1 || die "$* fails"; }

# ---- the clean Debian ----

root_make()
{
	mkdir -p "$SANDBOX_WORK/layer" "$root"
	mount -t tmpfs -o size=2g layer "$SANDBOX_WORK/layer"
	mkdir "$SANDBOX_WORK/layer/upper" "$SANDBOX_WORK/layer/work"
	mount -t overlay -o "lowerdir=$base,upperdir=$SANDBOX_WORK/layer/upper,\
workdir=$SANDBOX_WORK/layer/work" overlay "$root"
	mount -t proc proc "$root/proc"
	mount -t tmpfs run "$root/run"
	mkdir -p "$root/dev/shm"
	mount -t tmpfs shm "$root/dev/shm"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2> /dev/null || true
	cat > "$root/etc/apt/apt.conf.d/91lodestore-test" << 'END'
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
APT::AutoRemove::RecommendsImportant "false";
APT::AutoRemove::SuggestsImportant "false";
DPkg::Path "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
END
	cat > "$root/usr/local/bin/systemctl" << 'END'
#!/bin/sh
echo "$*" >> /run/systemctl.log
case $* in
"reload lodestore-nfsd") kill -HUP $(cat /run/nfsd.pid) $(cat /run/offloadd.pid) ;;
*is-active*) exit 3 ;;
*preset* | *enable* | *disable* | *mask*) exec /usr/bin/systemctl "$@" ;; # links in /etc only
esac
END
	printf '#!/bin/sh\nexec "$@"\n' > "$root/usr/local/bin/sudo"
	chmod +x "$root"/usr/local/bin/*
}

# What the packages need, while there is a network; in one run with what is used beside them.
dependencies_fetch()
{
	mkdir "$root/build"
	cp "$debs"/*.deb "$root/build/"
	quietly apt-get update -qq
	quietly sh -c 'apt-get install -y -qq --download-only \
		libnfs-utils /build/*.deb'
}

files_of_root() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./run \
	-o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
	-o -path ./build -o -path ./dev \) -prune -o -print | sort); }

# deb_changed NEW-VERSION DEB FOLDER - the same package in another version.
deb_changed()
{
	local tree=$SANDBOX_WORK/tree

	rm -rf "$tree"
	dpkg-deb -R "$2" "$tree"
	sed -i -E "s/^(Version: |Depends: lodestore-client \(= )[^),]*/\1$1/" "$tree/DEBIAN/control"
	dpkg-deb -Zgzip -z1 -b "$tree" "$3/" > /dev/null
}

# ---- the README's commands ----

# readme_commands - what it says to type, from the packages to a mounted datastore.
readme_commands() { sed -n '/^## Install it/,/^## /{s/^    //p}' README.md; }

# readme_run PATTERN - the one line of them that matches, as it stands there.
readme_run()
{
	local line

	line=$(readme_commands | grep -E "$1") || die "the README's commands have no '$1' any more"
	[ "$(wc -l <<< "$line")" -eq 1 ] || die "the README has '$1' more than once"
	echo "\$ $line"
	inside bash -c "cd / && $line" > "$SANDBOX_WORK/apt.log" 2>&1 || die "that fails"
}

# ---- checks ----

# unit_value UNIT KEY - what the installed unit says.
unit_value() { sed -nE "s/^$2=//p" "$root/lib/systemd/system/$1.service"; }

is_enabled() { [ -h "$root/etc/systemd/system/multi-user.target.wants/$1.service" ]; }

check_installed()
{
	local path unit

	say "installed: files, user, units"
	for path in /etc/lodestore/lodestore.conf /etc/lodestore/exports \
		/etc/apparmor.d/usr.sbin.lodestore-nfsd /usr/share/man/man1/lodestore.1.gz \
		/usr/share/man/man5/lodestore.conf.5.gz /usr/share/lodestore/lodestore-esx.py \
		/usr/share/bash-completion/completions/lodestore \
		/usr/share/zsh/vendor-completions/_lodestore; do
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
	[ "$(inside stat -c '%U %a' /var/lib/lodestore)" = "lodestore 700" ] ||
		die "the state directory is not the server's alone"
	inside lodestore check-config || die "the default configuration is refused"
}

# unit_start UNIT - its own command line, as its user with its capabilities; sets $started.
unit_start()
{
	local unit=$1 capabilities command user

	user=$(unit_value "$unit" User)
	capabilities=$(unit_value "$unit" AmbientCapabilities | tr '[:upper:]' '[:lower:]' |
		sed -E 's/cap_/+/g; s/ /,/g')
	command=$(unit_value "$unit" ExecStart)
	# Not by inside(): $! must be the server itself, which each of these becomes.
	# shellcheck disable=SC2086 # a command line of words without blanks
	"${enter[@]}" setpriv --reuid "$user" --regid lodestore --init-groups --no-new-privs \
		--inh-caps="-all,$capabilities" --ambient-caps="$capabilities" \
		--bounding-set="-all,$capabilities" ${command/\$LODESTORE_NFSD_OPTIONS/} \
		>> "$SANDBOX_WORK/$unit.log" 2>&1 &
	started=$!
	echo "$started" > "$root/run/${unit#lodestore-}.pid"
}

servers_start_as_units()
{
	unit_start lodestore-offloadd
	sidecar=$started
	unit_start lodestore-nfsd
	server=$started
	if ! server_wait "$server" 2049 20 ||
		! server_wait "$sidecar" "$root/run/lodestore/offload.sock" 20; then
		cat "$SANDBOX_WORK"/lodestore-*.log
		die "what was installed does not start"
	fi
}

servers_stop()
{
	local pid

	for pid in "$server" "$sidecar"; do
		server_stop "$pid" || die "a server ended with status $? after SIGTERM"
	done
}

# wait_for_line FILE TEXT
wait_for_line()
{
	for _ in $(seq 600); do
		! grep -qF "$2" "$1" 2> /dev/null || return 0
		sleep 0.1
	done
	cat "$1"
	die "'$2' does not come"
}

# From a fresh machine to a datastore that works: at most five commands, those of the README.
check_readme()
{
	local count

	say "the README's commands"
	count=$(readme_commands | grep -cE .)
	[ "$count" -le 5 ] || die "the README needs $count commands"
	readme_run '^sudo apt install'
	check_installed
	say "started as the units say"
	mount -t proc -o subset=pid,hidepid=invisible proc "$root/proc"
	servers_start_as_units
	# The file system is a disk of its own, or nothing could be cloned.
	volume_mount xfs "$root/srv/lab" 1G
	readme_run '^sudo mkdir'
	readme_run '^echo .*exports'
	readme_run '^sudo systemctl reload'
	wait_for_line "$SANDBOX_WORK/lodestore-nfsd.log" "serving 1 export"
	readme_commands | grep -q "^esxcli storage nfs add --host=$address --share=/srv/lab " ||
		die "the README does not say how ESXi mounts it"
	python3 -B tests/clients/wire_check.py --host "$address" --port 2049 --export /srv/lab \
		--offload || {
		cat "$SANDBOX_WORK"/lodestore-*.log
		die "what was installed does not serve"
	}
}

# what_stays - of the configuration and the state.
what_stays() { inside sh -c 'cat /etc/lodestore/* /var/lib/lodestore/handle.key | sha256sum'; }

check_upgrade()
{
	local client before client_in

	say "upgraded under a client that works"
	mkdir "$root/build/next"
	deb_changed 0.1.0-99 "$debs"/lodestore_*.deb "$root/build/next"
	deb_changed 0.1.0-99 "$debs"/lodestore-client_*.deb "$root/build/next"
	echo '# a change of the administrator' >> "$root/etc/lodestore/lodestore.conf"
	before=$(what_stays)
	mkfifo "$SANDBOX_WORK/client.in"
	python3 -B tests/deb/upgrade_client.py "$address" /srv/lab < "$SANDBOX_WORK/client.in" \
		> "$SANDBOX_WORK/client.log" 2>&1 &
	client=$!
	exec {client_in}> "$SANDBOX_WORK/client.in"
	wait_for_line "$SANDBOX_WORK/client.log" working
	mkdir -p "$root/run/systemd/system"
	: > "$root/run/systemctl.log"
	quietly sh -c 'apt-get install -y -qq /build/next/*.deb'
	rmdir "$root/run/systemd/system"
	grep -q '^try-restart lodestore-nfsd.service lodestore-offloadd.service$' \
		"$root/run/systemctl.log" || {
		cat "$root/run/systemctl.log"
		die "the upgrade does not restart the units"
	}
	! grep -qE '^(stop|start) ' "$root/run/systemctl.log" ||
		die "the upgrade stops the units meanwhile, or starts them if they were stopped"
	servers_stop
	servers_start_as_units
	echo end >&"$client_in"
	exec {client_in}>&-
	wait "$client" || {
		cat "$SANDBOX_WORK/client.log"
		die "the client does not go on after the upgrade"
	}
	tail -n 1 "$SANDBOX_WORK/client.log"
	[ "$(what_stays)" = "$before" ] || die "the upgrade changes the key or the configuration"
	is_enabled lodestore-nfsd || die "the upgrade disables the server"
}

check_removed()
{
	local unit before

	say "removed: configuration and state stay"
	quietly apt-get remove -y -qq "${packages[@]}"
	for unit in "${units[@]}"; do
		[ ! -e "$root/usr/sbin/$unit" ] || die "remove leaves $unit"
	done
	[ -e "$root/etc/lodestore/exports" ] || die "remove takes the configuration"
	[ -e "$root/var/lib/lodestore/handle.key" ] || die "remove takes the key"

	say "installed again: started, with what it had"
	before=$(what_stays)
	mkdir -p "$root/run/systemd/system"
	: > "$root/run/systemctl.log"
	quietly sh -c 'apt-get install -y -qq /build/next/*.deb'
	rmdir "$root/run/systemd/system"
	grep -qE '(^| )(re)?start lodestore-nfsd.service$' "$root/run/systemctl.log" || {
		cat "$root/run/systemctl.log"
		die "installing it again does not start it"
	}
	! grep -q 'nothing is exported yet' "$SANDBOX_WORK/apt.log" ||
		die "it says that nothing is exported, and something is"
	[ "$(what_stays)" = "$before" ] || die "installing it again changes the key or the exports"
	is_enabled lodestore-nfsd || die "installing it again disables it"

	say "purged: nothing stays"
	quietly apt-get purge -y -qq "${packages[@]}"
	quietly apt-get autoremove -y -qq --purge
	files_of_root > "$SANDBOX_WORK/after"
	diff "$SANDBOX_WORK/before" "$SANDBOX_WORK/after" | grep '^[<>]' |
		grep -vE '^. \./etc/(passwd|shadow|group|gshadow|ld.so.cache|\.pwd\.lock)-?$' \
			> "$SANDBOX_WORK/left" || true
	[ ! -s "$SANDBOX_WORK/left" ] || {
		cat "$SANDBOX_WORK/left"
		die "purge leaves these behind"
	}
}

# Version 0.1.0-1 was one package: files move from it to lodestore-client.
check_from_one_package()
{
	local tree=$SANDBOX_WORK/one

	say "upgraded from the single package of before"
	dpkg-deb -R "$debs"/lodestore_*.deb "$tree"
	dpkg-deb -x "$debs"/lodestore-client_*.deb "$tree"
	sed -i -E 's/^Version: .*/Version: 0.1.0-1/; s/^(Depends: )lodestore-client [^,]*, /\1/' \
		"$tree/DEBIAN/control"
	dpkg-deb -Zgzip -z1 -b "$tree" "$root/build/one.deb" > /dev/null
	quietly apt-get install -y -qq /build/one.deb
	inside lodestore help > /dev/null || die "the single package has no command"
	echo '# a change of the administrator' >> "$root/etc/lodestore/exports"
	readme_run '^sudo apt install'
	grep -q administrator "$root/etc/lodestore/exports" || die "the exports were replaced"
	[[ $(inside dpkg -S /usr/bin/lodestore) == lodestore-client:* ]] ||
		die "the command is not lodestore-client's"
	quietly apt-get purge -y -qq "${packages[@]}"
}

# debian/tests, as autopkgtest runs it.
check_autopkgtest()
{
	say "autopkgtest"
	quietly apt-get install -y -qq libnfs-utils
	cp packaging/debian/tests/smoke "$root/build/"
	inside /build/smoke || die "the packages' own test fails"
	quietly apt-get purge -y -qq --autoremove libnfs-utils
}

if [ "${3:-}" != offline ]; then
	root_make
	dependencies_fetch
	files_of_root > "$SANDBOX_WORK/before"
	exec unshare --net "$0" "$@" offline
fi
ip link set lo up
ip address add "$address/24" dev lo
check_readme
check_upgrade
servers_stop
check_autopkgtest
umount "$root/proc" "$root/srv/lab"
rm -r "$root/srv/lab" "$root/srv/lab.img"
check_removed
check_from_one_package
check_beside_another
