/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_text.c - a job's record as lines "key value", and back.
 *
 * One table says which fields there are, and both directions follow it. The last line is a checksum
 * of all before: a record that is not whole is no record. Fields may be added with a new version.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "offload/job.h"
#include "vfs/base/cleanup.h"

#define FIRST_LINE "lodestore-job 1\n"

enum field_kind {
	FIELD_U64,
	FIELD_U32,
	FIELD_BOOL,
	FIELD_TEXT,
	FIELD_BYTES,
	FIELD_HANDLE,
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset, bytes;
};

#define FIELD(name, kind, member)                                    \
	{                                                            \
		name, kind, offsetof(struct job_record, member),     \
			sizeof(((struct job_record *) NULL)->member) \
	}

static const struct field fields[] = {
	FIELD("id", FIELD_U64, id),
	FIELD("kind", FIELD_U32, kind),
	FIELD("state", FIELD_U32, state),
	FIELD("status", FIELD_U32, status),
	FIELD("phase", FIELD_U32, phase),
	FIELD("flags", FIELD_U32, flags),
	FIELD("source.handle", FIELD_HANDLE, source.handle),
	FIELD("source.dir", FIELD_HANDLE, source.dir),
	FIELD("source.name", FIELD_TEXT, source.name),
	FIELD("source.shown", FIELD_TEXT, source.shown),
	FIELD("source.ctime_ns", FIELD_U64, source.ctime_ns),
	FIELD("destination.handle", FIELD_HANDLE, destination.handle),
	FIELD("destination.dir", FIELD_HANDLE, destination.dir),
	FIELD("destination.name", FIELD_TEXT, destination.name),
	FIELD("destination.shown", FIELD_TEXT, destination.shown),
	FIELD("destination.ctime_ns", FIELD_U64, destination.ctime_ns),
	FIELD("host", FIELD_BYTES, host),
	FIELD("cred", FIELD_BYTES, cred),
	FIELD("bytes_total", FIELD_U64, bytes_total),
	FIELD("bytes_done", FIELD_U64, bytes_done),
	FIELD("bytes_moved", FIELD_U64, bytes_moved),
	FIELD("reserve_bytes", FIELD_U64, reserve_bytes),
	FIELD("durable_bytes", FIELD_U64, durable_bytes),
	FIELD("former_bytes", FIELD_U64, former_bytes),
	FIELD("thick", FIELD_BOOL, thick),
	FIELD("cancel", FIELD_BOOL, cancel),
	FIELD("engine", FIELD_TEXT, engine),
	FIELD("text", FIELD_TEXT, text),
	FIELD("created_ms", FIELD_U64, created_ms),
	FIELD("started_ms", FIELD_U64, started_ms),
	FIELD("finished_ms", FIELD_U64, finished_ms),
	FIELD("has_checksum", FIELD_BOOL, has_checksum),
	FIELD("checksum", FIELD_BYTES, checksum),
};

/* ---- out ---- */

struct text_out {
	char *at;
	size_t used;
};

static void put(struct text_out *out, const char *text, size_t bytes)
{
	assert(bytes < JOB_RECORD_TEXT_BYTES - out->used);
	memcpy(out->at + out->used, text, bytes);
	out->used += bytes;
}

static void put_text(struct text_out *out, const char *text)
{
	put(out, text, strlen(text));
}

static void put_number(struct text_out *out, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, number);
	put_text(out, digits);
}

static void put_hex(struct text_out *out, const uint8_t *bytes, size_t count)
{
	char digits[3];

	for (size_t i = 0; i < count; i++) {
		snprintf(digits, sizeof digits, "%02x", bytes[i]);
		put(out, digits, 2);
	}
}

/* Names may hold any byte; a line may not. */
static void put_escaped(struct text_out *out, const char *text)
{
	for (; *text; text++) {
		if (*text > ' ' && *text <= '~' && *text != '%') {
			put(out, text, 1);
			continue;
		}
		put(out, "%", 1);
		put_hex(out, (const uint8_t *) text, 1);
	}
}

static void put_field(struct text_out *out, const struct field *field, const uint8_t *value)
{
	const struct vfs_handle *handle = (const void *) value;
	uint32_t word;
	uint64_t number;

	switch (field->kind) {
	case FIELD_U64:
		memcpy(&number, value, sizeof number);
		return put_number(out, number);
	case FIELD_U32:
		memcpy(&word, value, sizeof word);
		return put_number(out, word);
	case FIELD_BOOL:
		return put_number(out, *(const bool *) value);
	case FIELD_TEXT:
		return put_escaped(out, (const char *) value);
	case FIELD_BYTES:
		return put_hex(out, value, field->bytes);
	case FIELD_HANDLE:
		return put_hex(out, handle->bytes, handle->count);
	}
}

size_t job_print(const struct job_record *record, char to[JOB_RECORD_TEXT_BYTES])
{
	struct text_out out = { .at = to };
	char sum[32];

	put_text(&out, FIRST_LINE);
	for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
		put_text(&out, fields[i].name);
		put_text(&out, " ");
		put_field(&out, &fields[i], (const uint8_t *) record + fields[i].offset);
		put_text(&out, "\n");
	}
	snprintf(sum, sizeof sum, "end %016" PRIx64 "\n", (uint64_t) XXH3_64bits(to, out.used));
	put_text(&out, sum);
	to[out.used] = '\0';
	return out.used;
}

/* ---- in ---- */

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool get_number(const char *text, size_t bytes, uint64_t max, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t digit = (uint64_t) (text[i] - '0');

		if (text[i] < '0' || text[i] > '9' || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return number <= max;
}

static bool get_hex(const char *text, size_t bytes, uint8_t *to, size_t to_bytes)
{
	if (bytes != to_bytes * 2)
		return false;
	for (size_t i = 0; i < to_bytes; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t) (high << 4 | low);
	}
	return true;
}

static bool get_escaped(const char *text, size_t bytes, char *to, size_t to_bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = (uint8_t) text[i];

		if (used + 1 >= to_bytes)
			return false;
		if (byte == '%') {
			if (bytes - i < 3 || !get_hex(text + i + 1, 2, &byte, 1) || byte == 0)
				return false;
			i += 2;
		}
		to[used++] = (char) byte;
	}
	to[used] = '\0';
	return true;
}

static bool get_handle(const char *text, size_t bytes, struct vfs_handle *to)
{
	if (bytes % 2 != 0 || bytes / 2 > VFS_HANDLE_BYTES_MAX)
		return false;
	to->count = (uint32_t) (bytes / 2);
	return get_hex(text, bytes, to->bytes, to->count);
}

static bool get_field(const struct field *field, const char *text, size_t bytes, uint8_t *value)
{
	uint64_t number;
	uint32_t word;

	switch (field->kind) {
	case FIELD_U64:
		if (!get_number(text, bytes, UINT64_MAX, &number))
			return false;
		memcpy(value, &number, sizeof number);
		return true;
	case FIELD_U32:
		if (!get_number(text, bytes, UINT32_MAX, &number))
			return false;
		word = (uint32_t) number;
		memcpy(value, &word, sizeof word);
		return true;
	case FIELD_BOOL:
		if (!get_number(text, bytes, 1, &number))
			return false;
		*(bool *) value = number == 1;
		return true;
	case FIELD_TEXT:
		return get_escaped(text, bytes, (char *) value, field->bytes);
	case FIELD_BYTES:
		return get_hex(text, bytes, value, field->bytes);
	case FIELD_HANDLE:
		return get_handle(text, bytes, (struct vfs_handle *) value);
	}
	return false;
}

/* What the checksum cannot tell: a later version's record with numbers that mean nothing here. */
static bool is_sound(const struct job_record *record)
{
	return record->id != 0 && record->kind >= OFFLOAD_KIND_CLONE &&
	       record->kind <= OFFLOAD_KIND_PUNCH && record->state <= OFFLOAD_STATE_CANCELLED &&
	       record->status <= OFFLOAD_ERR_INTERNAL && record->phase <= JOB_ENDED &&
	       record->cred.group_count <= VFS_GROUPS_MAX;
}

int job_parse(const char *text, size_t text_bytes, struct job_record *ret_record)
{
	struct job_record record = { 0 };
	const char *at = text, *end = text + text_bytes, *line_end;
	char sum[32];
	size_t name_bytes;

	if (text_bytes < sizeof FIRST_LINE - 1 ||
	    memcmp(at, FIRST_LINE, sizeof FIRST_LINE - 1) != 0)
		return -EBADMSG;
	at += sizeof FIRST_LINE - 1;
	for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
		line_end = memchr(at, '\n', (size_t) (end - at));
		name_bytes = strlen(fields[i].name);
		if (!line_end || (size_t) (line_end - at) < name_bytes + 1 ||
		    memcmp(at, fields[i].name, name_bytes) != 0 || at[name_bytes] != ' ' ||
		    !get_field(&fields[i], at + name_bytes + 1,
		               (size_t) (line_end - at) - name_bytes - 1,
		               (uint8_t *) &record + fields[i].offset))
			return -EBADMSG;
		at = line_end + 1;
	}
	snprintf(sum, sizeof sum, "end %016" PRIx64 "\n",
	         (uint64_t) XXH3_64bits(text, (size_t) (at - text)));
	if ((size_t) (end - at) != strlen(sum) || memcmp(at, sum, strlen(sum)) != 0 ||
	    !is_sound(&record))
		return -EBADMSG;
	*ret_record = record;
	return 0;
}
