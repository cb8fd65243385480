/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule of an export counts for a client. The name service is asked last and as little as
 * possible: names that stand before a matching address, and the client's own name once, if nothing
 * better than a pattern is left.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <netdb.h>
#include <string.h>

#include "vfs/exports.h"

enum {
	IPV4_SHIFT_BITS = 96
};

bool export_needs_names(const struct export_spec *spec)
{
	for (size_t i = 0; i < spec->rule_count; i++) {
		if (spec->rules[i].kind == EXPORT_HOST_NAME ||
		    spec->rules[i].kind == EXPORT_HOST_PATTERN)
			return true;
	}
	return false;
}

static bool address_equals(const struct export_address *a, const struct export_address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static bool network_contains(const struct export_rule *rule, const struct export_address *client)
{
	unsigned whole_bytes = rule->prefix_bits / 8, rest_bits = rule->prefix_bits % 8;
	uint8_t mask = (uint8_t) (0xff00 >> rest_bits);

	assert(rule->prefix_bits <= 128);
	if (export_address_is_ipv4(client) && rule->prefix_bits < IPV4_SHIFT_BITS)
		return false;
	if (memcmp(rule->address.bytes, client->bytes, whole_bytes) != 0)
		return false;
	return rest_bits == 0 ||
	       ((rule->address.bytes[whole_bytes] ^ client->bytes[whole_bytes]) & mask) == 0;
}

/* Names do not care for case, nor for a dot at their end. */
static bool name_ends(const char *at)
{
	return at[0] == '\0' || (at[0] == '.' && at[1] == '\0');
}

/* '*' is any run of characters and '?' one, neither a dot. Going back to the last '*' suffices:
 * what an earlier one could take in addition, the last one can as well, or a dot stops both. */
static bool pattern_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *star_name = NULL;

	while (!name_ends(name)) {
		if (*pattern == '*') {
			star = pattern++;
			star_name = name;
		} else if ((*pattern == '?' && *name != '.') ||
		           (*pattern &&
		            tolower((unsigned char) *pattern) == tolower((unsigned char) *name))) {
			pattern++;
			name++;
		} else if (star && *star_name != '.') {
			pattern = star + 1;
			name = ++star_name;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return name_ends(pattern);
}

static const struct export_rule *match_host(const struct export_spec *spec,
                                            const struct export_address *client,
                                            const struct export_names *names)
{
	for (size_t i = 0; i < spec->rule_count; i++) {
		const struct export_rule *rule = &spec->rules[i];

		if (rule->kind == EXPORT_HOST_ADDRESS && address_equals(&rule->address, client))
			return rule;
		if (rule->kind == EXPORT_HOST_NAME &&
		    names->has_address(names->context, rule->text, client))
			return rule;
	}
	return NULL;
}

static const struct export_rule *match_network(const struct export_spec *spec,
                                               const struct export_address *client)
{
	const struct export_rule *best = NULL;

	for (size_t i = 0; i < spec->rule_count; i++) {
		const struct export_rule *rule = &spec->rules[i];

		if (rule->kind == EXPORT_HOST_NETWORK && network_contains(rule, client) &&
		    (!best || rule->prefix_bits > best->prefix_bits))
			best = rule;
	}
	return best;
}

static const struct export_rule *match_pattern(const struct export_spec *spec,
                                               const struct export_address *client,
                                               const struct export_names *names)
{
	char name[NI_MAXHOST];
	bool asked = false;

	for (size_t i = 0; i < spec->rule_count; i++) {
		const struct export_rule *rule = &spec->rules[i];

		if (rule->kind != EXPORT_HOST_PATTERN)
			continue;
		if (!asked && !names->name_of(names->context, client, name, sizeof name))
			return NULL; /* a client without a name matches no pattern */
		asked = true;
		if (pattern_matches(rule->text, name))
			return rule;
	}
	return NULL;
}

static const struct export_rule *match_any(const struct export_spec *spec)
{
	for (size_t i = 0; i < spec->rule_count; i++) {
		if (spec->rules[i].kind == EXPORT_HOST_ANY)
			return &spec->rules[i];
	}
	return NULL;
}

const struct export_rule *export_match(const struct export_spec *spec,
                                       const struct export_address *client,
                                       const struct export_names *names)
{
	const struct export_rule *rule;

	assert(names || !export_needs_names(spec));
	rule = match_host(spec, client, names);
	if (!rule)
		rule = match_network(spec, client);
	if (!rule)
		rule = match_pattern(spec, client, names);
	if (!rule)
		rule = match_any(spec);
	return rule;
}
