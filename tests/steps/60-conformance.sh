#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
# each: xfs ext4 btrfs tmpfs
# parallel: 2
#
# The conformance suite against the server with sanitizers, on each file system.

. tests/support/step.sh

bash tests/support/conformance-on.sh "$1" "$PWD/build-asan"
