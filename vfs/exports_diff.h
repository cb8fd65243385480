/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports_diff.h - what makes two tables of exports different. Pure.
 */
#pragma once

#include "vfs/exports.h"

enum exports_change {
	EXPORTS_ADDED,
	EXPORTS_REMOVED,
	EXPORTS_CHANGED, /* its hosts or their options */
	EXPORTS_CHANGES,
};

/* "added", "removed", "changed". */
extern const char *const exports_change_names[EXPORTS_CHANGES];

/* First what became of the old ones, in their order, then the new ones in theirs. */
void exports_diff(const struct exports *before, const struct exports *now,
                  void (*tell)(void *context, enum exports_change change, const char *path),
                  void *context);
