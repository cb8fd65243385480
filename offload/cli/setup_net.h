/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup_net.h - the IPv4 networks that this machine is in.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>

enum {
	SETUP_NETS_MAX = 16,
	SETUP_NET_TEXT_BYTES = 32,
};

struct setup_net {
	char address[INET_ADDRSTRLEN];      /* this machine's */
	char network[SETUP_NET_TEXT_BYTES]; /* "192.0.2.0/24" */
};

/* How many; 0 if there are none, or they cannot be told. Not the loopback's. */
size_t setup_nets(struct setup_net nets[SETUP_NETS_MAX]);

/* "192.0.2.0/24" from an address and its mask. Pure. */
void setup_net_text(struct in_addr address, struct in_addr mask, char to[SETUP_NET_TEXT_BYTES]);
