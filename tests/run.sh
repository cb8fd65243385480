#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [--list] [WORD...] - ./dev test: run the steps in tests/steps/, one line each.
#
# A step is a script tests/steps/NN-NAME.sh, run from the top of the tree in the order of NN. Its
# first lines say how:
#
#     # timeout: SECONDS        after that it is ended, and has failed
#     # each: WORD WORD...      run it once with each word as its argument (a step NAME-WORD each),
#     # parallel: N             beside others that say so, N at a time; without it, alone
#
# It prints what it likes (its log is build/test-logs/NAME.log), and ends with status 0 if all went
# well and 77 if it could not run here, saying why in its last line. Under CI (CI=true) a skip is a
# failure, unless tests/allowed-skips.txt has a line "NAME reason". To have its single tests counted
# it calls count_add or count_results of tests/support/step.sh.
#
# With words, only steps whose names have one of them. The last line is "N passed, N failed":
# steps and counted tests together. Exit status: 0 if nothing failed, else 1.

set -euo pipefail

cd "$(dirname "$0")/.."
logs=build/test-logs
passed=0 failed=0
declare -A running=() # process id of a step: "NAME FILE STARTED"

field() { sed -nE "s/^# $2: (.*)/\1/p;/^[^#]/q" "$1"; }

# plan WORD... - lines "NAME FILE [ARGUMENT]" of the steps to run.
plan()
{
	local file name each argument

	for file in tests/steps/*.sh; do
		name=$(basename "$file" .sh)
		each=$(field "$file" each)
		if [ -z "$each" ]; then
			wanted "$name" "$@" && echo "$name $file"
			continue
		fi
		for argument in $each; do
			wanted "$name-$argument" "$@" && echo "$name-$argument $file $argument"
		done
	done
	true
}

wanted()
{
	local name=$1 word

	shift
	[ $# -gt 0 ] || return 0
	for word in "$@"; do
		[[ $name != *"$word"* ]] || return 0
	done
	return 1
}

allowed_skip() { grep -qE "^$1 +[^ ]" tests/allowed-skips.txt 2> /dev/null; }

# result WORD NAME SECONDS [NOTE]
result()
{
	printf '%s %s (%s s)%s\n' "$1" "$2" "$3" "${4:+: $4}"
	case $1 in
	PASS) passed=$((passed + 1)) ;;
	FAIL) failed=$((failed + 1)) ;;
	esac
}

show_log()
{
	echo "    --- end of $1:"
	tail -n 30 "$1" | sed 's/^/    /'
	echo "    ---"
}

add_counts()
{
	local good bad

	while read -r good bad; do
		passed=$((passed + good))
		failed=$((failed + bad))
	done < "$1"
}

start_step()
{
	local name=$1 file=$2 limit

	shift 2
	limit=$(field "$file" timeout)
	: > "$logs/$name.counts"
	STEP_COUNTS=$PWD/$logs/$name.counts STEP_NAME=$name \
		timeout --kill-after=20 "${limit:-300}" bash "$file" "$@" \
		> "$logs/$name.log" 2>&1 < /dev/null &
	running[$!]="$name $file $SECONDS"
}

# finish_step - wait for one of those that run, and tell how it went.
finish_step()
{
	local pid status=0 name file started seconds limit note log

	wait -n -p pid "${!running[@]}" || status=$?
	read -r name file started <<< "${running[$pid]}"
	unset "running[$pid]"
	seconds=$((SECONDS - started))
	limit=$(field "$file" timeout)
	log=$logs/$name.log
	add_counts "$logs/$name.counts"
	case $status in
	0) result PASS "$name" "$seconds" ;;
	77)
		note=$(tail -n 1 "$log")
		if [ "${CI:-}" = true ] && ! allowed_skip "$name"; then
			result FAIL "$name" "$seconds" "skipped, which CI does not allow: $note"
		else
			result SKIP "$name" "$seconds" "$note"
		fi
		;;
	124 | 137)
		show_log "$log"
		result FAIL "$name" "$seconds" "not done within ${limit:-300} s; see $log"
		;;
	*)
		show_log "$log"
		result FAIL "$name" "$seconds" "status $status; see $log"
		;;
	esac
}

# has_room FILE - may a step of it start beside those that run?
has_room()
{
	local step file most

	for step in "- $1 -" "${running[@]}"; do
		read -r _ file _ <<< "$step"
		most=$(field "$file" parallel)
		[ "${#running[@]}" -lt "${most:-1}" ] || return 1
	done
}

# run_step NAME FILE [ARGUMENT] - start it when there is room for it.
run_step()
{
	until has_room "$2"; do
		finish_step
	done
	start_step "$@"
}

interrupted()
{
	[ "${#running[@]}" -eq 0 ] || kill -TERM "${!running[@]}" 2> /dev/null || true
	echo "Interrupted."
	exit 130
}

words=()
for argument in "$@"; do
	case $argument in
	--list)
		plan | cut -d' ' -f1
		exit 0
		;;
	-*)
		echo "dev test: no option $argument (--list, or words of step names)" >&2
		exit 2
		;;
	*) words+=("$argument") ;;
	esac
done

if [ "$(id -u)" -ne 0 ]; then
	echo "dev test: it mounts file systems and makes namespaces: run sudo ./dev test" >&2
	exit 2
fi
mkdir -p "$logs"
trap interrupted INT TERM

mapfile -t steps < <(plan "${words[@]}")
if [ "${#steps[@]}" -eq 0 ]; then
	echo "dev test: no step has ${words[*]} in its name; ./dev test --list names them" >&2
	exit 2
fi
for step in "${steps[@]}"; do
	# shellcheck disable=SC2086 # a name, a file and perhaps an argument, all without blanks
	run_step $step
done
while [ "${#running[@]}" -gt 0 ]; do
	finish_step
done

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
