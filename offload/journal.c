/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/journal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	char *copy;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	copy = strdup(dir);
	if (!copy)
		return -ENOMEM;
	*ret_journal = (struct journal){ .dir = copy };
	return 0;
}

void journal_close(struct journal *journal)
{
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

static int load_one(const char *path, int (*record_fn)(void *, const struct job_record *),
                    void (*bad)(void *, const char *), void *context)
{
	AUTO(free_ptr) char *text = NULL;
	struct job_record record;
	size_t bytes;
	int r;

	r = file_text_read(path, &text, &bytes);
	if (r < 0)
		return r;
	if (job_parse(text, bytes, &record) < 0) {
		bad(context, path);
		return 0;
	}
	return record_fn(context, &record);
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
			r = load_one(path, record, bad, context);
		} else if (is_left_over(entry->d_name)) {
			(void) unlink(path);
		}
	}
	closedir(dir);
	return r;
}
