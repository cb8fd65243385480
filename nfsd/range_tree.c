/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/range_tree.h"

#include <assert.h>
#include <stddef.h>

/* Equal ranges are told apart by where they lie. */
static bool is_before(const struct range_node *one, const struct range_node *two)
{
	if (one->range.first != two->range.first)
		return one->range.first < two->range.first;
	return (uintptr_t) one < (uintptr_t) two;
}

static void update(struct range_node *node)
{
	node->last_below = node->range.last;
	if (node->left && node->left->last_below > node->last_below)
		node->last_below = node->left->last_below;
	if (node->right && node->right->last_below > node->last_below)
		node->last_below = node->right->last_below;
}

/* xorshift32: balance is all that it decides. */
static uint32_t weight_new(struct range_tree *tree)
{
	uint32_t x = tree->chance ? tree->chance : 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	tree->chance = x;
	return x;
}

/* Those before @at and those after it. */
static void split(struct range_node *node, const struct range_node *at,
                  struct range_node **ret_before, struct range_node **ret_after)
{
	if (!node) {
		*ret_before = *ret_after = NULL;
	} else if (is_before(node, at)) {
		split(node->right, at, &node->right, ret_after);
		update(node);
		*ret_before = node;
	} else {
		split(node->left, at, ret_before, &node->left);
		update(node);
		*ret_after = node;
	}
}

/* All of @before are before all of @after. */
static struct range_node *join(struct range_node *before, struct range_node *after)
{
	if (!before || !after)
		return before ? before : after;
	if (before->weight > after->weight) {
		before->right = join(before->right, after);
		update(before);
		return before;
	}
	after->left = join(before, after->left);
	update(after);
	return after;
}

static struct range_node *add(struct range_node *at, struct range_node *node)
{
	if (!at || node->weight > at->weight) {
		split(at, node, &node->left, &node->right);
		update(node);
		return node;
	}
	if (is_before(node, at))
		at->left = add(at->left, node);
	else
		at->right = add(at->right, node);
	update(at);
	return at;
}

static struct range_node *take_out(struct range_node *at, struct range_node *node)
{
	assert(at);
	if (at == node)
		return join(at->left, at->right);
	if (is_before(node, at))
		at->left = take_out(at->left, node);
	else
		at->right = take_out(at->right, node);
	update(at);
	return at;
}

void range_tree_add(struct range_tree *tree, struct range_node *node)
{
	assert(node->range.first <= node->range.last);
	node->weight = weight_new(tree);
	node->left = node->right = NULL;
	tree->root = add(tree->root, node);
}

void range_tree_remove(struct range_tree *tree, struct range_node *node)
{
	tree->root = take_out(tree->root, node);
	node->left = node->right = NULL;
}

static struct range_node *find(struct range_node *at, const struct range *range,
                               const struct range_node *after)
{
	struct range_node *found;

	if (!at || at->last_below < range->first)
		return NULL;
	if (!after || is_before(after, at)) {
		found = find(at->left, range, after);
		if (found)
			return found;
		if (range_overlaps(&at->range, range))
			return at;
	}
	if (at->range.first > range->last)
		return NULL;
	return find(at->right, range, after);
}

struct range_node *range_tree_find(const struct range_tree *tree, const struct range *range,
                                   const struct range_node *after)
{
	return find(tree->root, range, after);
}
