#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build-deb.sh [FOLDER] - build the packages from a clean copy of HEAD; lintian must be content.
# Those with debug symbols go into FOLDER/dbgsym/, apart from those that one installs.
#
# debian/ must be at the top of a source package but lives in packaging/ here, so the copy gets it
# moved. The checkout itself is never written to, and what is not committed is not in the package.
# DEB_BUILD_OPTIONS=nocheck leaves out the unit tests.

set -euo pipefail

cd "$(dirname "$0")/.."
output=$(realpath "${1:-.}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -nE '1s/^lodestore \(([^-]*)-.*/\1/p' packaging/debian/changelog)
tree=lodestore-$version

if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "build-deb.sh: note: changes that are not committed are not in the package" >&2
fi
git archive --prefix="$tree/" HEAD | tar -x -C "$work"
tar -C "$work" -czf "$work/lodestore_$version.orig.tar.gz" "$tree"
cp -a "$work/$tree/packaging/debian" "$work/$tree/debian"

(cd "$work/$tree" && dpkg-buildpackage --no-sign)
lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning \
	"$work"/*.changes
rm -f "$output"/lodestore*.deb "$output"/dbgsym/lodestore*.deb # of before: apt takes one version
mkdir -p "$output/dbgsym"
mv "$work"/*-dbgsym_*.deb "$output/dbgsym/"
mv "$work"/*.deb "$output/"
