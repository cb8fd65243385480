/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the level, the way lines go out (journal or plain), and the list of call sites that have
 * suppressed lines to tell of. log_lock guards the sites and that list; it is never held during a
 * write(2), so that a full pipe stops those who log, not those who would be suppressed.
 */
#include "vfs/base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* sd_journal_sendv(3) */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static const struct {
	const char *name;
	int priority; /* of syslog(3), as sd-daemon(3) wants it */
} log_levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARNING] = { "warning", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static atomic_int log_level_max = LOG_LEVEL_INFO;

static atomic_uint log_site_lines_max = LOG_SITE_LINES_PER_S;
static atomic_uint_fast64_t log_suppressed_ever;

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static bool log_to_journal, log_takes_fields; /* set by log_once */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_site *log_suppressed; /* under log_lock */

void log_level_set(enum log_level level)
{
	assert((size_t) level < sizeof log_levels / sizeof log_levels[0]);

	atomic_store_explicit(&log_level_max, (int) level, memory_order_relaxed);
}

void log_rate_set(unsigned lines_per_s)
{
	atomic_store_explicit(&log_site_lines_max, lines_per_s, memory_order_relaxed);
}

uint64_t log_suppressed_count(void)
{
	return atomic_load_explicit(&log_suppressed_ever, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return (int) level <= atomic_load_explicit(&log_level_max, memory_order_relaxed);
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < sizeof log_levels / sizeof log_levels[0]; i++) {
		if (strcmp(text, log_levels[i].name) == 0) {
			*ret_level = (enum log_level) i;
			return 0;
		}
	}
	return -EINVAL;
}

/* systemd.exec(5), $JOURNAL_STREAM: device and inode of the stream it connected. stderr may have
 * been redirected since, so compare. */
static void log_find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	if (!stream || sscanf(stream, "%ju:%ju", &device, &inode) != 2)
		return;
	log_to_journal = fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	                 st.st_ino == inode;
	/* Where there is no socket the library would drop lines without a word. */
	log_takes_fields = log_to_journal && access(JOURNAL_SOCKET, W_OK) == 0;
}

static uint64_t log_now_s(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec;
}

static size_t log_prefix(enum log_level level, char *to, size_t to_bytes)
{
	struct timespec now;
	struct tm utc;
	int written;

	if (log_to_journal) {
		written = snprintf(to, to_bytes, "<%d>", log_levels[level].priority);
	} else {
		(void) clock_gettime(CLOCK_REALTIME, &now);
		(void) gmtime_r(&now.tv_sec, &utc);
		written = snprintf(to, to_bytes,
		                   "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s: ", utc.tm_year + 1900,
		                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
		                   now.tv_nsec / 1000000, log_levels[level].name);
	}
	assert(written > 0 && (size_t) written < to_bytes);
	return (size_t) written;
}

/* Nobody can be told that stderr does not work: errors end the line. */
static void log_put(const char *line, size_t line_bytes)
{
	ssize_t written_bytes;

	while (line_bytes > 0) {
		written_bytes = write(STDERR_FILENO, line, line_bytes);
		if (written_bytes < 0 && errno == EINTR)
			continue;
		if (written_bytes <= 0)
			return;
		line += written_bytes;
		line_bytes -= (size_t) written_bytes;
	}
}

/* ---- lines with fields ---- */

enum {
	FIELDS_MAX = 6
};

/* "NAME=value", unless there is no value or no memory. */
static void field_add(struct iovec *fields, int *count, const char *name, const char *value)
{
	char *text;
	int bytes;

	if (!value || (bytes = asprintf(&text, "%s=%s", name, value)) < 0)
		return;
	fields[(*count)++] = (struct iovec){ text, (size_t) bytes };
}

/* False: it has to go out as a line. @message: its words. */
static bool log_send(enum log_level level, const struct log_about *about, const char *message)
{
	struct iovec fields[FIELDS_MAX];
	int count = 0, r;

	field_add(fields, &count, "MESSAGE", message);
	field_add(fields, &count, "PRIORITY",
	          (char[]){ (char) ('0' + log_levels[level].priority), '\0' });
	field_add(fields, &count, "SYSLOG_IDENTIFIER", program_invocation_short_name);
	field_add(fields, &count, "LODESTORE_CLIENT", about->client);
	field_add(fields, &count, "LODESTORE_EXPORT", about->export);
	field_add(fields, &count, "LODESTORE_CALL", about->call);
	r = sd_journal_sendv(fields, count);
	for (int i = 0; i < count; i++)
		free(fields[i].iov_base);
	return r == 0;
}

/* @about: NULL if the line has no fields. */
__attribute__((format(printf, 3, 0))) static void log_line(enum log_level level,
                                                           const struct log_about *about,
                                                           const char *format, va_list args)
{
	char line[LOG_LINE_BYTES_MAX];
	size_t prefix_bytes, message_bytes_max, line_bytes;
	int message_bytes;

	(void) pthread_once(&log_once, log_find_journal);
	prefix_bytes = log_prefix(level, line, sizeof line);
	message_bytes_max = sizeof line - prefix_bytes - 1; /* the newline needs one */

	message_bytes = vsnprintf(line + prefix_bytes, message_bytes_max, format, args);
	if (message_bytes < 0)
		return;
	line_bytes = prefix_bytes + (size_t) message_bytes;
	if ((size_t) message_bytes >= message_bytes_max) {
		line_bytes = prefix_bytes + message_bytes_max - 1;
		memcpy(line + line_bytes - 3, "...", 3);
	}

	for (size_t i = prefix_bytes; i < line_bytes; i++) {
		if ((unsigned char) line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[line_bytes] = '\0';
	if (about && log_takes_fields && log_send(level, about, line + prefix_bytes))
		return;
	line[line_bytes++] = '\n';
	assert(line_bytes <= sizeof line);
	log_put(line, line_bytes);
}

__attribute__((format(printf, 2, 3))) static void log_line_of(enum log_level level,
                                                              const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(level, NULL, format, args);
	va_end(args);
}

bool log_site_admit(struct log_site *site, uint64_t now_s)
{
	if (site->second != now_s) {
		site->second = now_s;
		site->line_count = 0;
	}
	if (site->line_count >= atomic_load_explicit(&log_site_lines_max, memory_order_relaxed)) {
		site->suppressed_count++;
		atomic_fetch_add_explicit(&log_suppressed_ever, 1, memory_order_relaxed);
		return false;
	}
	site->line_count++;
	return true;
}

static bool log_admit(struct log_site *site)
{
	bool admitted;

	(void) pthread_mutex_lock(&log_lock);
	admitted = log_site_admit(site, log_now_s());
	if (!admitted && site->suppressed_count == 1) {
		site->suppressed_next = log_suppressed;
		log_suppressed = site;
	}
	(void) pthread_mutex_unlock(&log_lock);
	return admitted;
}

/* Takes one site off the list, with its count, if its second is over. */
static struct log_site *log_take_suppressed(bool all, uint64_t now_s, uint64_t *ret_count)
{
	struct log_site **link, *site = NULL;

	(void) pthread_mutex_lock(&log_lock);
	for (link = &log_suppressed; *link; link = &(*link)->suppressed_next) {
		if (all || (*link)->second != now_s) {
			site = *link;
			*link = site->suppressed_next;
			*ret_count = site->suppressed_count;
			site->suppressed_count = 0;
			break;
		}
	}
	(void) pthread_mutex_unlock(&log_lock);
	return site;
}

void log_flush(bool all)
{
	int saved_errno = errno;
	uint64_t count, now_s = log_now_s();
	struct log_site *site;

	while ((site = log_take_suppressed(all, now_s, &count))) {
		log_line_of(LOG_LEVEL_WARNING, "%" PRIu64 " similar lines suppressed (from %s:%u)",
		            count, site->file, site->line);
	}
	errno = saved_errno;
}

__attribute__((format(printf, 4, 0))) static void log_write_args(struct log_site *site,
                                                                 enum log_level level,
                                                                 const struct log_about *about,
                                                                 const char *format, va_list args)
{
	int saved_errno = errno;

	if (site && !log_admit(site))
		return;
	log_flush(false);
	errno = saved_errno; /* for %m */
	log_line(level, about, format, args);
	errno = saved_errno;
}

void log_write(struct log_site *site, enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_write_args(site, level, NULL, format, args);
	va_end(args);
}

void log_write_about(struct log_site *site, enum log_level level, const struct log_about *about,
                     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_write_args(site, level, about, format, args);
	va_end(args);
}

const char *log_escape(const void *bytes, size_t bytes_count, char *to, size_t to_bytes)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;
	size_t at = 0, cut_at = 0; /* cut_at: the last place where "..." and NUL still fit */

	assert(to_bytes >= 8);
	assert(bytes || bytes_count == 0);

	for (size_t i = 0; i < bytes_count; i++) {
		unsigned char c = from[i];
		bool printable = c >= ' ' && c < 0x7f;
		bool quoted = c == '"' || c == '\'' || c == '\\';
		size_t needed_bytes = !printable ? 4 : quoted ? 2 : 1;

		if (at + 4 <= to_bytes)
			cut_at = at;
		if (needed_bytes >= to_bytes - at) {
			memcpy(to + cut_at, "...", 4);
			return to;
		}
		if (!printable) {
			to[at++] = '\\';
			to[at++] = 'x';
			to[at++] = digits[c >> 4];
			to[at++] = digits[c & 15];
		} else {
			if (quoted)
				to[at++] = '\\';
			to[at++] = (char) c;
		}
	}
	to[at] = '\0';
	return to;
}
