/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf.h - a table-driven reader of INI files (libinih): one row a key, all mistakes in one run.
 *
 * The table is the documentation: tests/lint/check-conf-man.sh holds lodestore.conf(5) against it.
 *
 *     [section]            case does not matter in names; text of values stays as it is
 *     key = value ; why    a comment is a line that begins with ; or #, or follows a blank and ;
 *
 * A line may have 197 bytes with inih as distributions build it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_kind {
	CONF_NUMBER,  /* uint64_t; whole, min..max */
	CONF_SIZE,    /* uint64_t bytes; K, M, G, T (powers of 1024) may follow; min..max */
	CONF_BOOLEAN, /* bool; yes no true false on off 1 0 */
	CONF_TEXT,    /* char *, owned by the structure, freed by conf_done() */
	CONF_CHOICE,  /* unsigned: index into choices */
};

struct conf_key {
	const char *section, *name;
	enum conf_kind kind;
	size_t offset;              /* of the value in the caller's structure */
	uint64_t min, max, preset;  /* min <= preset <= max for CONF_NUMBER and CONF_SIZE */
	const char *preset_text;    /* CONF_TEXT; NULL: none */
	const char *const *choices; /* CONF_CHOICE; ends with NULL */
	const char *unit;           /* "seconds", "connections"; in messages */
};

typedef void conf_report_fn(void *context, const char *file, unsigned line, const char *message);

/* Write every key's preset into @values (texts are copied). 0 or -ENOMEM. */
int conf_preset(const struct conf_key *keys, size_t key_count, void *values);

/**
 * conf_parse() - read one file's text into @values, which conf_preset() has filled
 *
 * Reported, each with its line and what to write instead: an unknown section or key (with the
 * nearest known one), a key given twice, a value that is missing, does not parse or is out of
 * range, a line without '=', a line before the first section or too long, bytes that are no text.
 * All are reported, and every good line still counts (of a key given twice the first).
 *
 * Return: 0; -EINVAL if anything was reported; -ENOMEM.
 */
int conf_parse(const struct conf_key *keys, size_t key_count, void *values, const char *file_name,
               const char *text, size_t text_bytes, conf_report_fn *report, void *context);

/* Has the key the same value in both? */
bool conf_equal(const struct conf_key *key, const void *a, const void *b);

/* Free the texts in @values. */
void conf_done(const struct conf_key *keys, size_t key_count, void *values);

/* "64K", "1G", "4096" to bytes: 0, -EINVAL, -ERANGE. */
int conf_size_parse(const char *text, uint64_t *ret_bytes);

/* The candidate nearest to @word by edit distance, or NULL if none is near (for "did you mean"). */
const char *conf_nearest(const char *word, const char *const *candidates, size_t count);
