#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# ThreadSanitizer over the unit tests: those of pure code cost little, and none is forgotten.

. tests/support/step.sh

export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
export CK_TIMEOUT_MULTIPLIER=10
meson_build build-tsan clang -Db_sanitize=thread -Db_lundef=false -Doptimization=1
meson_test build-tsan --suite unit --timeout-multiplier 4
