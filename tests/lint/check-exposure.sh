#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-exposure.sh [ROOT] - the units leave little within reach, as systemd-analyze measures it,
# and all system calls that the programs' own lists have, with those that set these lists: what a
# unit forbids fails under systemd only, where no test of ours runs.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check UNIT TENTHS - no more than these.
check()
{
	local unit=packaging/systemd/$1.service.in

	[ -f "$unit" ] || return 0
	sed 's#@sbindir@#/usr/sbin#' "$unit" > "$work/$1.service"
	systemd-analyze security --offline=true --threshold="$2" "$work/$1.service" \
		> "$work/said" 2>&1 || lint_say "$unit" 1 \
		"$(tail -n 1 "$work/said"); $2 tenths are the most. See systemd-analyze security."
}

# filter_calls WORD... - the calls of a unit's SystemCallFilter, its sets expanded.
filter_calls()
{
	local word set

	for word in "$@"; do
		if [[ $word == @* ]]; then
			mapfile -t set < <(systemd-analyze syscall-filter "$word" |
				sed -nE 's/^    ([@a-z].*)/\1/p')
			filter_calls "${set[@]}"
		else
			echo "$word"
		fi
	done
}

# allows UNIT FILE - the unit allows what the program's list in FILE does.
allows()
{
	local unit=packaging/systemd/$1.service.in list=vfs/base/confine_common.c call words

	[ -f "$unit" ] && [ -f "$2" ] && [ -f "$list" ] || return 0
	read -ra words < <(sed -n 's/^SystemCallFilter=//p' "$unit")
	filter_calls "${words[@]}" | sort -u > "$work/allowed"
	{
		# What only builds with sanitizers make no unit sees.
		sed -nE '/^#ifdef LODESTORE_SANITIZED/,/^#endif/d
			s/^\t\{ "([a-z_0-9]+)".*/\1/p' "$list" "$2"
		printf '%s\n' seccomp prctl capset io_uring_setup io_uring_register
	} | sort -u > "$work/made"
	while read -r call; do
		lint_say "$unit" 1 "SystemCallFilter= forbids $call, which the program makes ($2)."
	done < <(comm -13 "$work/allowed" "$work/made")
}

check lodestore-nfsd 25
allows lodestore-nfsd nfsd/confined.c
allows lodestore-offloadd offload/confined.c
check lodestore-offloadd 16
lint_end
