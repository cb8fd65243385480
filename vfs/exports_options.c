/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of exports(5): one row each, with what it does here or why it cannot.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"
#include "vfs/exports_parser.h"

const struct export_options export_options_default = {
	.read_only = true,
	.root_squash = true,
	.offload = true,
	.nlm = true,
	.anon_uid = EXPORT_ANON_ID_DEFAULT,
	.anon_gid = EXPORT_ANON_ID_DEFAULT,
};

enum option_kind {
	OPTION_SET,       /* writes a bool of struct export_options */
	OPTION_CLEAR,     /* the same, false */
	OPTION_ID,        /* =N, a uint32_t of struct export_options */
	OPTION_RATE,      /* =N, a uint32_t of struct export_options; 0: no limit */
	OPTION_TOTAL,     /* =N, the same of struct export_spec */
	OPTION_FSID,      /* =N */
	OPTION_MOUNT,     /* [=PATH] */
	OPTION_SEC,       /* =sys */
	OPTION_SO_ANYWAY, /* says what is so without it */
	OPTION_NO_EFFECT, /* harmless: a warning with the reason */
	OPTION_REFUSED,   /* an error with the reason */
};

struct option_row {
	const char *name;
	enum option_kind kind;
	size_t offset;
	const char *reason;
	uint32_t max;
};

#define FIELD(name)      offsetof(struct export_options, name)
#define SPEC_FIELD(name) offsetof(struct export_spec, name)

static const struct option_row option_rows[] = {
	/* clang-format off */
	{ "ro",             OPTION_SET,   FIELD(read_only) },
	{ "rw",             OPTION_CLEAR, FIELD(read_only) },
	{ "root_squash",    OPTION_SET,   FIELD(root_squash) },
	{ "no_root_squash", OPTION_CLEAR, FIELD(root_squash) },
	{ "all_squash",     OPTION_SET,   FIELD(all_squash) },
	{ "no_all_squash",  OPTION_CLEAR, FIELD(all_squash) },
	{ "async",          OPTION_SET,   FIELD(async) },
	{ "sync",           OPTION_CLEAR, FIELD(async) },
	{ "secure",         OPTION_SET,   FIELD(secure) },
	{ "insecure",       OPTION_CLEAR, FIELD(secure) },
	{ "offload",        OPTION_SET,   FIELD(offload) },
	{ "no_offload",     OPTION_CLEAR, FIELD(offload) },
	{ "nlm",            OPTION_SET,   FIELD(nlm) },
	{ "no_nlm",         OPTION_CLEAR, FIELD(nlm) },
	{ "anonuid",        OPTION_ID,    FIELD(anon_uid) },
	{ "anongid",        OPTION_ID,    FIELD(anon_gid) },
	{ "iops",           OPTION_RATE,  FIELD(rate.iops), NULL, EXPORT_IOPS_MAX },
	{ "mbps",           OPTION_RATE,  FIELD(rate.mbps), NULL, EXPORT_MBPS_MAX },
	{ "total_iops",     OPTION_TOTAL, SPEC_FIELD(total_rate.iops), NULL, EXPORT_IOPS_MAX },
	{ "total_mbps",     OPTION_TOTAL, SPEC_FIELD(total_rate.mbps), NULL, EXPORT_MBPS_MAX },
	{ "fsid",           OPTION_FSID },
	{ "mountpoint",     OPTION_MOUNT },
	{ "mp",             OPTION_MOUNT },
	{ "sec",            OPTION_SEC },

	{ "no_subtree_check", OPTION_SO_ANYWAY },
	{ "hide",             OPTION_SO_ANYWAY },
	{ "nocrossmnt",       OPTION_SO_ANYWAY },
	{ "no_acl",           OPTION_SO_ANYWAY },
	{ "no_pnfs",          OPTION_SO_ANYWAY },

	{ "auth_nlm",         OPTION_SO_ANYWAY },
	{ "secure_locks",     OPTION_SO_ANYWAY },

	{ "no_auth_nlm", OPTION_NO_EFFECT, 0,
	  "locks are for who may read or write the file" },
	{ "insecure_locks", OPTION_NO_EFFECT, 0,
	  "locks are for who may read or write the file" },
	{ "subtree_check", OPTION_NO_EFFECT, 0,
	  "handles are signed, so a client cannot make up one" },
	{ "wdelay", OPTION_NO_EFFECT, 0,
	  "writes that wait share a flush in any case" },
	{ "no_wdelay", OPTION_NO_EFFECT, 0,
	  "writes that wait share a flush in any case" },
	{ "acl", OPTION_NO_EFFECT, 0,
	  "the NFS ACL protocol is not served" },
	{ "pnfs", OPTION_NO_EFFECT, 0,
	  "it belongs to NFSv4, and this server speaks NFSv3" },
	{ "security_label", OPTION_NO_EFFECT, 0,
	  "it belongs to NFSv4, and this server speaks NFSv3" },

	{ "crossmnt", OPTION_REFUSED, 0,
	  "Each file system needs a line of its own: add one for each mounted below" },
	{ "nohide", OPTION_REFUSED, 0,
	  "Clients mount each file system by itself: give it a line of its own, without nohide" },
	{ "refer", OPTION_REFUSED, 0,
	  "It belongs to NFSv4, and this server speaks NFSv3" },
	{ "replicas", OPTION_REFUSED, 0,
	  "It belongs to NFSv4, and this server speaks NFSv3" },
	{ "xprtsec", OPTION_REFUSED, 0,
	  "RPC over TLS is not served: keep storage traffic on a network of its own" },
	{ "nordirplus", OPTION_REFUSED, 0,
	  "READDIRPLUS cannot be turned off" },
	{ "maproot", OPTION_REFUSED, 0,
	  "Write no_root_squash, or root_squash with anonuid=N and anongid=N" },
	{ "mapall", OPTION_REFUSED, 0,
	  "Write all_squash with anonuid=N and anongid=N" },
	{ "root", OPTION_REFUSED, 0,
	  "Write HOST(no_root_squash)" },
	{ "access", OPTION_REFUSED, 0,
	  "Write the hosts after the directory: /dir HOST(rw)" },
	{ "squash", OPTION_REFUSED, 0,
	  "Write no_root_squash, root_squash or all_squash" },
	{ "squash_uids", OPTION_REFUSED, 0,
	  "Write all_squash, or keep the ids of both sides the same" },
	{ "map_static", OPTION_REFUSED, 0,
	  "Keep the ids of both sides the same" },
	/* clang-format on */
};

static_assert(ARRAY_COUNT(option_rows) <= 64, "option_list.seen has a bit for each");

/* One list's reading. */
struct option_list {
	struct exports_parser *parser;
	struct export_options *options;
	struct export_spec *spec;
	uint64_t seen;
};

static const struct option_row *option_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(option_rows); i++) {
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	}
	return NULL;
}

static void option_unknown(struct option_list *list, const char *name)
{
	const char *names[ARRAY_COUNT(option_rows)], *nearest;

	for (size_t i = 0; i < ARRAY_COUNT(option_rows); i++)
		names[i] = option_rows[i].name;
	nearest = conf_nearest(name, names, ARRAY_COUNT(option_rows));
	if (nearest)
		return exports_error(list->parser, "There is no option '%.*s'. Did you mean '%s'?",
		                     EXPORTS_EXCERPT_BYTES_MAX, name, nearest);
	exports_error(list->parser,
	              "There is no option '%.*s'. lodestore-exports(5) lists them all.",
	              EXPORTS_EXCERPT_BYTES_MAX, name);
}

/* The row seen in this list that says the opposite of @row, or NULL. */
static const struct option_row *option_opposite(const struct option_list *list,
                                                const struct option_row *row)
{
	for (size_t i = 0; i < ARRAY_COUNT(option_rows); i++) {
		const struct option_row *other = &option_rows[i];

		if (list->seen >> i & 1 && other->kind <= OPTION_CLEAR &&
		    other->offset == row->offset && other->kind != row->kind)
			return other;
	}
	return NULL;
}

static void option_set_flag(struct option_list *list, const struct option_row *row)
{
	const struct option_row *opposite = option_opposite(list, row);

	if (opposite)
		return exports_error(list->parser,
		                     "'%s' and '%s' contradict each other. Keep one of the two.",
		                     opposite->name, row->name);
	*(bool *) ((char *) list->options + row->offset) = row->kind == OPTION_SET;
}

static bool option_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret_number)
{
	unsigned long long number;
	char *end;

	if (!isdigit((unsigned char) text[0]))
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || number < min || number > max)
		return false;
	*ret_number = (uint32_t) number;
	return true;
}

static void option_set_id(struct option_list *list, const struct option_row *row, const char *value)
{
	uint32_t *id = (uint32_t *) ((char *) list->options + row->offset);

	/* 2^32-1 is (uid_t) -1, which tells the kernel to change nothing. */
	if (!option_number(value, 0, UINT32_MAX - 1, id))
		exports_error(list->parser,
		              "'%.*s' is no id for %s. Write a number from 0 to %" PRIu32
		              ", for example %s=%d (nobody).",
		              EXPORTS_EXCERPT_BYTES_MAX, value, row->name, UINT32_MAX - 1,
		              row->name, EXPORT_ANON_ID_DEFAULT);
}

/* Calls or megabytes a second; a mistake is told. */
static bool option_rate(struct option_list *list, const struct option_row *row, const char *value,
                        uint32_t *ret_rate)
{
	if (option_number(value, 0, row->max, ret_rate))
		return true;
	exports_error(list->parser,
	              "'%.*s' is no limit for %s. Write a whole number of %s a second from 1 to"
	              " %" PRIu32 ", or 0 for no limit.",
	              EXPORTS_EXCERPT_BYTES_MAX, value, row->name,
	              row->max == EXPORT_IOPS_MAX ? "calls" : "megabytes", row->max);
	return false;
}

static void option_set_rate(struct option_list *list, const struct option_row *row,
                            const char *value)
{
	(void) option_rate(list, row, value, (uint32_t *) ((char *) list->options + row->offset));
}

static void option_set_total(struct option_list *list, const struct option_row *row,
                             const char *value)
{
	uint32_t *total = (uint32_t *) ((char *) list->spec + row->offset);
	uint32_t rate;

	if (!option_rate(list, row, value, &rate))
		return;
	if (*total && *total != rate)
		return exports_error(list->parser,
		                     "%s=%" PRIu32 ", but %s=%" PRIu32
		                     " for the same directory before. Keep one of the two.",
		                     row->name, rate, row->name, *total);
	*total = rate;
}

static void option_set_fsid(struct option_list *list, const char *value)
{
	struct exports_parser *parser = list->parser;
	const struct export_spec *other;
	uint32_t fsid;

	if (strcmp(value, "0") == 0 || strcmp(value, "root") == 0)
		return exports_error(parser,
		                     "fsid=%s marks the root of NFSv4, and this server speaks"
		                     " NFSv3. Take it out.",
		                     value);
	if (!option_number(value, 1, EXPORT_FSID_MAX, &fsid))
		return exports_error(parser,
		                     "'%.*s' is no fsid. Write a number from 1 to %d, different for"
		                     " each directory (no UUID).",
		                     EXPORTS_EXCERPT_BYTES_MAX, value, EXPORT_FSID_MAX);
	if (list->spec->fsid && list->spec->fsid != fsid)
		return exports_error(parser,
		                     "fsid=%" PRIu32 ", but fsid=%" PRIu32
		                     " for the same directory before. Keep one of the two.",
		                     fsid, list->spec->fsid);
	other = exports_find_fsid(parser->exports, fsid);
	if (other)
		return exports_error(parser,
		                     "fsid=%" PRIu32 " belongs to '%.*s' already (%s:%u). Write"
		                     " another number.",
		                     fsid, EXPORTS_EXCERPT_BYTES_MAX, other->path, other->file,
		                     other->line);
	list->spec->fsid = fsid;
}

/* @value: NULL for the export's own path. */
static void option_set_mountpoint(struct option_list *list, const char *value)
{
	struct exports_parser *parser = list->parser;
	AUTO(free_ptr) char *path = strdup(value ? value : list->spec->path);

	if (!path) {
		parser->out_of_memory = true;
		return;
	}
	if (value && (!exports_unescape(path) || path[0] != '/' || !export_path_normalise(path)))
		return exports_error(parser,
		                     "'%.*s' is no path for mountpoint. Write an absolute path"
		                     " without '..', \\040 for a blank.",
		                     EXPORTS_EXCERPT_BYTES_MAX, value);
	if (list->spec->mountpoint && strcmp(list->spec->mountpoint, path) != 0)
		return exports_error(parser,
		                     "mountpoint is '%.*s', but was '%.*s' for the same directory"
		                     " before. Keep one of the two.",
		                     EXPORTS_EXCERPT_BYTES_MAX, path, EXPORTS_EXCERPT_BYTES_MAX,
		                     list->spec->mountpoint);
	free(list->spec->mountpoint);
	list->spec->mountpoint = take_ptr(path);
}

static void option_check_sec(struct option_list *list, const char *value)
{
	if (strcmp(value, "sys") != 0)
		exports_error(list->parser,
		              "sec=%.*s is not served: this server knows AUTH_SYS only. Write"
		              " sec=sys, or nothing.",
		              EXPORTS_EXCERPT_BYTES_MAX, value);
}

static bool option_takes_value(const struct option_row *row)
{
	return row->kind >= OPTION_ID && row->kind <= OPTION_SEC && row->kind != OPTION_MOUNT;
}

/* Is there a value if and only if @row takes one? */
static bool option_check_value(struct option_list *list, const struct option_row *row,
                               const char *value)
{
	if (option_takes_value(row) && !value) {
		exports_error(list->parser, "'%s' needs a value. Write %s=%s.", row->name,
		              row->name, row->kind == OPTION_SEC ? "sys" : "N");
		return false;
	}
	if (row->kind <= OPTION_CLEAR && value) {
		exports_error(list->parser, "'%s' takes no value. Write %s alone.", row->name,
		              row->name);
		return false;
	}
	return true;
}

static void option_apply(struct option_list *list, const struct option_row *row, const char *value)
{
	switch (row->kind) {
	case OPTION_SET:
	case OPTION_CLEAR:
		return option_set_flag(list, row);
	case OPTION_ID:
		return option_set_id(list, row, value);
	case OPTION_RATE:
		return option_set_rate(list, row, value);
	case OPTION_TOTAL:
		return option_set_total(list, row, value);
	case OPTION_FSID:
		return option_set_fsid(list, value);
	case OPTION_MOUNT:
		return option_set_mountpoint(list, value);
	case OPTION_SEC:
		return option_check_sec(list, value);
	case OPTION_SO_ANYWAY:
		return;
	case OPTION_NO_EFFECT:
		return exports_warning(list->parser, "'%s' has no effect: %s. Take it out.",
		                       row->name, row->reason);
	case OPTION_REFUSED:
		return exports_error(list->parser, "'%s' is not supported. %s.", row->name,
		                     row->reason);
	}
}

static void option_parse(struct option_list *list, char *text)
{
	const struct option_row *row;
	char *value = strchr(text, '=');
	uint64_t bit;

	if (!*text)
		return exports_error(list->parser,
		                     "There is an empty option. Take one ',' out of the list.");
	if (value)
		*value++ = '\0';
	row = option_find(text);
	if (!row)
		return option_unknown(list, text);
	if (!option_check_value(list, row, value))
		return;

	bit = UINT64_C(1) << (row - option_rows);
	if (list->seen & bit)
		return exports_error(list->parser, "'%s' is given twice. Take one out.", row->name);
	option_apply(list, row, value);
	list->seen |= bit;
}

void exports_options_parse(struct exports_parser *parser, char *text,
                           struct export_options *options, struct export_spec *spec)
{
	struct option_list list = { .parser = parser, .options = options, .spec = spec };
	char *option;

	assert(spec->path);
	if (!*text)
		return; /* "host()" is "host" */
	while ((option = strsep(&text, ",")))
		option_parse(&list, option);
}
