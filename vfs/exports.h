/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports.h - which directories are served, to whom and how: exports(5)'s syntax, and its answer
 * to "may this host, and with which options?". lodestore-exports(5) has all of the syntax.
 *
 *     # comment                     a line ends with a newline; \ at its end continues it
 *     "/srv/a dir"  10.0.0.0/8(rw,no_root_squash)  esx1.lab(rw)  *(ro)
 *     /srv/b  -ro,insecure  host1  host2(rw)         options before hosts: defaults for this line
 *
 * Pure but for the name service, which the caller passes in. What was parsed is never changed.
 * Hosts: an address; ADDRESS/BITS or ADDRESS/NETMASK; a host name; a name with * and ? (which do
 * not match a dot, and the client's name must resolve back to its address); * or nothing before the
 * parenthesis for everybody. An IPv4-mapped IPv6 client is its IPv4 address, and no IPv6 network
 * contains it: ::/0 is all of IPv6, 0.0.0.0/0 all of IPv4. If several match, the most specific
 * one's options count: an address or name, then the network with the longest prefix, then a name
 * with wildcards, then everybody; among equals the first.
 *
 * Options: a row each in exports_options.c. Those of exports(5) that say what is so anyway pass in
 * silence, those without effect with a warning; others are refused with the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/export_address.h"
#include "vfs/export_rate.h"

enum {
	EXPORT_ANON_ID_DEFAULT = 65534, /* nobody, as in exports(5) */
	EXPORT_FSID_MAX = 0x7fffffff,   /* above are the ids that vfs makes of paths */
	EXPORTS_MAX = 65536,
	EXPORT_RULES_MAX = 4096,      /* hosts of one line */
	EXPORT_PATH_BYTES_MAX = 1024, /* RFC 1813 appendix I, MNTPATHLEN */
	EXPORT_HOST_BYTES_MAX = 255,  /* RFC 1813 appendix I, MNTNAMLEN */
};

struct export_options {
	bool read_only;
	bool root_squash, all_squash;
	bool async; /* answers before the data is durable: unsafe, the man page says so */
	bool secure, offload, nlm; /* its port is below 1024; it may ask for clones, for locks */
	uint32_t anon_uid, anon_gid;
	struct export_rate rate, total_rate; /* each client's; all together (of the spec) */
};

enum export_host_kind {
	EXPORT_HOST_ADDRESS, /* address, prefix_bits == 128 */
	EXPORT_HOST_NAME,    /* text */
	EXPORT_HOST_NETWORK, /* address, prefix_bits */
	EXPORT_HOST_PATTERN, /* text with * or ? */
	EXPORT_HOST_ANY,
};

struct export_rule {
	enum export_host_kind kind;
	char *text; /* the host as it was written; "*" for everybody. For MOUNT's EXPORT list */
	struct export_address address;
	unsigned prefix_bits; /* of 128: an IPv4 /24 is 96 + 24 */
	struct export_options options;
	size_t text_begin, text_end; /* where it stands in what was parsed: bytes */
};

struct export_spec {
	char *path; /* absolute, no "." or ".." components, no trailing or doubled "/", or "/" */
	const char *file;
	unsigned line, last_line; /* where it begins, and ends if it is continued */
	struct export_rule *rules;
	size_t rule_count;
	uint32_t fsid; /* 0: none given */
	struct export_rate total_rate;
	char *mountpoint; /* refuse unless this is a mount point; NULL: do not care */
};

/* Finds specs by hash: open addressing, 0 is a free slot, n stands for specs[n - 1]. */
struct export_index {
	uint32_t *slots;
	size_t slot_count; /* 0 or a power of two, more than twice what is in it */
};

struct exports {
	struct export_spec *specs; /* in the order of the file */
	size_t count;
	struct export_index by_path, by_fsid; /* by_fsid: only those with one */
	char **files;                         /* names that specs point to */
	size_t file_count;
};

enum exports_severity {
	EXPORTS_ERROR,
	EXPORTS_WARNING,
};

/* Told of every mistake in order. @message has no newline, and says what to write instead. */
typedef void exports_report_fn(void *context, enum exports_severity severity, const char *file,
                               unsigned line, const char *message);

/**
 * exports_parse() - add what one file says to a table
 * @exports: zeroed before the first file; call exports_done() in the end, also after an error
 * @file_name: for messages and export_spec.file
 * @text, @text_bytes: its content, any bytes; need not end with NUL
 * @report, @context: where mistakes go; all of the file's are reported in one run
 *
 * Errors, too: a second line for the same path, an empty host list (exports(5) would export to
 * everybody), a relative path, options that contradict each other, one fsid for two paths. "host
 * (rw)" with a space is a warning that says what it means. Exporting to everybody is no mistake.
 *
 * Return: 0; -EINVAL if there was an error (warnings do not count); -ENOMEM. After either the table
 *         is good for the mistakes of more files, and for exports_done().
 */
int exports_parse(struct exports *exports, const char *file_name, const char *text,
                  size_t text_bytes, exports_report_fn *report, void *context);

/* exports_parse() for one line, of the file "--export". Without a directory it is an error. */
int exports_parse_line(struct exports *exports, const char *line, exports_report_fn *report,
                       void *context);

/* Frees everything inside; the structure is as zeroed afterwards. */
void exports_done(struct exports *exports);

/* The name service, so that tests can fake it and the pure part stays pure. Both block. */
struct export_names {
	/* Does @name resolve to @address? */
	bool (*has_address)(void *context, const char *name, const struct export_address *address);
	/* The name of @address, verified to resolve back to it: true and a name with its NUL. */
	bool (*name_of)(void *context, const struct export_address *address, char *ret_name,
	                size_t name_bytes_max);
	void *context;
};

/* getaddrinfo(3) and getnameinfo(3) (exports_names.c). */
extern const struct export_names export_names_system;

/* Does matching @spec ever ask the name service? If not, export_match() never blocks. */
bool export_needs_names(const struct export_spec *spec);

/* The rule that counts for @client, or NULL if none matches. @names is not used when
 * export_needs_names() is false. Owned by @spec. */
const struct export_rule *export_match(const struct export_spec *spec,
                                       const struct export_address *client,
                                       const struct export_names *names);

/* The export of @path: the one whose path is the longest prefix of @path by whole components, or
 * NULL. @path is as a client sent it: slashes at its ends may be missing or doubled; with "." or
 * ".." components it is NULL. @ret_below: what follows the export's path, without leading slashes,
 * a pointer into @path ("" for the export itself). Takes time for @path, not for the table. */
const struct export_spec *exports_find_path(const struct exports *exports, const char *path,
                                            const char **ret_below);
