#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-shell.sh [ROOT] - shellcheck over every shell script. Exits 77 if shellcheck is missing.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

if ! command -v shellcheck > /dev/null; then
	echo "shellcheck is not installed. Run ./dev deps"
	exit 77
fi

mapfile -t scripts < <({ lint_scripts; lint_files '*.sh'; } | sort -u)
[ "${#scripts[@]}" -gt 0 ] || lint_end
shellcheck --external-sources --format=gcc "${scripts[@]}" || findings=1
[ "$findings" -eq 0 ] || echo "Each SCxxxx is explained by: shellcheck --wiki-link-count=9 FILE"

lint_end
