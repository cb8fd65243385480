#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
#
# What a newcomer tries first.

. tests/support/step.sh

./dev run --check
