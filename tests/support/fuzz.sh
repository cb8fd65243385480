#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [--minutes N] [WORD...] - ./dev fuzz: every fuzz target for N minutes each (default 1), or
# those whose names have one of the words; "descriptor" is ESXi's disk descriptors.
#
# Starts from tests/fuzz/corpus/NAME. What is found goes to build-fuzz/corpus/NAME; an input that
# breaks something to build-fuzz/broken/NAME-..., and the exit status is 1 then. Add that input to
# the corpus together with the fix: ./dev test replays the corpus.

set -euo pipefail

cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/python.sh
. tests/support/python.sh
minutes=1 words=()
while [ $# -gt 0 ]; do
	case $1 in
	--minutes)
		minutes=${2:?--minutes needs a number}
		shift
		;;
	--minutes=*) minutes=${1#*=} ;;
	-*)
		echo "dev fuzz: no option $1 (--minutes N, or words of target names)" >&2
		exit 2
		;;
	*) words+=("$1") ;;
	esac
	shift
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || {
	echo "dev fuzz: '$minutes' is no whole number of minutes" >&2
	exit 2
}

if [ ! -f build-fuzz/build.ninja ]; then
	CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined \
		-Db_lundef=false > /dev/null
fi
ninja -C build-fuzz -j 2 --quiet
mkdir -p build-fuzz/broken

wanted()
{
	local word

	[ "${#words[@]}" -gt 0 ] || return 0
	for word in "${words[@]}"; do
		[[ $1 != *"$word"* ]] || return 0
	done
	return 1
}

export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
good=0 bad=0
for program in build-fuzz/tests/fuzz-*; do
	# Beside each program is a folder of its objects.
	[ -f "$program" ] || continue
	name=${program##*/fuzz-}
	wanted "$name" || continue
	mkdir -p "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name"
	log=build-fuzz/fuzz-$name.log
	if "$program" -max_total_time=$((minutes * 60)) -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="build-fuzz/broken/$name-" "build-fuzz/corpus/$name" \
		"tests/fuzz/corpus/$name" > "$log" 2>&1; then
		good=$((good + 1))
		# "#1234 DONE cov: 567 ft: 890 corp: 12/3456b ..." is what libFuzzer ends with.
		printf 'PASS %s: %s\n' "$name" "$(awk '/DONE/ { runs = substr($1, 2)
			printf "%d runs, %d edges covered, %d inputs kept", runs, $4, $8 }' "$log")"
	else
		bad=$((bad + 1))
		printf 'FAIL %s: %s\n' "$name" "$(grep -E 'ERROR|Assertion|runtime error' "$log" |
			head -n 1)"
		echo "    log $log; input in build-fuzz/broken/$name-*"
	fi
done

# The rewriting of descriptors is Python: inputs of its own, as many as a minute takes.
if wanted descriptor; then
	inputs=$((minutes * 200000)) log=build-fuzz/fuzz-descriptor.log
	python=$(pytest_python)
	if ESX_FUZZ_INPUTS=$inputs "$python" -m pytest -q -p no:cacheprovider \
		tests/esx/test_descriptor_any.py > "$log" 2>&1; then
		good=$((good + 1))
		echo "PASS descriptor: $inputs runs"
	else
		bad=$((bad + 1))
		echo "FAIL descriptor: $(grep -m 1 ESX_FUZZ_SEED= "$log" || tail -n 1 "$log")"
		echo "    log $log"
	fi
fi

echo "$good passed, $bad failed"
[ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
