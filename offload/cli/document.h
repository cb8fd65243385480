/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document.h - lodestore-nfsd's status document, asked for on its socket.
 *
 * Return 0 or -errno, as link.h; -EBADMSG: it is none that this command knows.
 */
#pragma once

#include "offload/cli/json_read.h"

enum {
	DOCUMENT_WHY_BYTES = 512
};

struct document {
	char *text;
	size_t text_bytes;
	struct json_value *value;
};

/* Free it also after a failure. */
int document_ask(const char *path, struct document *document);
void document_free(struct document *document);

/* What one of the sockets beside that one answers to a line, which is sent first. */
int document_request(const char *path, const char *request, struct document *document);

/* Two of them, and a second between: rates are of that second. @documents: zeroed. */
int document_ask_twice(const char *path, struct document documents[2]);

/* The failure in words, with what to do, without a full stop. */
void document_why(const char *path, int error, char ret_why[DOCUMENT_WHY_BYTES]);
