#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-style.sh [ROOT] - 100 columns, no trailing blanks, no leftovers, no banned functions.

# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
lint_begin "$@"

# What a banned function is, and what to write instead.
banned='strcpy	copies without a limit. Use snprintf, or memcpy with a length you have checked
strcat	appends without a limit. Use snprintf with the space that is left
sprintf	prints without a limit. Use snprintf and check its result
vsprintf	prints without a limit. Use vsnprintf and check its result
strncpy	may leave no final NUL. Use snprintf, or memcpy with a length you have checked
gets	reads without a limit. Use getline
alloca	takes stack by a run-time amount. Use malloc, or an array with a fixed bound
atoi	cannot tell a mistake from 0. Use strtoul and check errno and the end pointer
atol	cannot tell a mistake from 0. Use strtoul and check errno and the end pointer
strtok	keeps hidden state that threads share. Use strtok_r or strcspn
clnt_sperror	keeps one text for all threads. Use clnt_geterr and clnt_sperrno
clnt_spcreateerror	keeps one text for all threads. Use rpc_createerr and clnt_sperrno
clnt_perror	writes to stderr from one text for all threads. Use clnt_geterr and clnt_sperrno
clnt_pcreateerror	writes to stderr from one text for all threads. Use rpc_createerr'

mapfile -t c_files < <(lint_files '*.c' '*.h')
mapfile -t text_files < <(
	{
		lint_files '*.[chx]' '*.sh' '*.py' meson.build '*.service' '*.[1-8]'
		lint_scripts
	} | sort -u
)

check_lines()
{
	awk -v leftover='(^|[^A-Za-z0-9_])(TO''DO|FIX''ME|X''XX)([^A-Za-z0-9_]|$)' '
		{
			text = $0
			columns = 0
			for (i = 1; i <= length(text); i++)
				columns += substr(text, i, 1) == "\t" ? 8 - columns % 8 : 1
		}
		columns > 100 && FILENAME !~ /\.[1-8]$/ {
			say(columns " columns; 100 is the limit. Break the line")
		}
		/[ \t]$/ { say("blanks at the end of the line. Remove them") }
		text ~ leftover {
			say("a leftover note. Do it now, or file an issue and say what holds")
		}
		function say(message) {
			printf "%s:%d: %s.\n", FILENAME, FNR, message
			bad = 1
		}
		END { exit bad }' "$@"
}

check_banned()
{
	local name fix hits

	while IFS=$'\t' read -r name fix; do
		hits=$(grep -HnE "(^|[^A-Za-z0-9_])$name *\(" "$@" | cut -d: -f1,2 || true)
		[ -z "$hits" ] || while IFS=: read -r file line; do
			lint_say "$file" "$line" "$name is banned: it $fix."
		done <<< "$hits"
	done <<< "$banned"
}

[ "${#text_files[@]}" -eq 0 ] || check_lines "${text_files[@]}" || findings=1
[ "${#c_files[@]}" -eq 0 ] || check_banned "${c_files[@]}"

lint_end
