/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - the thread behind [metrics].
 *
 * libmicrohttpd has the connections, and runs when we let it: once a turn, and never more turns
 * than PAUSE_MS and REQUEST_MS allow. Each connection carries one request and has CONNECTION_MS for
 * it, however slowly its bytes come.
 */
#include "nfsd/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd/http_rules.h"
#include "nfsd/metrics.h"
#include "nfsd/page_assets.h"
#include "nfsd/page_text.h"
#include "nfsd/server.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/log.h"

enum {
	CONNECTIONS_MAX = 32,
	CONNECTIONS_ADDRESS_MAX = 16, /* of one address */
	CONNECTION_MS = 10000,        /* from its beginning to its end */
	CONNECTION_BYTES_MAX = 16 << 10,
	DOCUMENT_MS = 100, /* a document is good for so long */
	REQUEST_MS = 5,    /* a request each, at most, in the long run */
	PAUSE_MS = 2,      /* a turn each */
	TURN_MS_MAX = 1000,
	PRIORITY = 10, /* of nice(2): below whoever serves files */
};

/* An answer that is given to whoever asks. */
struct document {
	struct MHD_Response *response; /* NULL: not made yet */
	unsigned status;
	uint64_t made_ms;
};

struct visitor {
	int fd; /* negative: free */
	uint64_t until_ms;
};

struct http {
	struct server *server;
	bool loopback;
	int listen_fd, stop_fd;
	pthread_t thread;
	uint64_t started_ms, begun_ms; /* since 1970; of the clock that runs evenly */
	struct space_watch *space;
	/* The thread's: */
	struct MHD_Daemon *daemon;
	struct summary_asker *asker;
	struct sidecar *sidecar;
	struct metrics_series series;
	struct document documents[HTTP_PAGES]; /* also those that never change */
	struct MHD_Response *not_found, *bad_method, *bad_host, *no_memory;
	struct visitor visitors[CONNECTIONS_MAX];
	unsigned request_count; /* of this turn */
};

/* ---- answers ---- */

/* What a browser may do with any of them: next to nothing that it is not told. */
static const char *const headers[][2] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
	  " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
	{ "Connection", "close" },
};

/* @bytes: kept for ever (MHD_RESPMEM_PERSISTENT), or malloc'ed (MHD_RESPMEM_MUST_FREE). NULL if
 * memory is short. */
static struct MHD_Response *response_new(const void *bytes, size_t count,
                                         enum MHD_ResponseMemoryMode mode, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		count, (void *) (uintptr_t) bytes, mode);

	if (!response)
		return NULL;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < ARRAY_COUNT(headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	return response;
}

static const char plain_type[] = "text/plain; charset=utf-8";

static struct MHD_Response *sentence_new(const char *sentence)
{
	return response_new(sentence, strlen(sentence), MHD_RESPMEM_PERSISTENT, plain_type);
}

/* ---- documents ---- */

static const char *const document_types[HTTP_PAGES] = {
	[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[HTTP_STATUS] = "application/json",
	[HTTP_HEALTH] = plain_type,
};

static void write_document(struct http *http, enum http_page page, FILE *to)
{
	struct snapshot snapshot = {
		.times = { http->started_ms, clock_ms(CLOCK_MONOTONIC) - http->begun_ms },
		.summary = summary_ask(http->asker),
		.sidecar = sidecar_look(http->sidecar),
	};
	const char *trouble;

	snapshot_take(http->server, http->space, &snapshot);
	trouble = snapshot_trouble(&snapshot);
	http->documents[page].status = MHD_HTTP_OK;
	if (page == HTTP_METRICS) {
		metrics_text(to, &snapshot, &http->series);
	} else if (page == HTTP_STATUS) {
		page_text(to, http->server, &snapshot);
	} else {
		fprintf(to, "%s\n", trouble[0] ? trouble : "good");
		if (trouble[0])
			http->documents[page].status = MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	snapshot_done(&snapshot);
}

static struct MHD_Response *document_new(struct http *http, enum http_page page)
{
	struct MHD_Response *response;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	(void) __fsetlocking(to, FSETLOCKING_BYCALLER); /* nobody else has it */
	write_document(http, page, to);
	response = fclose(to) == 0
	                   ? response_new(text, bytes, MHD_RESPMEM_MUST_FREE, document_types[page])
	                   : NULL;
	if (!response)
		free(text);
	return response;
}

static const struct document *document_get(struct http *http, enum http_page page)
{
	struct document *document = &http->documents[page];
	uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (!document_types[page]) /* it never changes */
		return document;
	if (document->response && now - document->made_ms < DOCUMENT_MS)
		return document;
	if (document->response)
		MHD_destroy_response(document->response); /* who has it keeps it */
	document->response = document_new(http, page);
	document->made_ms = now;
	return document;
}

/* ---- requests ---- */

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
	struct http *http = context;
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	enum http_page page = http_page_of(path);
	const struct document *document;

	http->request_count++;
	if (http->loopback && !http_host_is_local(host))
		return MHD_queue_response(connection, MHD_HTTP_FORBIDDEN, http->bad_host);
	if (page == HTTP_NOTHING)
		return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, http->not_found);
	if (!http_method_known(method))
		return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
		                          http->bad_method);
	document = document_get(http, page);
	if (!document->response)
		return MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
		                          http->no_memory);
	return MHD_queue_response(connection, document->status, document->response);
}

/* ---- connections ---- */

static void visitor_comes(struct http *http, int fd)
{
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		if (http->visitors[i].fd >= 0)
			continue;
		http->visitors[i].fd = fd;
		http->visitors[i].until_ms = clock_ms(CLOCK_MONOTONIC) + CONNECTION_MS;
		return;
	}
}

static void visitor_goes(struct http *http, int fd)
{
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (http->visitors[i].fd == fd)
			http->visitors[i].fd = -EBADF;
}

static void notified(void *context, struct MHD_Connection *connection, void **state,
                     enum MHD_ConnectionNotificationCode code)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		visitor_comes(context, fd);
	else
		visitor_goes(context, fd);
}

/* libmicrohttpd's own timeout begins anew with every byte. It finds the connection closed. */
static void cut_off_late(struct http *http)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (http->visitors[i].fd >= 0 && now >= http->visitors[i].until_ms)
			(void) shutdown(http->visitors[i].fd, SHUT_RDWR);
}

/* ---- the thread ---- */

static int turn_ms(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	if (MHD_get_timeout(http->daemon, &wait_ms) == MHD_NO || wait_ms > TURN_MS_MAX)
		return TURN_MS_MAX;
	return (int) wait_ms;
}

/* True: stop. @fds: of which the first tells to. */
static bool stopped(struct pollfd *fds, nfds_t count, int wait_ms)
{
	fds[0].revents = 0;
	return poll(fds, count, wait_ms) > 0 && fds[0].revents;
}

static void *http_run(void *arg)
{
	struct http *http = arg;
	struct pollfd fds[] = {
		{ .fd = http->stop_fd, .events = POLLIN },
		{ .fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		  .events = POLLIN },
	};

	pthread_setname_np(pthread_self(), "http");
	/* Who is 0 is this thread alone (setpriority(2), NOTES). */
	(void) setpriority(PRIO_PROCESS, 0, PRIORITY);
	while (!stopped(fds, ARRAY_COUNT(fds), turn_ms(http))) {
		http->request_count = 0;
		MHD_run(http->daemon);
		cut_off_late(http);
		if (stopped(fds, 1, PAUSE_MS + (int) http->request_count * REQUEST_MS))
			break;
	}
	return NULL;
}

/* ---- beginning and end ---- */

static const struct {
	const unsigned char *bytes;
	size_t count;
	const char *type;
} assets[HTTP_PAGES] = {
	[HTTP_INDEX] = { page_html, sizeof page_html, "text/html; charset=utf-8" },
	[HTTP_STYLE] = { page_css, sizeof page_css, "text/css; charset=utf-8" },
	[HTTP_SCRIPT] = { page_js, sizeof page_js, "text/javascript; charset=utf-8" },
	[HTTP_ICON] = { page_svg, sizeof page_svg, "image/svg+xml" },
};

static bool responses_make(struct http *http)
{
	http->not_found = sentence_new("There is no such page: /, /metrics, /healthz are.\n");
	http->bad_method = sentence_new("Only GET and HEAD are answered.\n");
	http->bad_host = sentence_new("Ask for localhost or a loopback address: this is served on"
	                              " the loopback only (lodestore.conf(5), [metrics]).\n");
	http->no_memory = sentence_new("Memory is short.\n");
	if (!http->not_found || !http->bad_method || !http->bad_host || !http->no_memory)
		return false;
	MHD_add_response_header(http->bad_method, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	for (unsigned i = 0; i < HTTP_PAGES; i++) {
		struct document *document = &http->documents[i];

		if (!assets[i].bytes)
			continue;
		document->status = MHD_HTTP_OK;
		document->response = response_new(assets[i].bytes, assets[i].count,
		                                  MHD_RESPMEM_PERSISTENT, assets[i].type);
		if (!document->response)
			return false;
	}
	return true;
}

static int listen_on(struct http *http, const char *text)
{
	union sockets_address address;
	int fd;

	if (http_listen_parse(text, &address) < 0) /* config.c has looked */
		return -EINVAL;
	http->loopback = http_is_loopback(&address);
	fd = sockets_bind(&address, SOCK_STREAM);
	if (fd < 0)
		return fd;
	http->listen_fd = fd;
	return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int daemon_start(struct http *http)
{
	/* No thread of its own (MHD_NO_FLAG): ours lets it run. */
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, http, MHD_OPTION_LISTEN_SOCKET,
		http->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned) CONNECTIONS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned) CONNECTIONS_ADDRESS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, notified, http, MHD_OPTION_END);
	if (!http->daemon)
		return -ENOMEM;
	http->listen_fd = -EBADF; /* the daemon's */
	return 0;
}

static int http_begin(struct http *http, const struct config *config)
{
	int r = listen_on(http, config->metrics_listen);

	if (r < 0)
		return r;
	http->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (http->stop_fd < 0)
		return -errno;
	http->asker = summary_asker_new(http->server);
	http->sidecar = sidecar_new(config->offload_socket);
	http->space = space_watch_open(http->server->vfs);
	if (!http->asker || !http->sidecar || !http->space || !responses_make(http))
		return -ENOMEM;
	r = daemon_start(http);
	return r < 0 ? r : -pthread_create(&http->thread, NULL, http_run, http);
}

static void say_cannot(const char *listen, int error)
{
	const char *what =
		error == -EADDRINUSE
			? "another program has it: choose another for 'listen' of [metrics], or"
			  " none"
		: error == -EADDRNOTAVAIL ? "this machine has no such address ('listen' of"
					    " [metrics])"
					  : "see 'listen' of [metrics] in lodestore.conf(5)";

	log_warn("no metrics and no status page on %s: %s; %s", listen, strerror(-error), what);
}

struct http *http_open(struct server *server)
{
	const struct config *config = server->config;
	struct http *http;
	int r;

	if (strcmp(config->metrics_listen, "none") == 0)
		return NULL;
	http = calloc(1, sizeof *http);
	if (!http) {
		say_cannot(config->metrics_listen, -ENOMEM);
		return NULL;
	}
	http->server = server;
	http->listen_fd = http->stop_fd = -EBADF;
	http->started_ms = clock_ms(CLOCK_REALTIME);
	http->begun_ms = clock_ms(CLOCK_MONOTONIC);
	http->series.max = (unsigned) config->metrics_clients;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		http->visitors[i].fd = -EBADF;
	r = http_begin(http, config);
	if (r == 0) {
		log_info("metrics and a status page on http://%s/", config->metrics_listen);
		return http;
	}
	say_cannot(config->metrics_listen, r);
	return http_close(http);
}

void http_stop(struct http *http)
{
	static const uint64_t one = 1;

	if (!http)
		return;
	(void) !write(http->stop_fd, &one, sizeof one);
	pthread_join(http->thread, NULL);
}

static void response_free(struct MHD_Response *response)
{
	if (response)
		MHD_destroy_response(response);
}

struct http *http_close(struct http *http)
{
	if (!http)
		return NULL;
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	close_fd(&http->listen_fd);
	close_fd(&http->stop_fd);
	for (unsigned i = 0; i < HTTP_PAGES; i++)
		response_free(http->documents[i].response);
	response_free(http->not_found);
	response_free(http->bad_method);
	response_free(http->bad_host);
	response_free(http->no_memory);
	http->space = space_watch_close(http->space);
	http->asker = summary_asker_free(http->asker);
	http->sidecar = sidecar_free(http->sidecar);
	free(http);
	return NULL;
}
