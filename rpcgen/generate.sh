#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# generate.sh MODE INPUT OUTPUT - run rpcgen(1) so that its output does not depend on where it ran.
#
# rpcgen copies the path it was given into an #include of what it writes, and refuses to overwrite.
# Run in an empty directory and printing to standard output, it can do neither. Inlining is off
# (-i 0): inlined code reads words through int32_t pointers wherever they lie.
set -eu

mode=$1 input=$2 output=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp "$input" "$scratch/"
(cd "$scratch" && rpcgen -i 0 "$mode" "${input##*/}") > "$output"
