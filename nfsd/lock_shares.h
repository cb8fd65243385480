/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_shares.h - SHARE and UNSHARE of NLM: what DOS programs say when they open a file, how they
 * use it and what they deny others (Open Group C702, chapter 10). Pure.
 *
 * They count among themselves; READ and WRITE do not ask.
 */
#pragma once

#include "nfsd/lock_table.h"

enum {
	LOCK_SHARES_PER_CLIENT_MAX = 1024,
};

/* Bits of access and deny, as in fsh4_access and fsh4_mode. */
enum {
	LOCK_SHARE_READ = 1,
	LOCK_SHARE_WRITE = 2,
};

struct lock_shares {
	struct list_node all;
	unsigned count;
};

/* An owner has at most one on a file; svid does not count. */
struct lock_share_ask {
	struct export_address client;
	struct lock_opaque opaque;
	unsigned access, deny;
};

void lock_shares_init(struct lock_shares *shares);
void lock_shares_done(struct lock_shares *shares); /* before the table is freed */

/* In place of what the owner has. 0; -EAGAIN: somebody else's forbids it; -ENOLCK, -ENOMEM. */
int lock_share_set(struct lock_shares *shares, struct lock_file *file,
                   const struct lock_share_ask *ask);

/* The owner's, if there is one. */
void lock_share_clear(struct lock_shares *shares, struct lock_file *file,
                      const struct lock_share_ask *ask);

/* All of a client's; their files are put into @touched. */
void lock_share_drop(struct lock_shares *shares, const struct export_address *client,
                     struct list_node *touched);
