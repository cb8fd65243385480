/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/setup_net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>

void setup_net_text(struct in_addr address, struct in_addr mask, char to[SETUP_NET_TEXT_BYTES])
{
	struct in_addr network = { address.s_addr & mask.s_addr };
	char text[INET_ADDRSTRLEN];

	snprintf(to, SETUP_NET_TEXT_BYTES, "%s/%d", inet_ntop(AF_INET, &network, text, sizeof text),
	         __builtin_popcount(mask.s_addr));
}

size_t setup_nets(struct setup_net nets[SETUP_NETS_MAX])
{
	struct ifaddrs *list;
	size_t count = 0;

	if (getifaddrs(&list) < 0)
		return 0;
	for (const struct ifaddrs *at = list; at && count < SETUP_NETS_MAX; at = at->ifa_next) {
		const struct sockaddr_in *address, *mask;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !at->ifa_netmask ||
		    (at->ifa_flags & IFF_LOOPBACK) || !(at->ifa_flags & IFF_UP))
			continue;
		address = (const struct sockaddr_in *) (const void *) at->ifa_addr;
		mask = (const struct sockaddr_in *) (const void *) at->ifa_netmask;
		(void) inet_ntop(AF_INET, &address->sin_addr, nets[count].address,
		                 sizeof nets[count].address);
		setup_net_text(address->sin_addr, mask->sin_addr, nets[count++].network);
	}
	freeifaddrs(list);
	return count;
}
