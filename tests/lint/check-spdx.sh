#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-spdx.sh [ROOT] - every source file says its licence at its beginning.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

while IFS= read -r file; do
	[ -s "$file" ] || continue
	{ read -r -d '' -n 400 start || true; } < "$file" 2> /dev/null
	if [[ $start != *'SPDX-License-Identifier: Apache-2.0'* ]]; then
		lint_say "$file" 1 "no licence line. Begin the file (below #!) with a comment:\
 SPDX-License-Identifier: Apache-2.0"
	fi
done < <(
	lint_files '*.[chx]' '*.sh' '*.py' '*.service' '*.[1-8]' meson.build
	lint_scripts
)

lint_end
