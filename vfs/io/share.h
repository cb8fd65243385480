/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - who may begin, where a few file systems share threads and one may not answer. Pure.
 *
 * What waits for one file system is a group. Its members begin in order, and groups take turns. A
 * group may begin another while it has fewer running than are free: alone it gets half of all, so
 * that one that is stuck leaves the other half; a second one then gets a quarter, and so on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vfs/base/list.h"

enum {
	SHARE_GROUPS = 64 /* those that are equal modulo this are one */
};

/* Embedded in what waits. */
struct share_node {
	struct list_node node;
	uint64_t group;
};

struct share {
	unsigned most, running;
	struct list_node turns; /* groups with members that wait */
	struct share_group {
		struct list_node turn, members;
		unsigned running;
	} groups[SHARE_GROUPS];
};

/* @most: that may run at once. */
void share_init(struct share *share, unsigned most);

void share_add(struct share *share, struct share_node *node, uint64_t group);

/* The next to begin, which counts as running from now on, or NULL. */
struct share_node *share_take(struct share *share);

/* Would share_take() give one? */
bool share_is_ready(const struct share *share);

/* One of the group that ran has ended. */
void share_end(struct share *share, uint64_t group);
