/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_tree.h - ranges that may overlap, found by what they overlap. Pure.
 *
 * A treap by first byte in which each node knows the last byte of all below it: putting in, taking
 * out and finding take time for the depth, about twice the logarithm of their number. The node lies
 * inside what is kept, so that nothing here takes memory or fails.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes first..last, both included. */
struct range {
	uint64_t first, last;
};

struct range_node {
	struct range range;  /* not to be changed while in a tree */
	uint64_t last_below; /* of the node and all below it */
	struct range_node *left, *right;
	uint32_t weight;
};

struct range_tree {
	struct range_node *root; /* NULL: empty */
	uint32_t chance;         /* of the generator of weights */
};

static inline bool range_overlaps(const struct range *one, const struct range *two)
{
	return one->first <= two->last && two->first <= one->last;
}

/* @node->range is set, first <= last. */
void range_tree_add(struct range_tree *tree, struct range_node *node);

/* It is in the tree. */
void range_tree_remove(struct range_tree *tree, struct range_node *node);

/* Of those that overlap @range the one after @after in the tree's order, by first byte; NULL: the
 * first. NULL if there is none. */
struct range_node *range_tree_find(const struct range_tree *tree, const struct range *range,
                                   const struct range_node *after);
