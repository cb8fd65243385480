/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_show.h - two of lodestore-nfsd's status documents, for people. It writes to the stream
 * that it is given, and does no other I/O.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "offload/cli/json_read.h"
#include "offload/cli/text.h"

/* What was, what is, and how far they lie apart: rates are of the time between them. */
struct status_pair {
	const struct json_value *before, *now;
	uint64_t apart_ms; /* not 0 */
};

/* From their uptimes; if the server was restarted meanwhile, since its start. */
struct status_pair status_pair(const struct json_value *before, const struct json_value *now);

/* A count under @key of an object in both: by how much it grows in a second. */
uint64_t status_rate(const struct status_pair *pair, const struct json_value *before,
                     const struct json_value *now, const char *key);

/* The same for all procedures together. */
uint64_t status_rate_of_all(const struct status_pair *pair, const char *key);

/* In how many microseconds at most @permille of the calls between were answered; 0: none were. */
uint64_t status_latency_us(const struct json_value *before, const struct json_value *now,
                           unsigned permille);

/* "<128us", "<4ms", "-" for 0. */
const char *status_text_us(uint64_t us, char to[TEXT_SHORT_BYTES]);

/* The server itself: a screen's upper part. */
void status_show_server(FILE *to, const struct status_pair *pair);

/* What is wrong with it, in words; "" if nothing is. */
const char *status_trouble(const struct json_value *now);

/* A table with a row an export, or a client: "exports", "clients". */
void status_show_rows(FILE *to, const struct status_pair *pair, const char *list);

/* The same as JSON: the document's rows, with calls_s, read_bytes_s, written_bytes_s, p50_us and
 * p99_us. */
void status_rows_json(FILE *to, const struct status_pair *pair, const char *list);
void status_put_rows(struct json *json, const struct status_pair *pair, const char *list);
