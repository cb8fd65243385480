#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-spdx.sh [ROOT] - every source file says its licence in its first three lines.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

while IFS= read -r file; do
	[ -s "$file" ] || continue
	if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0'; then
		lint_say "$file" 1 "no licence line. Begin the file (below #!) with a comment:\
 SPDX-License-Identifier: Apache-2.0"
	fi
done < <(
	lint_files '*.[chx]' '*.sh' '*.py' '*.service' '*.[1-8]' meson.build
	lint_scripts
)

lint_end
