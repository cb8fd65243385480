#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-length.sh [ROOT] - functions of at most 70 lines, sources 600, headers 150, scripts 400.
#
# It needs no parser because of the brace style: a function body opens and closes in column 1. A
# table (`= {` at the end of its first line) is no function and may be as long as it needs to.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

lint_files '*.c' '*.h' | xargs -r awk '
	FNR == 1 { start = 0; limit = FILENAME ~ /\.h$/ ? 150 : 600 }
	/^{/ { start = FNR }
	/^}/ {
		if (start && FNR - start - 1 > 70) {
			printf "%s:%d: this function has %d lines; 70 is the limit. ",
			       FILENAME, start, FNR - start - 1
			print "Take a step out of it into a function of its own."
			bad = 1
		}
		start = 0
	}
	FNR == limit + 1 {
		printf "%s:%d: this file is over %d lines. Split it by what it owns.\n",
		       FILENAME, FNR, limit
		bad = 1
	}
	END { exit bad }' || findings=1

lint_scripts | xargs -r awk '
	FNR == 401 {
		printf "%s:401: this script is over 400 lines. Split it.\n", FILENAME
		bad = 1
	}
	END { exit bad }' || findings=1

lint_end
