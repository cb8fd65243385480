#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# embed.sh OUTPUT FILE... - a header with an array for each file: page.css becomes page_css[].
set -eu

output=$1
shift
for file in "$@"; do
	name=$(basename "$file" | tr . _)
	printf 'static const unsigned char %s[] = {' "$name"
	od -An -v -t u1 "$file" | sed 's/[0-9][0-9]*/&,/g'
	echo '};'
done > "$output"
