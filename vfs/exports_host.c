/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of exports(5): an address, a network, a name, a name with wildcards, or everybody.
 *
 * What looks like one kind but is not quite is refused, never taken for another kind: "10.0.0.300"
 * is no name, "10.0.0.*" no pattern of names that could ever match.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/base/cleanup.h"
#include "vfs/exports_parser.h"

enum {
	IPV4_SHIFT_BITS = 96, /* ::ffff:0:0/96 */
	ADDRESS_BITS = 128,
	NAME_LABEL_BYTES_MAX = 63, /* RFC 1035 section 2.3.4 */
};

/* Copies @text without the brackets around it, if there are any. False if only one is there, or the
 * rest is too long for an address. */
static bool strip_brackets(const char *text, size_t bytes, char to[EXPORT_ADDRESS_TEXT_BYTES])
{
	if (bytes > 0 && (text[0] == '[' || text[bytes - 1] == ']')) {
		if (bytes < 2 || text[0] != '[' || text[bytes - 1] != ']')
			return false;
		text++;
		bytes -= 2;
	}
	if (bytes >= EXPORT_ADDRESS_TEXT_BYTES)
		return false;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	return true;
}

static bool is_only(const char *text, const char *characters)
{
	return text[strspn(text, characters)] == '\0';
}

static bool bits_parse(const char *text, unsigned bits_max, unsigned *ret_bits)
{
	unsigned long bits;

	if (!*text || strlen(text) > 3 || !is_only(text, "0123456789"))
		return false;
	bits = strtoul(text, NULL, 10);
	if (bits > bits_max)
		return false;
	*ret_bits = (unsigned) bits;
	return true;
}

/* "255.255.255.0" to 24. False if it is no netmask: ones, then zeros. */
static bool netmask_parse(const char *text, unsigned *ret_bits)
{
	struct in_addr mask;
	uint32_t zeros;

	if (inet_pton(AF_INET, text, &mask) != 1)
		return false;
	zeros = ~ntohl(mask.s_addr);
	if (zeros & (zeros + 1))
		return false;
	*ret_bits = zeros ? (unsigned) __builtin_clz(zeros) : 32;
	return true;
}

/* Zeroes what follows the first @bits. Was anything there? */
static bool mask_address(struct export_address *address, unsigned bits)
{
	bool had_host_bits = false;

	assert(bits <= ADDRESS_BITS);
	for (unsigned i = 0; i < sizeof address->bytes; i++) {
		unsigned kept = bits < i * 8 ? 0 : bits - i * 8 > 8 ? 8 : bits - i * 8;
		uint8_t mask = (uint8_t) (0xff00 >> kept);

		had_host_bits |= (address->bytes[i] & ~mask) != 0;
		address->bytes[i] &= mask;
	}
	return had_host_bits;
}

static bool network_check_bits(struct exports_parser *parser, const char *text, const char *bits,
                               bool is_ipv4, unsigned *ret_bits)
{
	if (bits_parse(bits, is_ipv4 ? 32 : ADDRESS_BITS, ret_bits))
		return true;
	if (is_ipv4 && netmask_parse(bits, ret_bits))
		return true;
	exports_error(parser,
	              is_ipv4 ? "'%.*s' has no valid netmask. Write a number from 0 to 32 after the"
	                        " '/', or a netmask such as 255.255.255.0."
	                      : "'%.*s' has no valid prefix. Write a number from 0 to 128 after the"
	                        " '/'.",
	              EXPORTS_EXCERPT_BYTES_MAX, text);
	return false;
}

static bool network_parse(struct exports_parser *parser, const char *text, const char *slash,
                          struct export_rule *rule)
{
	char address[EXPORT_ADDRESS_TEXT_BYTES], network[EXPORT_ADDRESS_TEXT_BYTES];
	unsigned bits;
	bool is_ipv4;

	if (!strip_brackets(text, (size_t) (slash - text), address) ||
	    export_address_parse(address, &rule->address) < 0) {
		exports_error(parser,
		              "'%.*s' is no network. Write an address before the '/', for example"
		              " 10.0.0.0/24 or 2001:db8::/64.",
		              EXPORTS_EXCERPT_BYTES_MAX, text);
		return false;
	}
	is_ipv4 = !strchr(address, ':'); /* as it was written: ::ffff:10.0.0.0/120 counts of 128 */
	if (!network_check_bits(parser, text, slash + 1, is_ipv4, &bits))
		return false;
	if (!is_ipv4 && export_address_is_ipv4(&rule->address) && bits < IPV4_SHIFT_BITS) {
		exports_error(parser,
		              "'%.*s' is wider than all of IPv4. Write it the IPv4 way, for example"
		              " 10.0.0.0/24.",
		              EXPORTS_EXCERPT_BYTES_MAX, text);
		return false;
	}

	rule->kind = EXPORT_HOST_NETWORK;
	rule->prefix_bits = is_ipv4 ? IPV4_SHIFT_BITS + bits : bits;
	if (mask_address(&rule->address, rule->prefix_bits))
		exports_warning(parser,
		                "'%.*s' has bits set behind its prefix. It is taken as %s/%u; write"
		                " that, or the address alone if one host is meant.",
		                EXPORTS_EXCERPT_BYTES_MAX, text,
		                export_address_print(&rule->address, network), bits);
	return true;
}

static bool address_parse(struct exports_parser *parser, const char *text, struct export_rule *rule)
{
	static const struct export_address any_ipv6;
	char address[EXPORT_ADDRESS_TEXT_BYTES];

	if (!strip_brackets(text, strlen(text), address) ||
	    export_address_parse(address, &rule->address) < 0)
		return false;
	if (strcmp(address, "0.0.0.0") == 0 ||
	    memcmp(&rule->address, &any_ipv6, sizeof any_ipv6) == 0)
		exports_error(parser, "No host has the address '%s'. Write * for everybody.", text);
	rule->kind = EXPORT_HOST_ADDRESS;
	rule->prefix_bits = ADDRESS_BITS;
	return true;
}

/* Labels of letters, digits, '-' and '_' (and @wildcards) between dots; a dot may end it. */
static bool is_name(const char *text, const char *wildcards)
{
	size_t label_bytes = 0;

	for (const char *c = text; *c; c++) {
		if (*c == '.') {
			if (label_bytes == 0)
				return false;
			label_bytes = 0;
			continue;
		}
		if (!isalnum((unsigned char) *c) && *c != '-' && *c != '_' &&
		    !strchr(wildcards, *c))
			return false;
		if (++label_bytes > NAME_LABEL_BYTES_MAX)
			return false;
	}
	return *text != '\0';
}

/* Is the last label a number? Then it was to be an address (RFC 1123 section 2.1). */
static bool ends_in_number(const char *text)
{
	const char *dot = strrchr(text, '.');
	const char *label = dot ? dot + 1 : text;

	return *label && is_only(label, "0123456789");
}

/* What is neither address nor network nor name: why, and what to write. */
static void host_error(struct exports_parser *parser, const char *text)
{
	const char *instead = "Write an address, ADDRESS/BITS, a host name, or * for everybody";

	if (text[0] == '/')
		instead = "Each directory needs a line of its own; in quotes if it has blanks";
	else if (text[0] == '@')
		instead = "Netgroups are not supported: list the hosts, or write their network as"
			  " ADDRESS/BITS";
	else if (strncasecmp(text, "gss/", 4) == 0)
		instead = "Kerberos is not supported: write the hosts themselves";
	else if (strchr(text, ','))
		instead =
			"Put blanks between hosts, and options in parentheses: HOST1(rw) HOST2(rw)";
	else if (strchr(text, '%'))
		instead = "Take the '%' and the interface's name out";
	else if (strchr(text, '='))
		instead = "Put options in parentheses right after the host: HOST(rw)";
	else if (strchr(text, '[') && !strchr(text, ':'))
		instead = "Lists of characters are not supported: use * and ?, or list the hosts";
	else if (strchr(text, ':'))
		instead =
			"An IPv6 address is written like 2001:db8::1; ports and paths do not belong"
			" here";
	else if (is_only(text, "0123456789.*?"))
		instead = "Write four numbers, as in 10.0.0.5, or a network, as in 10.0.0.0/24";
	else if (ends_in_number(text))
		instead = "Write a network, as in 10.0.0.0/24, or each address by itself";
	exports_error(parser, "'%.*s' is no host. %s.", EXPORTS_EXCERPT_BYTES_MAX, text, instead);
}

/* The kind of @text, with address and prefix. */
static bool host_classify(struct exports_parser *parser, const char *text, struct export_rule *rule)
{
	const char *slash = strchr(text, '/');

	rule->kind = EXPORT_HOST_ANY;
	if (strcmp(text, "*") == 0)
		return true;
	if (slash && slash != text && text[0] != '@' && strncasecmp(text, "gss/", 4) != 0)
		return network_parse(parser, text, slash, rule);
	if (address_parse(parser, text, rule))
		return true;
	if (!is_only(text, "0123456789.*?") && !ends_in_number(text)) {
		rule->kind = strpbrk(text, "*?") ? EXPORT_HOST_PATTERN : EXPORT_HOST_NAME;
		if (is_name(text, "*?"))
			return true;
	}
	host_error(parser, text);
	return false;
}

bool exports_host_parse(struct exports_parser *parser, const char *text,
                        struct export_rule *ret_rule)
{
	struct export_rule rule = { 0 };

	if (strlen(text) > EXPORT_HOST_BYTES_MAX) {
		exports_error(parser,
		              "The host '%.*s...' has more than %d bytes. Is a blank missing?",
		              EXPORTS_EXCERPT_BYTES_MAX, text, EXPORT_HOST_BYTES_MAX);
		return false;
	}
	if (!*text)
		text = "*";
	if (!host_classify(parser, text, &rule))
		return false;

	rule.text = strdup(text);
	if (!rule.text) {
		parser->out_of_memory = true;
		return false;
	}
	*ret_rule = rule;
	return true;
}
