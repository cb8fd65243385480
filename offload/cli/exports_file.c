/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/exports_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "offload/cli/command.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

static void report(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
	command_error("%s%s:%u: %s", severity == EXPORTS_WARNING ? "warning: " : "", file, line,
	              message);
}

static void ignore(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
}

static int cannot(const char *path, const char *what, int error)
{
	const char *advice = error == -EACCES || error == -EPERM ? ". Use sudo"
	                     : error == -ENOENT                  ? ". Make its directory first"
	                     : error == -EROFS ? ". Its file system is mounted read-only"
	                                       : "";

	command_error("cannot %s %s: %s%s", what, path, strerror(-error), advice);
	return COMMAND_FAILED;
}

/* The directory's lock: the file itself is another one after each change. */
static int lock(struct exports_file *file)
{
	AUTO(free_ptr) char *copy = strdup(file->path);

	file->lock_fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (file->lock_fd < 0)
		return -errno;
	while (flock(file->lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int exports_file_open(struct exports_file *file, const char *path)
{
	int r;

	*file = (struct exports_file){ .path = path };
	r = lock(file);
	if (r == 0)
		r = stat(path, &file->seen) < 0 ? -errno : 0;
	file->exists = r == 0;
	if (r == 0)
		r = file_text_read(path, &file->text, &file->bytes);
	else if (r == -ENOENT && file->lock_fd >= 0)
		r = (file->text = strdup("")) ? 0 : -ENOMEM;
	if (r < 0)
		return cannot(path, "read", r);
	if (exports_parse(&file->exports, path, file->text, file->bytes, report, NULL) == 0)
		return COMMAND_DONE;
	command_error("%s stays as it is; mend the mistakes above first", path);
	return COMMAND_FAILED;
}

void exports_file_close(struct exports_file *file)
{
	exports_done(&file->exports);
	free(file->text);
	close_fd(&file->lock_fd);
}

struct exports_text exports_file_text(const struct exports_file *file)
{
	return (struct exports_text){ file->text, file->bytes, &file->exports };
}

/* Editors know nothing of our lock. */
static bool is_unchanged(const struct exports_file *file)
{
	struct stat now;

	if (stat(file->path, &now) < 0)
		return !file->exists && errno == ENOENT;
	return file->exists && now.st_ino == file->seen.st_ino && now.st_dev == file->seen.st_dev &&
	       now.st_size == file->seen.st_size &&
	       now.st_mtim.tv_sec == file->seen.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == file->seen.st_mtim.tv_nsec;
}

int exports_file_save(struct exports_file *file, const char *text)
{
	struct exports exports = { 0 };
	exports_report_fn *tell = report;
	int r;

	/* Its warnings were told when it was read. */
	if (exports_parse(&exports, file->path, text, strlen(text), ignore, NULL) == 0)
		tell = NULL;
	exports_done(&exports);
	if (tell) {
		(void) exports_parse(&exports, file->path, text, strlen(text), tell, NULL);
		exports_done(&exports);
		command_error("%s stays as it is: with that it would have the mistakes above",
		              file->path);
		return COMMAND_FAILED;
	}
	if (!is_unchanged(file)) {
		command_error("somebody has just changed %s: nothing was written. Try again",
		              file->path);
		return COMMAND_FAILED;
	}
	r = file_text_rewrite(file->path, text, strlen(text));
	return r < 0 ? cannot(file->path, "write", r) : COMMAND_DONE;
}
