#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 480
# parallel: 2
#
# A few power cuts under load on a disk that forgets what was not flushed, for each way to the disk.

. tests/support/step.sh

tests/powercut/run --cuts 5 --nfsd build/bin/lodestore-nfsd --fs xfs --data-path direct
tests/powercut/run --cuts 5 --nfsd build/bin/lodestore-nfsd --fs ext4 --data-path buffered
