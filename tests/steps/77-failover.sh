#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 480
# parallel: 2
#
# Two nodes, one disk, an address that moves, by the resource agent for Pacemaker; under load.

. tests/support/step.sh

tests/failover/run --moves 3 --programs build/bin
