/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confined.c - lodestore-nfsd's capabilities and system calls, each with its reason.
 * docs/hardening.md and the unit have the same capabilities.
 */
#include "nfsd/confined.h"

#include <linux/capability.h>
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
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "root of ESXi cannot write files of others" },
	{ CAP_CHOWN, "CAP_CHOWN", "root of a client cannot give files away" },
	{ CAP_FOWNER, "CAP_FOWNER", "root of a client cannot change others' modes and times" },
	{ CAP_FSETID, "CAP_FSETID", "root of a client loses set-id bits" },
	{ CAP_MKNOD, "CAP_MKNOD", "root of a client cannot make devices", true },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE", "port 111 cannot be answered", true },
};

/* Beside vfs/base/confine_common.c. Not here, since workers are up: io_uring_setup, which is what
 * keeps the limits of their rings (vfs/io/ring.c); listen; anything that starts a program. */
static const struct confine_call calls[] = {
	/* What resolves names of clients and talks to rpcbind opens sockets of these families;
	 * netlink is where the C library looks whether there is IPv6. */
	{ "socket", 0, CONFINE_INT, AF_INET },
	{ "socket", 0, CONFINE_INT, AF_INET6 },
	{ "socket", 0, CONFINE_INT, AF_UNIX },
	{ "socket", 0, CONFINE_INT, AF_NETLINK },
	{ "bind" },     /* of that netlink socket, and of a reserved port for rpcbind */
	{ "sendmmsg" }, /* the resolver asks for both kinds of address at once */
	{ "ioctl", 1, CONFINE_INT, FIONREAD }, /* the resolver: how long an answer is */

	/* [metrics]: libmicrohttpd's loop, in a thread that gives way to all others. */
	{ "epoll_create1" },
	{ "epoll_ctl" },
	{ "epoll_wait" },
	{ "epoll_pwait" },
	{ "sendfile" },
	{ "setpriority" },

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
		          " CONFIG_SECCOMP_FILTER, or write 'seccomp = off' in lodestore.conf",
		          strerror(-r));
	return r;
}
