/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/exports_diff.h"

#include <string.h>

#include "vfs/exports_edit.h"
#include "vfs/exports_parser.h"

const char *const exports_change_names[EXPORTS_CHANGES] = {
	[EXPORTS_ADDED] = "added",
	[EXPORTS_REMOVED] = "removed",
	[EXPORTS_CHANGED] = "changed",
};

/* The order counts: among equals the first host does. */
static bool is_same(const struct export_spec *a, const struct export_spec *b)
{
	const char *a_mount = a->mountpoint ? a->mountpoint : "";
	const char *b_mount = b->mountpoint ? b->mountpoint : "";

	if (a->rule_count != b->rule_count || a->fsid != b->fsid || strcmp(a_mount, b_mount) != 0 ||
	    a->total_rate.iops != b->total_rate.iops || a->total_rate.mbps != b->total_rate.mbps)
		return false;
	for (size_t i = 0; i < a->rule_count; i++)
		if (!export_rule_same_host(&a->rules[i], &b->rules[i]) ||
		    !export_options_equal(&a->rules[i].options, &b->rules[i].options))
			return false;
	return true;
}

void exports_diff(const struct exports *before, const struct exports *now,
                  void (*tell)(void *context, enum exports_change change, const char *path),
                  void *context)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct export_spec *was = &before->specs[i];
		const struct export_spec *is = exports_find_exact(now, was->path);

		if (!is)
			tell(context, EXPORTS_REMOVED, was->path);
		else if (!is_same(was, is))
			tell(context, EXPORTS_CHANGED, was->path);
	}
	for (size_t i = 0; i < now->count; i++)
		if (!exports_find_exact(before, now->specs[i].path))
			tell(context, EXPORTS_ADDED, now->specs[i].path);
}
