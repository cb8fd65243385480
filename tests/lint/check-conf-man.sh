#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-conf-man.sh [ROOT] - the table of configuration keys in nfsd/config.c, lodestore.conf(5) and
# the packaged lodestore.conf name the same keys, each under its section.
#
# A row of the table begins { "SECTION", "KEY", CONF_...; in the page a section is a .SH "[SECTION]"
# and a key a .B KEY below it; in the packaged file they stand as "#KEY = DEFAULT" below [SECTION].

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

table=nfsd/config.c page=packaging/man/lodestore.conf.5 packaged=packaging/default/lodestore.conf
[ -f "$table" ] || lint_end

keys_of_table() { sed -nE 's/^[[:space:]]*\{ "([a-z]+)", "([a-z_-]+)",.*/\1 \2/p' "$table" | sort; }

# shellcheck disable=SC2317 # called by name, in compare
keys_of_page()
{
	sed 's/\\-/-/g' "$page" | awk '
		/^\.SH/ { section = "" }
		/^\.SH "?\[/ { gsub(/[^a-z]/, "", $2); section = $2 }
		section && tag && /^\.B[IR]? / { print section, $2 }
		{ tag = /^\.TP/ }' | sort
}

# shellcheck disable=SC2317
keys_of_packaged()
{
	awk '/^\[/ { gsub(/[^a-z]/, ""); section = $0 }
		/^#[a-z_-]+ = / { print section, substr($1, 2) }' "$packaged" | sort
}

compare()
{
	local file=$1 keys=$2 section key

	while read -r section key; do
		lint_say "$file" 1 "'$key' of [$section] is missing; $table has it. Describe it."
	done < <(comm -23 <(keys_of_table) <("$keys"))
	while read -r section key; do
		lint_say "$file" 1 "'$key' of [$section] is not in $table. Remove it here."
	done < <(comm -13 <(keys_of_table) <("$keys"))
}

compare "$page" keys_of_page
compare "$packaged" keys_of_packaged
[ -n "$(keys_of_table)" ] ||
	lint_say "$table" 1 'no row { "section", "key", ... found. Keep a row a line, as in conf.h.'

lint_end
