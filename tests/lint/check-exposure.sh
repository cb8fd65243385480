#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-exposure.sh [ROOT] - the units leave little within reach, as systemd-analyze measures it.

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

check lodestore-nfsd 25
check lodestore-offloadd 15
lint_end
