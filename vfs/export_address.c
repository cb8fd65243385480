/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: IPv6 in network order, IPv4 as ::ffff:a.b.c.d.
 */
#include "vfs/export_address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(EXPORT_ADDRESS_TEXT_BYTES == INET6_ADDRSTRLEN, "INET6_ADDRSTRLEN");

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

int export_address_parse(const char *text, struct export_address *ret_address)
{
	struct export_address address;

	if (inet_pton(AF_INET, text, address.bytes + sizeof ipv4_prefix) == 1)
		memcpy(address.bytes, ipv4_prefix, sizeof ipv4_prefix);
	else if (inet_pton(AF_INET6, text, address.bytes) != 1)
		return -EINVAL;
	*ret_address = address;
	return 0;
}

bool export_address_is_ipv4(const struct export_address *address)
{
	return memcmp(address->bytes, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

const char *export_address_print(const struct export_address *address,
                                 char to[EXPORT_ADDRESS_TEXT_BYTES])
{
	const char *printed;

	if (export_address_is_ipv4(address))
		printed = inet_ntop(AF_INET, address->bytes + sizeof ipv4_prefix, to,
		                    EXPORT_ADDRESS_TEXT_BYTES);
	else
		printed = inet_ntop(AF_INET6, address->bytes, to, EXPORT_ADDRESS_TEXT_BYTES);
	assert(printed == to);
	return to;
}
