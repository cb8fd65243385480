/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_rate.h - how fast an export may be used. Part of exports.h; nfsd/throttle.h keeps to it.
 */
#pragma once

#include <stdint.h>

enum {
	EXPORT_IOPS_MAX = 10000000,
	EXPORT_MBPS_MAX = 100000,
	EXPORT_MB_BYTES = 1 << 20, /* as everywhere in the configuration */
};

/* A second; 0: no limit. */
struct export_rate {
	uint32_t iops;
	uint32_t mbps;
};
