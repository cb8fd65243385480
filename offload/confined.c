/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confined.c - lodestore-offloadd's capabilities and system calls, each with its reason.
 * docs/hardening.md and the unit have the same capabilities.
 */
#include "offload/confined.h"

#include <linux/capability.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/fs_ioctls.h"
#include "vfs/identity.h"

static const struct privilege privileges[] = {
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "no file can be opened by its handle" },
	{ CAP_SETUID, "CAP_SETUID", "it cannot act as its callers" },
	{ CAP_SETGID, "CAP_SETGID", "it cannot act with its callers' groups" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "root of ESXi cannot clone files of others" },
	{ CAP_CHOWN, "CAP_CHOWN", "a clone cannot get the owner of its source" },
	{ CAP_FOWNER, "CAP_FOWNER", "a clone cannot get the mode of its source" },
};

/* Beside vfs/base/confine_common.c. */
static const struct confine_call calls[] = {
	/* No network: the socket it listens on is there; the service manager's is of the same
	 * family. */
	{ "socket", 0, CONFINE_INT, AF_UNIX },
	{ "signalfd4" }, /* SIGTERM and SIGHUP, among what is polled */
	{ "flock" },     /* the journal is one process's */

	/* Cloning: what is shared, how much of it, and copies that give way to other I/O. */
	{ "ioctl", 1, CONFINE_INT, FICLONE },
	{ "ioctl", 1, CONFINE_INT, FIDEDUPERANGE },
	{ "ioctl", 1, CONFINE_INT, FS_IOC_FIEMAP },
	{ "copy_file_range" },
	{ "sync_file_range" }, /* what it left in the page cache */
	{ "fadvise64" },
	{ "ioprio_set" },
	{ "setpriority" },

	/* Each copy has a ring of its own, with the operations that vfs/io/ring.c leaves it. */
	{ "io_uring_setup" },
	{ "io_uring_register" },

	/* At a reload: which file system an export lies on. */
	{ "ioctl", 1, CONFINE_INT, FS_IOC_GETFSUUID_ANY },
	{ "ioctl", 1, CONFINE_INT, FS_XFS_IOC_FSGEOMETRY_V1 },
	{ "ioctl", 1, CONFINE_INT, FS_BTRFS_IOC_FS_INFO },
	{ "ioctl", 1, CONFINE_INT, FS_EXT4_IOC_GETFSUUID },
};

int confined_privileges(void)
{
	char why[VFS_IDENTITY_WHY_BYTES];
	int r = vfs_identity_keep(privileges, ARRAY_COUNT(privileges), why);

	if (r < 0)
		log_error("%s", why);
	return r;
}

int confined_calls(enum confine_mode mode)
{
	int r = confine_calls(calls, ARRAY_COUNT(calls), mode);

	if (r < 0)
		log_error("cannot limit the system calls: %s. Use a kernel with"
		          " CONFIG_SECCOMP_FILTER, or write 'seccomp = off' below [offload] in "
		          "lodestore.conf",
		          strerror(-r));
	return r;
}
