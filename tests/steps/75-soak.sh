#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# parallel: 2
#
# A short soak: verified load on XFS, the server killed and the file system's power cut meanwhile.

. tests/support/step.sh

tests/soak/run --minutes 2 --restarts 12 --nfsd build/bin/lodestore-nfsd \
	--out build/test-logs/soak
