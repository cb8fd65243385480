#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
# each: xfs ext4 btrfs tmpfs
# parallel: 2
#
# The conformance suite against the server with sanitizers, on each file system. What tmpfs cannot
# do for offloads, ext4 cannot either: those groups are run there.

. tests/support/step.sh

chosen=()
[ "$1" != tmpfs ] || chosen=(-k "not vaai and not offload")
bash tests/support/conformance-on.sh "$1" "$PWD/build-asan" "${chosen[@]}"
