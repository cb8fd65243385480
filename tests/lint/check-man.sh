#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-man.sh [ROOT] - man pages render without a warning, and tell the options that the programs
# have: each --option of `PROGRAM --help` stands in the OPTIONS part of its page, and each in the
# page in --help. Programs are looked for in $LODESTORE_BIN (default: build/bin).

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

bin=${LODESTORE_BIN:-build/bin}

options() { grep -oE -e '--[a-z][a-z-]+' | sort -u; }

# The text of the OPTIONS part, as a reader sees it.
page_options()
{
	groff -man -Tascii -P-cbou "$1" | awk '/^[A-Z]/ { inside = /^OPTIONS/ } inside' | options
}

compare()
{
	local page=$1 program=$2 help name

	if ! help=$("$program" --help 2>&1); then
		lint_say "$page" 1 "$program --help fails. It must print the options, exit 0."
		return
	fi
	for name in $(comm -23 <(options <<< "$help") <(page_options "$page")); do
		lint_say "$page" 1 "OPTIONS lacks $name, which $program --help lists. Describe it."
	done
	for name in $(comm -13 <(options <<< "$help") <(page_options "$page")); do
		lint_say "$page" 1 "$name is not in $program --help: remove it, or add it there."
	done
}

while IFS= read -r page; do
	while IFS= read -r warning; do
		lint_say "$page" "$(sed -nE 's/^[^:]*:[^:]*:([0-9]+):.*/\1/p' <<< "$warning")" \
			"${warning##*: }. See man(7) and groff_man(7)."
	done < <(groff -man -ww -Tutf8 -z "$page" 2>&1)
	if command -v mandoc > /dev/null; then
		while IFS= read -r warning; do
			lint_say "$page" "$(cut -d: -f3 <<< "$warning")" \
				"mandoc: ${warning#*: }. See mandoc(1), DIAGNOSTICS."
		done < <(mandoc -T lint -W warning "$page" 2>&1)
	fi
	program=$bin/$(basename "${page%.[0-9]}")
	[ ! -x "$program" ] || compare "$page" "$program"
done < <(lint_files '*.[1-8]' | grep '^packaging/man/' || true)

lint_end
