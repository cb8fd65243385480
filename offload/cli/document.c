/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/link.h"
#include "vfs/base/cleanup.h"

enum {
	APART_MS = 1000,
	ANSWER_MS = 5000,
	DOCUMENT_BYTES_MAX = 64 << 20,
	FORMAT_KNOWN = 1, /* STATUS_FORMAT of nfsd/status_text.c */
};

void document_free(struct document *document)
{
	free(document->text);
	document->text = NULL;
	document->value = json_value_free(document->value);
}

int document_request(const char *path, const char *request, struct document *document)
{
	uint64_t until_ms = link_now_ms() + ANSWER_MS;
	AUTO(close_fd) int fd = -EBADF;
	int r;

	*document = (struct document){ 0 };
	r = link_connect_unix(path, until_ms, &fd);
	if (r == 0)
		r = link_send(fd, (const uint8_t *) request, strlen(request), until_ms);
	if (r == 0)
		r = link_receive_all(fd, DOCUMENT_BYTES_MAX, until_ms, &document->text,
		                     &document->text_bytes);
	if (r == 0)
		r = json_read(document->text, document->text_bytes, &document->value);
	return r;
}

int document_ask(const char *path, struct document *document)
{
	int r = document_request(path, "", document);

	if (r == 0 && json_find_number(document->value, "format") != FORMAT_KNOWN)
		r = -EBADMSG;
	return r;
}

int document_ask_twice(const char *path, struct document documents[2])
{
	int r = document_ask(path, &documents[0]);

	if (r == 0)
		r = link_sleep(link_now_ms() + APART_MS);
	return r == 0 ? document_ask(path, &documents[1]) : r;
}

void document_why(const char *path, int error, char ret_why[DOCUMENT_WHY_BYTES])
{
	if (error == -EACCES || error == -EPERM)
		snprintf(ret_why, DOCUMENT_WHY_BYTES, "only root may ask on %s: use sudo", path);
	else if (error == -ENOENT || error == -ECONNREFUSED)
		snprintf(ret_why, DOCUMENT_WHY_BYTES,
		         "lodestore-nfsd does not answer on %s: systemctl status lodestore-nfsd",
		         path);
	else if (error == -EBADMSG)
		snprintf(ret_why, DOCUMENT_WHY_BYTES,
		         "what answers on %s is no lodestore-nfsd, or a newer one than this"
		         " command",
		         path);
	else
		snprintf(ret_why, DOCUMENT_WHY_BYTES, "cannot ask lodestore-nfsd on %s: %s", path,
		         strerror(-error));
}
