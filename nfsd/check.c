/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/base/reflink.h"
#include "vfs/fs.h"
#include "vfs/handle_key.h"

/* A disk may be mounted later: no error. */
static void check_export(const struct export_spec *spec)
{
	AUTO(close_fd) int fd = open(spec->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *why = "";
	struct vfs_fs fs;
	int r;

	if (fd < 0) {
		log_warn("%s:%u: cannot open the directory %s: %s. Create it or mount what belongs"
		         " there, or take the line out",
		         spec->file, spec->line, LOG_ESCAPED(spec->path), strerror(errno));
		return;
	}
	r = vfs_fs_probe(fd, spec->fsid, &fs, &why);
	if (r < 0)
		log_warn("%s:%u: %s cannot be exported: %s (%s)", spec->file, spec->line,
		         LOG_ESCAPED(spec->path), why, strerror(-r));
	else if (reflink_probe(spec->path) == 0)
		log_warn("%s:%u: files of %s (%s) cannot share blocks, so clones are copies. XFS"
		         " (mkfs.xfs -m reflink=1, the default) and Btrfs can",
		         spec->file, spec->line, LOG_ESCAPED(spec->path), fs.name);
}

static int check_key(const struct config *config)
{
	char why[VFS_HANDLE_KEY_WHY_BYTES];
	int r = vfs_handle_key_check(config->settings.state_dir, why);

	if (r == -ENOENT || r == -EACCES) /* who checks is not who serves */
		log_warn("%s", why);
	else if (r < 0)
		log_error("%s", why);
	return r == -ENOENT || r == -EACCES ? 0 : r;
}

int check_config(const struct config *config)
{
	struct exports exports = { 0 };
	int r = config_exports(config, &exports), key;

	for (size_t i = 0; r == 0 && i < exports.count; i++)
		check_export(&exports.specs[i]);
	key = check_key(config);
	if (r == 0 && key == 0)
		printf("The configuration is good: %zu exports.\n", exports.count);
	exports_done(&exports);
	return r == 0 && key == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
