#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# parallel: 2
#
# The Debian packages: built, checked by lintian; on Debian 12 and 13 installed, started, upgraded,
# removed and purged.

. tests/support/step.sh

tests/deb/install.sh
