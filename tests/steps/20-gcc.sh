#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The build that is shipped: gcc, warnings as errors; unit tests and the replay of the corpora.

. tests/support/step.sh

./dev build
meson_test build --no-suite lint
