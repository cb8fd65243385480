#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Each file of tests/coverage-files.txt: at least 90 % of its lines are run by the unit tests.

. tests/support/step.sh

meson_build build-cov gcc -Db_coverage=true -Doptimization=0
find build-cov -name '*.gcda' -delete
export CK_TIMEOUT_MULTIPLIER=10
meson_test build-cov --suite unit --timeout-multiplier 4
python3 tests/support/coverage_gate.py build-cov tests/coverage-files.txt
