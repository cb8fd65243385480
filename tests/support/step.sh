# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# step.sh - what the steps of ./dev test share (tests/run.sh says what a step is). Source it first.

set -euo pipefail

# shellcheck source=tests/support/serve.sh
. tests/support/serve.sh
# shellcheck source=tests/support/python.sh
. tests/support/python.sh

# jobs: other work may be going on; two is what CI has.
jobs=2

# skip REASON - this step cannot run here.
skip()
{
	echo "$1"
	exit 77
}

# count_add PASSED FAILED - single tests, for the line at the end.
count_add()
{
	[ -z "${STEP_COUNTS:-}" ] || echo "$1 $2" >> "$STEP_COUNTS"
	echo "counted: $1 passed, $2 failed"
}

# count_results FILE - the same out of meson's testlog.json or a JUnit file.
count_results()
{
	local good bad

	read -r good bad < <(python3 tests/support/count_results.py "$1")
	count_add "$good" "$bad"
}

# meson_build FOLDER COMPILER [OPTION...] - set it up if it is not, and compile.
meson_build()
{
	local folder=$1 compiler=$2

	shift 2
	if [ ! -f "$folder/build.ninja" ]; then
		rm -rf "$folder"
		CC=$compiler meson setup "$folder" -Dseccomp_kill=true "$@"
	fi
	ninja -C "$folder" -j "$jobs" --quiet
}

# meson_test FOLDER [ARGUMENT...] - run the tests and count them; prints what a failed one said.
meson_test()
{
	local folder=$1 status=0

	shift
	meson test -C "$folder" --no-rebuild --num-processes "$jobs" --print-errorlogs "$@" ||
		status=$?
	# It holds the environment: counted here, not to be published.
	count_results "$folder/meson-logs/testlog.json"
	return "$status"
}
