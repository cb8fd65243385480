/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsm_hosts.h - the clients that hold locks, kept on disk, so that they can be told when the server
 * has restarted; and the number of this start.
 *
 * In the state directory, nsm/state has the number, nsm/hosts/ADDRESS is a file for each client,
 * with the address of ours that it knows. A host of an earlier start stays until it has been told.
 * Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vfs/export_address.h"

struct nsm_hosts;

enum {
	NSM_HOSTS_MAX = 4096
};

/* Read what there is, and write down the number of this start. 0 or a negative errno. */
int nsm_hosts_open(const char *state_dir, struct nsm_hosts **ret_hosts);
struct nsm_hosts *nsm_hosts_close(struct nsm_hosts *hosts); /* takes NULL; returns NULL */

int32_t nsm_hosts_state(const struct nsm_hosts *hosts);

/* Watch a client; on stable storage when this returns. Quick if it is watched already. @local: the
 * address of ours that it uses. 0; -ENOLCK: NSM_HOSTS_MAX; others as the state directory's file
 * system says. */
int nsm_hosts_watch(struct nsm_hosts *hosts, const struct export_address *client,
                    const struct export_address *local, bool *ret_new);

/* Watched since this start? @ret_state: the client's own number, 0 if it is not known. */
bool nsm_hosts_find(struct nsm_hosts *hosts, const struct export_address *client,
                    int32_t *ret_state);
void nsm_hosts_state_set(struct nsm_hosts *hosts, const struct export_address *client,
                         int32_t state);

/* Those that an earlier start watched, which are still to be told. How many. */
unsigned nsm_hosts_visit_old(struct nsm_hosts *hosts,
                             void (*visit)(void *context, const struct export_address *client,
                                           const struct export_address *local),
                             void *context);

/* It was told: its file goes, unless it locks again by now. */
void nsm_hosts_told(struct nsm_hosts *hosts, const struct export_address *client);

/* It has no locks any more: neither watched nor to be told. */
void nsm_hosts_forget(struct nsm_hosts *hosts, const struct export_address *client);
