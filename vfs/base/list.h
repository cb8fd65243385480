/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - intrusive doubly linked lists: the node lies inside what is listed, so that adding and
 * removing take no memory and cannot fail.
 *
 *     struct conn { struct list_node idle_node; ... };
 *     struct list_node idle = LIST_INIT(idle);
 *
 *     list_add_tail(&idle, &conn->idle_node);
 *     list_for_each(node, &idle)
 *             conn_look(container_of(node, struct conn, idle_node));
 *
 * A list is a ring through its head. A node that is on no list points at itself: list_remove()
 * leaves it so, list_node_init() makes it so, and list_linked() tells. Adding a node that is on a
 * list is a bug and asserts; so a node must be initialised before its first use.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "vfs/base/cleanup.h" /* container_of */

struct list_node {
	struct list_node *next, *prev;
};

/* For the definition of a head or a node: struct list_node idle = LIST_INIT(idle); */
#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

/* A head and a node that is on no list look the same: a ring of one. */
static inline void list_init(struct list_node *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_node_init(struct list_node *node)
{
	list_init(node);
}

static inline bool list_empty(const struct list_node *head)
{
	return head->next == head;
}

/* Is @node on a list? */
static inline bool list_linked(const struct list_node *node)
{
	return node->next != node;
}

static inline void list_insert_between(struct list_node *node, struct list_node *prev,
                                       struct list_node *next)
{
	assert(!list_linked(node));
	assert(prev->next == next && next->prev == prev);

	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void list_add_head(struct list_node *head, struct list_node *node)
{
	list_insert_between(node, head, head->next);
}

static inline void list_add_tail(struct list_node *head, struct list_node *node)
{
	list_insert_between(node, head->prev, head);
}

/* A node that is on no list may be removed: nothing happens. */
static inline void list_remove(struct list_node *node)
{
	assert(node->prev->next == node && node->next->prev == node);

	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_node_init(node);
}

/* The first node, or NULL. */
static inline struct list_node *list_first(const struct list_node *head)
{
	return list_empty(head) ? NULL : head->next;
}

/* Take the first node off the list: NULL if there is none. */
static inline struct list_node *list_pop(struct list_node *head)
{
	struct list_node *node = list_first(head);

	if (node)
		list_remove(node);
	return node;
}

/* Move all of @from to the tail of @to; @from is empty afterwards. */
static inline void list_splice(struct list_node *to, struct list_node *from)
{
	assert(to != from);

	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

/* The body must not remove @node; it may with list_for_each_safe(), but not the one after it. */
#define list_for_each(node, head) \
	for (struct list_node *node = (head)->next; node != (head); node = node->next)

#define list_for_each_safe(node, head)                                                         \
	for (struct list_node *node = (head)->next, *node##_next = node->next; node != (head); \
	     node = node##_next, node##_next = node->next)
