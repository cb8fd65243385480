#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 480
# parallel: 2
#
# The server stopped under load, reloaded, watched, restarted, with limits, without io_uring, in a
# user namespace, on subvolumes; files removed behind its back.

. tests/support/step.sh

bash tests/faults/run.sh "$PWD/build-asan/nfsd/lodestore-nfsd"
