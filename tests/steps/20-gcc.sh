#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The build that is shipped: gcc, warnings as errors; unit tests and the replay of the corpora.

. tests/support/step.sh

./dev build
meson_test build --no-suite lint --timeout-multiplier 4
