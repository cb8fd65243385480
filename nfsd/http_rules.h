/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_rules.h - what is asked over HTTP, and whether it is answered. Pure.
 */
#pragma once

#include "nfsd/sockets.h"

enum http_page {
	HTTP_NOTHING, /* 404 */
	HTTP_METRICS, /* for Prometheus */
	HTTP_STATUS,  /* for the status page's script */
	HTTP_HEALTH,  /* for load balancers and the like */
	HTTP_INDEX,   /* the status page, and what it is made of */
	HTTP_STYLE,
	HTTP_SCRIPT,
	HTTP_ICON,
	HTTP_PAGES,
};

enum http_page http_page_of(const char *path);

/* GET and HEAD are all there is. */
bool http_method_known(const char *method);

/* "127.0.0.1:9749", "[::1]:9749": 0 or -EINVAL. */
int http_listen_parse(const char *text, union sockets_address *ret_address);

bool http_is_loopback(const union sockets_address *address);

/* May a browser that was told this Host see what is only served on the loopback? A name of somebody
 * else's that suddenly means 127.0.0.1 (DNS rebinding) is none of ours; so only localhost and
 * loopback addresses are good. NULL: no browser. */
bool http_host_is_local(const char *host);
