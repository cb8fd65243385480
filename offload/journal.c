/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

#define RECORD_SUFFIX ".job"

enum {
	ID_DIGITS = 16
};

int journal_open(const char *dir, struct journal *ret_journal)
{
	AUTO(close_fd) int dir_fd = -EBADF;
	char *copy;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	copy = strdup(dir);
	if (!copy)
		return -ENOMEM;
	*ret_journal = (struct journal){ .dir = copy, .dir_fd = take_fd(&dir_fd) };
	return 0;
}

void journal_close(struct journal *journal)
{
	if (!journal->dir)
		return;
	close_fd(&journal->dir_fd);
	free(journal->dir);
	journal->dir = NULL;
}

static char *record_path(const struct journal *journal, uint64_t id)
{
	char *path;

	return asprintf(&path, "%s/%016" PRIx64 RECORD_SUFFIX, journal->dir, id) < 0 ? NULL : path;
}

static void journal_step(const struct journal *journal)
{
	if (journal->step)
		journal->step(journal->step_context);
}

int journal_write(const struct journal *journal, const struct job_record *record)
{
	AUTO(free_ptr) char *path = record_path(journal, record->id);
	AUTO(free_ptr) char *text = malloc(JOB_RECORD_TEXT_BYTES);
	int r;

	if (!path || !text)
		return -ENOMEM;
	journal_step(journal);
	r = file_text_replace(path, text, job_print(record, text));
	journal_step(journal);
	return r;
}

/* Not made durable: a result that comes back after a crash does no harm. */
void journal_remove(const struct journal *journal, uint64_t id)
{
	AUTO(free_ptr) char *path = record_path(journal, id);

	if (path)
		(void) unlink(path);
}

int journal_withdraw(const struct journal *journal, uint64_t id)
{
	AUTO(free_ptr) char *path = record_path(journal, id);

	if (!path)
		return -ENOMEM;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return fsync(journal->dir_fd) < 0 ? -errno : 0;
}

static bool is_record_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == ID_DIGITS &&
	       strcmp(name + ID_DIGITS, RECORD_SUFFIX) == 0;
}

/* file_text_replace()'s: the record's name and six characters. */
static bool is_left_over(const char *name)
{
	return strspn(name, "0123456789abcdef") == ID_DIGITS &&
	       strncmp(name + ID_DIGITS, RECORD_SUFFIX ".", strlen(RECORD_SUFFIX ".")) == 0;
}

static int read_record(const char *path, char **ret_text, size_t *ret_bytes)
{
	struct stat stat;

	if (lstat(path, &stat) < 0)
		return -errno;
	return S_ISREG(stat.st_mode) ? file_text_read(path, ret_text, ret_bytes) : -EBADMSG;
}

/* One that cannot be read, is none, or is another's under a wrong name keeps no others away. */
static int load_one(const struct journal *journal, const char *path,
                    int (*record_fn)(void *, const struct job_record *),
                    void (*bad)(void *, const char *), void *context)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *named = NULL;
	struct job_record record;
	size_t bytes;
	int r;

	r = read_record(path, &text, &bytes);
	if (r == -ENOMEM)
		return r;
	if (r == 0)
		r = job_parse(text, bytes, &record);
	if (r == 0) {
		named = record_path(journal, record.id);
		if (!named)
			return -ENOMEM;
		if (strcmp(named, path) != 0)
			r = -EBADMSG;
	}
	if (r == 0)
		return record_fn(context, &record);
	bad(context, path);
	return 0;
}

int journal_load(const struct journal *journal,
                 int (*record)(void *context, const struct job_record *record),
                 void (*bad)(void *context, const char *path), void *context)
{
	DIR *dir = opendir(journal->dir);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		AUTO(free_ptr) char *path = NULL;

		if (asprintf(&path, "%s/%s", journal->dir, entry->d_name) < 0) {
			path = NULL;
			r = -ENOMEM;
		} else if (is_record_name(entry->d_name)) {
			r = load_one(journal, path, record, bad, context);
		} else if (is_left_over(entry->d_name)) {
			(void) unlink(path);
		}
	}
	closedir(dir);
	return r;
}
