/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports_edit.h - changes to the text of an exports file. Pure. What is not meant stays as it is,
 * byte for byte: comments, blanks, order.
 */
#pragma once

#include "vfs/exports.h"

/* A file's text, and what exports_parse() made of it without an error. */
struct exports_text {
	const char *text;
	size_t bytes;
	const struct exports *exports;
};

/**
 * exports_edit_add() - export a directory to hosts
 * @wanted:   the directory with its hosts, as exports_parse_line() read it
 * @words:    the hosts as they are written, one for each of wanted->rules
 * @ret_text: the new text with a NUL; the caller frees. Untouched if nothing changes
 *
 * A directory that is exported gets the hosts that it does not have; one that it has gets the new
 * options in its place.
 *
 * Return: 1 if the text changes, 0 if all of it is there already, -ENOMEM.
 */
int exports_edit_add(const struct exports_text *from, const struct export_spec *wanted,
                     const char *const *words, char **ret_text);

/**
 * exports_edit_remove() - export a directory no more
 * @path: as exports.h has it
 * @host: only to this one, as it is written in the file; NULL: to nobody
 *
 * The last host takes the line with it.
 *
 * Return: as above; 0: it is not there.
 */
int exports_edit_remove(const struct exports_text *from, const char *path, const char *host,
                        char **ret_text);

/* Both name the same clients. */
bool export_rule_same_host(const struct export_rule *a, const struct export_rule *b);
bool export_options_equal(const struct export_options *a, const struct export_options *b);

/* One lies in the other: the first of @exports that lies in @path or that @path lies in, and is not
 * @path itself. NULL. */
const struct export_spec *exports_find_overlap(const struct exports *exports, const char *path);
