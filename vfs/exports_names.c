/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's name service for export_match(). Both functions block, for as long as a resolver
 * that does not answer takes: never on an event loop.
 *
 * A reverse entry is written by whoever owns the address, so a name counts only if it resolves
 * back.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "vfs/exports.h"

static void address_of(const struct sockaddr *from, struct export_address *to)
{
	const struct sockaddr_in *ipv4 = (const struct sockaddr_in *) from;
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *) from;

	*to = (struct export_address){ .bytes = { [10] = 0xff, [11] = 0xff } };
	if (from->sa_family == AF_INET)
		memcpy(to->bytes + 12, &ipv4->sin_addr, 4);
	else
		memcpy(to->bytes, &ipv6->sin6_addr, sizeof to->bytes);
}

static bool names_has_address(void *context, const char *name, const struct export_address *address)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *first, *info;
	bool found = false;

	if (getaddrinfo(name, NULL, &hints, &first) != 0)
		return false;
	for (info = first; info && !found; info = info->ai_next) {
		struct export_address candidate;

		if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
			continue;
		address_of(info->ai_addr, &candidate);
		found = memcmp(&candidate, address, sizeof candidate) == 0;
	}
	freeaddrinfo(first);
	return found;
}

static bool names_name_of(void *context, const struct export_address *address, char *ret_name,
                          size_t name_bytes_max)
{
	struct sockaddr_in ipv4 = { .sin_family = AF_INET };
	struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6 };
	bool is_ipv4 = export_address_is_ipv4(address);
	const struct sockaddr *socket_address = (const struct sockaddr *) &ipv6;
	socklen_t socket_address_bytes = sizeof ipv6;
	struct export_address ignored;

	memcpy(&ipv6.sin6_addr, address->bytes, sizeof address->bytes);
	if (is_ipv4) {
		memcpy(&ipv4.sin_addr, address->bytes + 12, 4);
		socket_address = (const struct sockaddr *) &ipv4;
		socket_address_bytes = sizeof ipv4;
	}
	if (getnameinfo(socket_address, socket_address_bytes, ret_name, (socklen_t) name_bytes_max,
	                NULL, 0, NI_NAMEREQD) != 0)
		return false;
	/* "10.0.0.1" as a name in a reverse entry would resolve to anything it says. */
	if (export_address_parse(ret_name, &ignored) == 0)
		return false;
	return names_has_address(NULL, ret_name, address);
}

const struct export_names export_names_system = {
	.has_address = names_has_address,
	.name_of = names_name_of,
};
