#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
#
# The server stopped under load, reloaded, with limits, without io_uring, on subvolumes.

. tests/support/step.sh

bash tests/faults/run.sh "$PWD/build-asan/nfsd/lodestore-nfsd"
