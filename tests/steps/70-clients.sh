#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
# parallel: 2
#
# Real clients: libnfs's tools, showmount and rpcinfo, a Linux kernel. What differs between file
# systems for them is the handles, which Btrfs has of another kind; the conformance suite is for the
# rest.

. tests/support/step.sh

status=0
results=build/test-logs/clients.xml
rm -f "$results"
tests/clients/run --fs xfs,btrfs --server-bin build/bin/lodestore-nfsd -v --junit "$results" ||
	status=$?
count_results "$results"
exit "$status"
