/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_address.h - a client's address, IPv4 or IPv6 in one form. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	EXPORT_ADDRESS_TEXT_BYTES = 46, /* with NUL: INET6_ADDRSTRLEN */
};

/* An IPv6 address in network order; IPv4 is ::ffff:a.b.c.d. */
struct export_address {
	uint8_t bytes[16];
};

/* "10.0.0.1", "fe80::1", "::ffff:10.0.0.1": parsed strictly. 0 or -EINVAL. */
int export_address_parse(const char *text, struct export_address *ret_address);

bool export_address_is_ipv4(const struct export_address *address);

/* IPv4-mapped addresses print as IPv4. Returns @to. */
const char *export_address_print(const struct export_address *address,
                                 char to[EXPORT_ADDRESS_TEXT_BYTES]);
