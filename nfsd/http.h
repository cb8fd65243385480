/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - metrics for Prometheus, a status page and a word on the server's health, over HTTP
 * (libmicrohttpd). docs/monitoring.md describes them.
 *
 * A thread of its own serves it, at low priority: few connections, each with a deadline; few
 * requests a second; a document is made anew ten times a second at most. Whatever is done there, no
 * worker waits for it.
 */
#pragma once

struct http;
struct server;

/* All workers run. What is wrong is logged: the server does without (NULL), as it does where
 * [metrics] says "listen = none". */
struct http *http_open(struct server *server);

/* Before the workers end. Takes NULL. */
void http_stop(struct http *http);

/* After that, before the files. Takes NULL, returns NULL. */
struct http *http_close(struct http *http);
