/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the programs tell the administrator. Libraries do not log (they return errors).
 *
 *     log_warn("%s: export %s is gone: %s", peer_name, LOG_ESCAPED(path), strerror(-r));
 *
 * One event is one line on stderr, whatever its arguments hold: control characters that a message
 * brings along come out as '?'. Under systemd ($JOURNAL_STREAM names stderr) a line begins with its
 * priority, "<4>..."; otherwise with the time in UTC and the level. Longer lines than
 * LOG_LINE_BYTES_MAX are cut and end in "...".
 *
 * No client can fill the disk: each call site writes at most LOG_SITE_LINES_PER_S lines in a
 * second (log_rate_set()), and the rest is counted and told in one line ("12 similar lines
 * suppressed (from FILE:LINE)") ahead of the first line of any kind in a later second, or by
 * log_flush(). What is bounded anyway and must be complete, such as the mistakes in a
 * configuration, goes through log_always().
 *
 * All functions may be called from any thread, none from a signal handler. errno is preserved.
 * Call sites must not be in code that is unloaded (dlclose).
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not LOG_ERROR, LOG_WARNING: <syslog.h> has macros of such names. */
enum log_level {
	LOG_LEVEL_ERROR,   /* something does not work, and somebody must act */
	LOG_LEVEL_WARNING, /* it works, but not as the administrator may think */
	LOG_LEVEL_INFO,    /* start, stop, reload, mounts */
	LOG_LEVEL_DEBUG,   /* for us */
};

enum {
	LOG_SITE_LINES_PER_S = 10,
	LOG_LINE_BYTES_MAX = 2048,    /* with prefix and newline; below PIPE_BUF: one write(2) */
	LOG_ESCAPED_BYTES_MAX = 1024, /* of LOG_ESCAPED(), with NUL */
};

/* One call's counters. Zeroed at start; guarded by log.c's lock. */
struct log_site {
	const char *file;
	unsigned line;
	uint64_t second; /* the one that line_count is for */
	unsigned line_count;
	uint64_t suppressed_count;
	struct log_site *suppressed_next; /* log.c's list of those with suppressed_count > 0 */
};

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)  log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Arguments are not evaluated when the level is off. */
#define log_at(level, ...)                                                                 \
	do {                                                                               \
		static struct log_site log_site_ = { .file = __FILE__, .line = __LINE__ }; \
		if (log_enabled(level))                                                    \
			log_write(&log_site_, level, __VA_ARGS__);                         \
	} while (0)

/* Without the rate limit. */
#define log_always(level, ...)                               \
	do {                                                 \
		if (log_enabled(level))                      \
			log_write(NULL, level, __VA_ARGS__); \
	} while (0)

/* What a line is about, as fields of the journal (journalctl LODESTORE_CLIENT=192.0.2.7), beside
 * the words of the line. NULL: nothing. Any bytes; they are not cut. */
struct log_about {
	const char *client; /* LODESTORE_CLIENT: an address */
	const char *export; /* LODESTORE_EXPORT: the path that was asked for */
	const char *call;   /* LODESTORE_CALL: a procedure, or what was asked */
};

#define log_about(level, about, ...)                                                       \
	do {                                                                               \
		static struct log_site log_site_ = { .file = __FILE__, .line = __LINE__ }; \
		if (log_enabled(level))                                                    \
			log_write_about(&log_site_, level, (about), __VA_ARGS__);          \
	} while (0)

/* Lines above @level are dropped. LOG_LEVEL_INFO until the first call. */
void log_level_set(enum log_level level);
bool log_enabled(enum log_level level);

/* Lines a second that a call site may write. LOG_SITE_LINES_PER_S until the first call. */
void log_rate_set(unsigned lines_per_s);

/* How many lines have not been written because of that, since the start. */
uint64_t log_suppressed_count(void);

/* "error", "warning", "info", "debug": 0 or -EINVAL. */
int log_level_parse(const char *text, enum log_level *ret_level);

/* Use the macros. @site: NULL for no rate limit. */
__attribute__((format(printf, 3, 4))) void log_write(struct log_site *site, enum log_level level,
                                                     const char *format, ...);
__attribute__((format(printf, 4, 5))) void log_write_about(struct log_site *site,
                                                           enum log_level level,
                                                           const struct log_about *about,
                                                           const char *format, ...);

/* Tell what was suppressed in seconds that are over; @all: also in this one. For a timer, and
 * before the end of the program. */
void log_flush(bool all);

/**
 * log_escape() - make bytes that a stranger chose fit to stand between quotes in a line
 * @bytes, @bytes_count: any bytes; NULL with a count of 0 is fine
 * @to, @to_bytes:       where it goes, with a NUL; at least 8 bytes
 *
 * Printable ASCII stays; backslash and both quotes get a backslash; everything else becomes \xNN
 * (also what may be UTF-8: a terminal must not be told to write from right to left). What does not
 * fit is cut at a whole character and "..." follows.
 *
 * Return: @to.
 */
const char *log_escape(const void *bytes, size_t bytes_count, char *to, size_t to_bytes);

/* log_escape() of a C string as an argument of a log macro; lives until the end of the block. */
#define LOG_ESCAPED(text)                                                              \
	log_escape((text), __builtin_strlen(text), (char[LOG_ESCAPED_BYTES_MAX]){ 0 }, \
	           LOG_ESCAPED_BYTES_MAX)

/**
 * log_site_admit() - the rate limit's arithmetic, apart from clock and lock
 * @now_s: seconds of a clock that does not go backwards
 *
 * Return: may a line be written now? If not, it has been counted in @site->suppressed_count.
 */
bool log_site_admit(struct log_site *site, uint64_t now_s);
