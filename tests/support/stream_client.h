/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_client.h - the clients' side of a stream: what was sent, what may be answered, what was.
 *
 * The stream is taken apart by plain concatenation of its fragments (RFC 5531 section 11), apart
 * from the server's own way of doing it. A message with at least 8 bytes that says CALL must be
 * answered, with its xid; the same message sent again may be answered once only (it may run
 * still). Anything else must not be answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_client; /* one connection's replies */
struct stream_book;   /* what all of them together sent and got */

enum {
	STREAM_CLIENTS_MAX = 2,
};

/* An empty book, without clients. There is one: what an earlier call returned is gone. */
struct stream_book *stream_book_new(void);

/* One connection sends this. False: the server must close it (a record over its limit). */
bool stream_book_sends(struct stream_book *book, const uint8_t *bytes, size_t bytes_count);

/* More was sent than it has room for: it cannot check this. */
bool stream_book_is_full(const struct stream_book *book);

struct stream_client *stream_client_new(struct stream_book *book);

/* So many bytes of a connection's replies have come; checks every whole reply in them. */
void stream_client_receives(struct stream_client *client, const uint8_t *bytes, size_t bytes_count);

/* No half reply has come. */
bool stream_client_is_between(const struct stream_client *client);

/* Asserts that nothing was answered too often and, with @all, that everything was answered. */
void stream_book_check(const struct stream_book *book, bool all);
