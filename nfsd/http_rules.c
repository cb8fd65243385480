/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/http_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/base/cleanup.h"

enum {
	HOST_BYTES_MAX = 64, /* an address, or localhost, with NUL */
	PORT_DIGITS_MAX = 5,
	PORT_MAX = 65535,
};

static const char *const paths[HTTP_PAGES] = {
	[HTTP_METRICS] = "/metrics", [HTTP_STATUS] = "/status.json", [HTTP_HEALTH] = "/healthz",
	[HTTP_INDEX] = "/",          [HTTP_STYLE] = "/page.css",     [HTTP_SCRIPT] = "/page.js",
	[HTTP_ICON] = "/page.svg",
};

enum http_page http_page_of(const char *path)
{
	for (unsigned i = HTTP_NOTHING + 1; i < HTTP_PAGES; i++)
		if (strcmp(path, paths[i]) == 0)
			return i;
	return HTTP_NOTHING;
}

bool http_method_known(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* "HOST" or "HOST:PORT", an IPv6 address in brackets: the host without them, and where the port
 * begins; "" if there is none. */
static int split(const char *text, char ret_host[HOST_BYTES_MAX], const char **ret_port)
{
	const char *begin = text[0] == '[' ? text + 1 : text;
	const char *end = begin + strcspn(begin, text[0] == '[' ? "]" : ":");
	size_t bytes = (size_t) (end - begin);

	if (bytes == 0 || bytes >= HOST_BYTES_MAX)
		return -EINVAL;
	if (text[0] == '[') {
		if (*end != ']')
			return -EINVAL;
		end++;
	}
	if (*end && (*end != ':' || !end[1]))
		return -EINVAL;
	memcpy(ret_host, begin, bytes);
	ret_host[bytes] = '\0';
	*ret_port = *end ? end + 1 : "";
	return 0;
}

static int port_parse(const char *text, uint16_t *ret_port)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	if (digits == 0 || digits > PORT_DIGITS_MAX || text[digits] || port < 1 || port > PORT_MAX)
		return -EINVAL;
	*ret_port = (uint16_t) port;
	return 0;
}

int http_listen_parse(const char *text, union sockets_address *ret_address)
{
	char host[HOST_BYTES_MAX];
	const char *port_text;
	uint16_t port;

	if (split(text, host, &port_text) < 0 || port_parse(port_text, &port) < 0)
		return -EINVAL;
	return sockets_parse(host, port, ret_address);
}

bool http_is_loopback(const union sockets_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
	return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool http_host_is_local(const char *host)
{
	union sockets_address address;
	char name[HOST_BYTES_MAX];
	const char *port_text;
	uint16_t port;

	if (!host)
		return true;
	if (split(host, name, &port_text) < 0 || (port_text[0] && port_parse(port_text, &port) < 0))
		return false;
	if (strcasecmp(name, "localhost") == 0)
		return true;
	return sockets_parse(name, 0, &address) == 0 && http_is_loopback(&address);
}
