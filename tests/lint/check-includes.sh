#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-includes.sh [ROOT] - includes point one way (design: the floors in CONTRIBUTING.md).
#
# Each row of floors says what a folder may include with quotes. A name without a folder is one that
# rpcgen generated; its place is rpcgen/.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

declare -A floors=(
	[rpcgen]="rpcgen"
	[vfs/base]="vfs/base"
	[vfs/io]="vfs/io vfs/base"
	[vfs]="vfs vfs/io vfs/base"
	[offload]="offload vfs vfs/io vfs/base rpcgen"
	[nfsd]="nfsd vfs vfs/io vfs/base rpcgen"
)

# floor_of FILE - set found to the floor it lies on: its longest folder with a row above, or nothing
# (tests/ may include all).
floor_of()
{
	found=${1%/*}
	[ "$found" != "$1" ] || found=
	while [ -n "$found" ] && [ -z "${floors[$found]:-}" ]; do
		case $found in
		*/*) found=${found%/*} ;;
		*) found= ;;
		esac
	done
}

check_quoted()
{
	local file=$1 line=$2 name=$3 floor=$4 target allowed

	case $name in
	*..*)
		lint_say "$file" "$line" \
			"'$name' climbs out. Name it from the top, as in \"vfs/base/list.h\"."
		return
		;;
	*/*)
		floor_of "$name"
		target=$found
		;;
	*) target=rpcgen ;;
	esac
	[ -n "$floor" ] || return 0
	if [ "$floor" = nfsd ] && [ "$name" = offload/offload_proto.h ]; then
		return
	fi
	for allowed in ${floors[$floor]}; do
		[ "$target" != "$allowed" ] || return 0
	done
	lint_say "$file" "$line" "$floor/ may not include '$name' (allowed: ${floors[$floor]}).\
 Pass in what it needs, or move the code up to the floor that knows both."
}

check_angled()
{
	local file=$1 line=$2 name=$3 floor=$4

	case $name in
	liburing.h | liburing/*)
		[ "$file" = vfs/io/ring.c ] || lint_say "$file" "$line" \
			"only vfs/io/ring.c includes <$name>. Add what you need to vfs/io/ring.h."
		;;
	rpc/* | tirpc/*)
		case $floor in
		vfs | vfs/*) lint_say "$file" "$line" \
			"vfs/ knows nothing of RPC: no <$name>. Translate in nfsd/." ;;
		esac
		;;
	esac
}

while IFS=$'\t' read -r file line kind name; do
	floor_of "$file"
	case $kind in
	'"') check_quoted "$file" "$line" "$name" "$found" ;;
	'<') check_angled "$file" "$line" "$name" "$found" ;;
	esac
done < <(lint_files '*.c' '*.h' |
	xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include' |
	sed -nE 's/^([^:]+):([0-9]+):[^<"]*([<"])([^>"]+)[>"].*/\1\t\2\t\3\t\4/p')

lint_end
