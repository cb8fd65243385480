#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-format.sh [ROOT] - C is laid out as .clang-format says. Exits 77 if clang-format is not the
# version that the layout is defined by: others lay out a few things differently.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

if ! clang-format --version 2> /dev/null | grep -q 'version 14\.'; then
	echo "clang-format 14 is not installed (Debian 12 has it: ./dev deps)"
	exit 77
fi

mapfile -t sources < <(lint_files '*.c' '*.h')
[ "${#sources[@]}" -gt 0 ] || lint_end

# The first finding of each file is enough: clang-format mends them all.
previous=
while IFS=: read -r file line _; do
	[ "$file" != "$previous" ] || continue
	previous=$file
	lint_say "$file" "$line" "not laid out as .clang-format says (the first place; there may\
 be more). Run: clang-format -i $file"
done < <(clang-format --dry-run -Werror "${sources[@]}" 2>&1 |
	grep -E '^[^ ]+:[0-9]+:[0-9]+: error')

lint_end
