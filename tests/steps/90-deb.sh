#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# parallel: 2
#
# The Debian package: built, checked by lintian, installed, started, removed and purged.

. tests/support/step.sh

tests/deb/install.sh
