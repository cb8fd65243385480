# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# common.sh - what the lints share. Source it; then lint_begin "$@".
#
# A lint is called as `check-THING.sh [ROOT]`. It prints "FILE:LINE: what is wrong. What to do
# instead." for each finding, and exits 1 if there was one, 77 if its tool is missing. selftest.sh
# feeds each lint files that it must refuse.

set -euo pipefail
export LC_ALL=C.UTF-8

# Go to the tree that is checked: the argument, or the one this script is in.
lint_begin()
{
	local here

	here=$(dirname "${BASH_SOURCE[0]}")
	cd "${1:-$here/../..}"
	findings=0
}

# lint_files PATTERN... - the tree's own files whose name matches, one a line, sorted.
# Left out: what builds make, and what git keeps for itself.
lint_files()
{
	local pattern names=()

	for pattern in "$@"; do
		names+=(-o -name "$pattern")
	done
	find . \( -type d \( -name .git -o -path './build*' -o -name __pycache__ -o -name .cache \
		-o -name .pytest_cache \) -prune \) -o -type f \( "${names[@]:1}" \) -print |
		sed 's|^\./||' | sort
}

# lint_scripts - shell scripts, by their first line: most have no suffix.
lint_scripts()
{
	local file first

	while IFS= read -r file; do
		first=
		IFS= read -r -n 60 first < "$file" 2> /dev/null || true
		case $first in
		'#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) printf '%s\n' "$file" ;;
		esac
	done < <(lint_files '*.sh' dev run setup postinst prerm postrm preinst | sort -u)
}

# lint_say FILE LINE MESSAGE - one finding.
lint_say()
{
	printf '%s:%s: %s\n' "$1" "$2" "$3"
	findings=$((findings + 1))
}

lint_end()
{
	if [ "$findings" -gt 0 ]; then
		printf '%s: %d finding(s)\n' "${0##*/}" "$findings"
		exit 1
	fi
	exit 0
}
