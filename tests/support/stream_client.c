/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stream_client.h"

#undef NDEBUG
#include <assert.h>
#include <endian.h>
#include <string.h>
#include <xxhash.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/rpc_call.h"
#include "support/nfs3_reply_check.h"

enum {
	CALLS_MAX = 1024, /* checks are quadratic */
	REPLY_BYTES_MAX = 2 << 20,
};

struct sent {
	uint32_t xid;
	uint64_t hash;
	uint32_t program, version, procedure; /* program 0: not known */
	bool repeated;                        /* the same message was sent before */
};

struct stream_book {
	struct sent sent[CALLS_MAX];
	uint32_t answered[CALLS_MAX]; /* xids */
	size_t sent_count, answered_count;
	bool full;
	uint8_t joined[RPC_RECORD_BYTES_MAX];
};

struct stream_client {
	struct stream_book *book;
	size_t have;
	uint8_t bytes[REPLY_BYTES_MAX];
};

static uint32_t word_at(const uint8_t *bytes, size_t index)
{
	uint32_t word;

	memcpy(&word, bytes + 4 * index, 4);
	return be32toh(word);
}

/* One book and few clients, used again: a fuzz target makes them anew for each input. */
static struct stream_book the_book;
static struct stream_client the_clients[STREAM_CLIENTS_MAX];
static unsigned client_count;

struct stream_book *stream_book_new(void)
{
	the_book.sent_count = the_book.answered_count = 0;
	the_book.full = false;
	client_count = 0;
	return &the_book;
}

static void message_sent(struct stream_book *book, const uint8_t *message, size_t bytes_count)
{
	struct sent *sent = &book->sent[book->sent_count];

	if (bytes_count < 8 || word_at(message, 1) != 0 /* CALL */)
		return;
	if (book->sent_count == CALLS_MAX) {
		book->full = true;
		return;
	}
	book->sent_count++;
	*sent = (struct sent){ .xid = word_at(message, 0),
		               .hash = XXH3_64bits(message, bytes_count) };
	if (bytes_count >= 24) {
		sent->program = word_at(message, 3);
		sent->version = word_at(message, 4);
		sent->procedure = word_at(message, 5);
	}
	for (const struct sent *before = book->sent; before < sent; before++)
		sent->repeated |= before->xid == sent->xid && before->hash == sent->hash;
}

bool stream_book_sends(struct stream_book *book, const uint8_t *bytes, size_t bytes_count)
{
	size_t joined = 0;

	while (bytes_count >= 4) {
		uint32_t mark = word_at(bytes, 0), fragment = mark & 0x7fffffff;

		if (fragment > RPC_RECORD_BYTES_MAX - joined)
			return false;
		if (bytes_count - 4 < fragment)
			return true;
		if (fragment)
			memcpy(book->joined + joined, bytes + 4, fragment);
		joined += fragment;
		bytes += 4 + fragment;
		bytes_count -= 4 + fragment;
		if (mark >> 31) {
			message_sent(book, book->joined, joined);
			joined = 0;
		}
	}
	return true;
}

bool stream_book_is_full(const struct stream_book *book)
{
	return book->full;
}

struct stream_client *stream_client_new(struct stream_book *book)
{
	struct stream_client *client = &the_clients[client_count++];

	assert(client_count <= STREAM_CLIENTS_MAX);
	client->book = book;
	client->have = 0;
	return client;
}

/* Results can be held against a procedure if all calls of that xid name the same. */
static const struct sent *only_call_of(const struct stream_book *book, uint32_t xid)
{
	const struct sent *only = NULL;

	for (const struct sent *sent = book->sent; sent < book->sent + book->sent_count; sent++) {
		if (sent->xid != xid)
			continue;
		if (only && (only->program != sent->program || only->version != sent->version ||
		             only->procedure != sent->procedure))
			return NULL;
		only = sent;
	}
	assert(only); /* an answer to nothing */
	return only;
}

static void reply_came(struct stream_book *book, const uint8_t *reply, size_t bytes_count)
{
	const struct sent *call;
	struct reply_seen seen;
	bool good = reply_check_header(reply, bytes_count, &seen);

	assert(good);
	call = only_call_of(book, seen.xid);
	if (seen.success && call && call->program == NFS_PROGRAM && call->version == NFS_V3)
		assert(reply_check_nfs3(call->procedure, seen.results, seen.result_bytes));
	assert(book->answered_count < CALLS_MAX);
	book->answered[book->answered_count++] = seen.xid;
}

void stream_client_receives(struct stream_client *client, const uint8_t *bytes, size_t bytes_count)
{
	size_t at = 0;

	assert(bytes_count <= sizeof client->bytes - client->have);
	memcpy(client->bytes + client->have, bytes, bytes_count);
	client->have += bytes_count;
	while (client->have - at >= 4) {
		uint32_t mark = word_at(client->bytes + at, 0), reply_bytes = mark & 0x7fffffff;

		assert(mark >> 31); /* one fragment */
		assert(reply_bytes <= sizeof client->bytes - 4);
		if (client->have - at - 4 < reply_bytes)
			break;
		reply_came(client->book, client->bytes + at + 4, reply_bytes);
		at += 4 + reply_bytes;
	}
	memmove(client->bytes, client->bytes + at, client->have - at);
	client->have -= at;
}

bool stream_client_is_between(const struct stream_client *client)
{
	return client->have == 0;
}

void stream_book_check(const struct stream_book *book, bool all)
{
	for (const struct sent *sent = book->sent; sent < book->sent + book->sent_count; sent++) {
		size_t most = 0, least = 0, answers = 0;

		for (const struct sent *same = book->sent; same < book->sent + book->sent_count;
		     same++)
			if (same->xid == sent->xid) {
				most++;
				least += !same->repeated;
			}
		for (size_t i = 0; i < book->answered_count; i++)
			answers += book->answered[i] == sent->xid;
		assert(answers <= most);
		assert(!all || answers >= least);
	}
}
