#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [FOLDER] - build the packages (or take those in FOLDER), look at them, and have
# inside.sh install, use, upgrade, remove and purge them in a clean Debian 12 and a clean Debian 13.
#
# The clean Debians are made by debootstrap from this machine's own mirror, once, into
# /var/cache/lodestore-test/; a test works on an overlay of one, so they stay clean and this
# machine's own installation is never touched. Packages built on Debian 12 go on 13 as well: its
# libraries with 64-bit times provide the former names on 64-bit machines.

set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/serve.sh
. tests/support/serve.sh

releases=(bookworm trixie)

say() { printf '== %s\n' "$1"; }

die()
{
	printf 'FAILED: %s\n' "$1"
	exit 1
}

# The first mirror of this machine's apt.
host_mirror()
{
	{
		sed -nE 's/^URIs: *([^ ]+).*/\1/p' /etc/apt/sources.list.d/*.sources
		sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' /etc/apt/sources.list \
			/etc/apt/sources.list.d/*.list
	} 2> /dev/null | head -n 1
}

# base_make RELEASE FOLDER - systemd is in it for systemd-analyze; it is not started.
base_make()
{
	local release=$1 base=$2

	rm -rf "$base" "$base.part"
	mkdir -p "${base%/*}"
	debootstrap --variant=minbase --include=ca-certificates,systemd "$release" "$base.part" \
		"$(host_mirror)" > "$base.log" 2>&1 || {
		tail -n 5 "$base.log"
		die "debootstrap failed; the whole log is $base.log"
	}
	# The mirror's certificates and proxy are this machine's matter.
	cp -a /etc/apt/apt.conf.d "$base.part/etc/apt/"
	echo 'Dpkg::Use-Pty "0";' > "$base.part/etc/apt/apt.conf.d/90lodestore-test"
	mv "$base.part" "$base"
}

packages_build()
{
	say "building"
	DEB_BUILD_OPTIONS=nocheck packaging/build-deb.sh "$work/debs" > "$work/log" 2>&1 || {
		tail -n 40 "$work/log"
		die "the packages do not build, or lintian finds fault"
	}
}

# Debug symbols are of the programs that are packaged: by their build ids.
check_symbols()
{
	local package=$1 program=$2 id

	dpkg-deb -x "$debs/${package}_"*.deb "$work/$package"
	id=$(readelf -n "$work/$package$program" | sed -nE 's/.*Build ID: ([0-9a-f]+)/\1/p')
	dpkg-deb -c "$debs/dbgsym/$package-dbgsym_"*.deb | grep -F "${id:0:2}/${id:2}.debug" \
		> /dev/null ||
		die "$package-dbgsym has no symbols of $program"
}

check_packages()
{
	local profile

	say "looking at the packages"
	check_symbols lodestore /usr/sbin/lodestore-nfsd
	check_symbols lodestore /usr/sbin/lodestore-offloadd
	check_symbols lodestore-client /usr/bin/lodestore
	! dpkg-deb -f "$debs"/lodestore-client_*.deb Depends |
		grep -E '(^|, )lodestore|uring' > /dev/null ||
		die "lodestore-client needs the server or its libraries"
	for profile in "$work"/lodestore/etc/apparmor.d/*; do
		apparmor_parser --skip-kernel-load --skip-cache "$profile" 2> "$work/log" || {
			cat "$work/log"
			die "AppArmor does not understand $profile"
		}
	done
}

# completions SHELL WORD... - what that shell offers after `lodestore WORD...`, a line each.
completions()
{
	local shell=$1 share=$work/lodestore-client/usr/share

	shift
	case $shell in
	bash)
		# shellcheck disable=SC2016
		bash -c '. "$0"; COMP_WORDS=(lodestore "$@") COMP_CWORD=$#; _lodestore
			printf "%s\n" "${COMPREPLY[@]}"' \
			"$share/bash-completion/completions/lodestore" "$@"
		;;
	zsh)
		# shellcheck disable=SC2016
		zsh -f -c 'compadd() { print -l -- ${(P)2} }; _files() { print files }
			words=(lodestore "$@") CURRENT=$#words; f=$0; set --; . $f' \
			"$share/zsh/vendor-completions/_lodestore" "$@"
		;;
	esac
}

check_completion()
{
	local shell offered

	say "completion"
	for shell in bash zsh; do
		offered=$(PATH=$work/lodestore-client/usr/bin:$PATH completions "$shell" '')
		[[ $offered == *clone* && $offered == *status* ]] ||
			die "$shell does not know the commands: $offered"
		offered=$(PATH=$work/lodestore-client/usr/bin:$PATH completions "$shell" clone --)
		[[ $offered == *--verify* && $offered != *--yes* ]] ||
			die "$shell does not know the options of clone: $offered"
		offered=$(PATH=$work/lodestore-client/usr/bin:$PATH completions "$shell" help '')
		[[ $offered == *punch* ]] || die "$shell offers no commands for help: $offered"
	done
}

[ "$(id -u)" -eq 0 ] || die "chroot and mounts need root: run it with sudo"
work=$(mktemp -d /var/tmp/lodestore-deb.XXXXXX)
trap 'wait; rm -rf "$work"' EXIT # what makes a clean Debian is not left alone
debs=$work/debs
mkdir "$debs"
making=()
for release in "${releases[@]}"; do
	base=/var/cache/lodestore-test/$release
	[ ! -d "$base" ] || continue
	say "making a clean Debian $release in $base (once)"
	base_make "$release" "$base" &
	making+=($!)
done
if [ $# -eq 0 ]; then
	packages_build
else
	cp -a "$1/." "$debs/"
fi
check_packages
check_completion
for pid in "${making[@]}"; do
	wait "$pid"
done
for release in "${releases[@]}"; do
	say "Debian $release"
	SANDBOX_NET=host sandbox_enter "$(mktemp -d "$work/$release.XXXXXX")" tests/deb/inside.sh \
		"$debs" "/var/cache/lodestore-test/$release"
done
say "Debian ${releases[0]} under systemd"
base=/var/cache/lodestore-test/${releases[0]}
SANDBOX_NET=host sandbox_enter "$(mktemp -d "$work/systemd.XXXXXX")" tests/deb/systemd.sh \
	"$debs" "$base"
echo "OK: built, installed, served, upgraded, removed, purged"
