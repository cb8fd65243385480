#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# clang with AddressSanitizer and UndefinedBehaviorSanitizer: the same tests again. The server that
# this leaves in build-asan/nfsd/ is the one that the conformance steps talk to.

. tests/support/step.sh

export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
# Check gives each test 4 s, which sanitizers on a busy machine may not keep.
export CK_TIMEOUT_MULTIPLIER=10
# Sanitizers resolve their own symbols at run time, hence b_lundef=false.
meson_build build-asan clang -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false \
	-Doptimization=1
# Check forks each test; a sanitizer makes that slower.
meson_test build-asan --no-suite lint --timeout-multiplier 4
