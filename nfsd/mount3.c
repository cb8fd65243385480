/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount3.c - MOUNT version 3 (RFC 1813 section 5), and versions 1 and 2 (RFC 1094 appendix A) for
 * showmount(8) and old clients.
 *
 * All but NULL run on the pool: opening an export's root may wait for a disk, a host's name for
 * DNS.
 */
#include "nfsd/mount3.h"

#include <errno.h>
#include <rpc/auth.h>
#include <string.h>

#include "nfsd/mounts.h"
#include "nfsd/worker.h"
#include "rpcgen/mount3_results.h"
#include "rpcgen/xdr_cursor.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	LIST_BYTES_MAX = 1 << 20,
	MNT_V1_ACCES = 13, /* fhstatus is a UNIX error (RFC 1094 appendix A) */
};

static const struct {
	int error;
	mountstat3 status;
} mount_statuses[] = {
	{ -EPERM, MNT3ERR_ACCES },
	{ -EACCES, MNT3ERR_ACCES },
	{ -ENOENT, MNT3ERR_NOENT },
	{ -EIO, MNT3ERR_IO },
	{ -ENOTDIR, MNT3ERR_NOTDIR },
	{ -EINVAL, MNT3ERR_INVAL },
	{ -EXDEV, MNT3ERR_ACCES }, /* another file system below the export: not exported */
	{ -ENAMETOOLONG, MNT3ERR_NAMETOOLONG },
	{ -ESTALE, MNT3ERR_NOENT }, /* its file system is not mounted now */
};

static mountstat3 mount_status(int error)
{
	for (size_t i = 0; i < ARRAY_COUNT(mount_statuses); i++)
		if (mount_statuses[i].error == error)
			return mount_statuses[i].status;
	return MNT3ERR_SERVERFAULT;
}

static const char *mount_why(int error)
{
	switch (error) {
	case -EACCES:
		return "the export's line does not list this host";
	case -EPERM:
		return "the port is above 1023 and the export says 'secure'";
	case -ENOENT:
		return "no export, or no such directory below one";
	case -EXDEV:
		return "another file system is mounted there; give it a line of its own in exports";
	case -ESTALE:
		return "the export cannot be served now (see the messages at start or reload)";
	default:
		return strerror(-error);
	}
}

/* A dirpath with its NUL. -EBADMSG: GARBAGE_ARGS; -EINVAL: a NUL inside. */
static int path_get(struct call *call, char to[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	struct xdr_in in = xdr_in(call->rpc.args, call->rpc.args_bytes);
	struct xdr_view view = xdr_get_opaque(&in, MNTPATHLEN);

	if (!xdr_in_done(&in))
		return -EBADMSG;
	if (view.count)
		memcpy(to, view.bytes, view.count);
	to[view.count] = '\0';
	return strlen(to) == view.count ? 0 : -EINVAL;
}

static void say_mounted(const struct call *call, const char *path)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const char *host = export_address_print(&call->client, text);

	log_info("%s mounted \"%s\" (%s, root %s)", host, LOG_ESCAPED(path),
	         call->options.read_only ? "ro" : "rw",
	         call->options.root_squash || call->options.all_squash ? "squashed"
	                                                               : "not squashed");
	if ((call->options.root_squash || call->options.all_squash) && !call->options.read_only)
		log_warn("ESXi acts as root and will not be able to create machines on \"%s\": if "
		         "%s is"
		         " an ESXi host, write %s(rw,no_root_squash) in exports and reload",
		         LOG_ESCAPED(path), host, host);
}

static void mount_refused(struct call *call, const char *path, int error)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const struct log_about about = {
		.client = export_address_print(&call->client, text),
		.export = path,
		.call = call->proc->name,
	};

	call->failed = true;
	call->refusal = REFUSED_MOUNT;
	log_about(LOG_LEVEL_WARNING, &about, "%s may not mount \"%s\": %s", about.client,
	          LOG_ESCAPED(path), mount_why(error));
}

static int mount_open(struct call *call, char path[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	struct server *server = call->worker->server;
	int r;

	r = path_get(call, path);
	if (r == 0)
		r = vfs_mount(server->vfs, path, &call->client, call->client_port, server->names,
		              &call->file, &call->options);
	return r;
}

static int mount3_mnt(struct call *call)
{
	char path[VFS_MOUNT_PATH_BYTES_MAX + 1];
	const struct vfs_handle *handle;
	int r;

	r = mount_open(call, path);
	if (r == -EBADMSG)
		return r;
	if (r < 0) {
		mount_refused(call, path, r);
		xdr_put_u32(&call->out, mount_status(r));
		return 0;
	}
	handle = vfs_file_handle(call->file);
	xdr_put_u32(&call->out, MNT3_OK);
	xdr_put_opaque(&call->out, handle->bytes, handle->count);
	xdr_put_u32(&call->out, 1); /* one flavour: */
	xdr_put_u32(&call->out, AUTH_SYS);
	mounts_add(call->worker->server->mounts, &call->client, path);
	say_mounted(call, path);
	return 0;
}

/* Versions 1 and 2 have handles of 32 bytes for NFS version 2, which is not served. */
static int mount1_mnt(struct call *call)
{
	char path[VFS_MOUNT_PATH_BYTES_MAX + 1], text[EXPORT_ADDRESS_TEXT_BYTES];

	if (path_get(call, path) == -EBADMSG)
		return -EBADMSG;
	log_warn("%s may not mount \"%s\": it asks for NFS version 2; mount with version 3",
	         export_address_print(&call->client, text), LOG_ESCAPED(path));
	call->failed = true;
	call->refusal = REFUSED_MOUNT;
	xdr_put_u32(&call->out, MNT_V1_ACCES);
	return 0;
}

static int mount3_null(struct call *call)
{
	return 0;
}

static uint32_t mount3_list_room(const struct call *call)
{
	return call->udp ? 60 << 10 : LIST_BYTES_MAX;
}

static int mount3_dump(struct call *call)
{
	mounts_put(call->worker->server->mounts, &call->out);
	return 0;
}

static int mount3_umnt(struct call *call)
{
	char path[VFS_MOUNT_PATH_BYTES_MAX + 1];
	int r = path_get(call, path);

	if (r == 0)
		mounts_remove(call->worker->server->mounts, &call->client, path);
	return r == -EBADMSG ? r : 0;
}

static int mount3_umntall(struct call *call)
{
	mounts_remove_all(call->worker->server->mounts, &call->client);
	return 0;
}

/* ---- EXPORT ---- */

enum {
	GROUPS_SHOWN_MAX = 256
};

struct export_list {
	struct xdr_out *out;
	unsigned left_out;
};

static struct xdr_view view_of(const char *text)
{
	size_t bytes = strlen(text);

	return (struct xdr_view){ (const uint8_t *) text,
		                  (uint32_t) (bytes < MNTNAMLEN ? bytes : MNTNAMLEN) };
}

static void export_put(void *context, const struct export_spec *spec)
{
	struct export_list *list = context;
	struct xdr_view directory = { (const uint8_t *) spec->path, (uint32_t) strlen(spec->path) };
	struct xdr_view groups[GROUPS_SHOWN_MAX];
	size_t count = 0;

	for (size_t i = 0; i < spec->rule_count && count < GROUPS_SHOWN_MAX; i++)
		groups[count++] = view_of(spec->rules[i].text);
	if (directory.count > MNTPATHLEN ||
	    mount3_export_bytes(directory, groups, count) + MOUNT3_LIST_END_BYTES >
	            (size_t) (list->out->end - list->out->at)) {
		list->left_out++;
		return;
	}
	mount3_put_export(list->out, directory, groups, count);
}

static int mount3_export(struct call *call)
{
	struct export_list list = { .out = &call->out };

	vfs_exports_visit(call->worker->server->vfs, export_put, &list);
	mount3_put_list_end(&call->out);
	if (list.left_out)
		log_warn(
			"%u exports do not fit into the list that MOUNT's EXPORT gives; they can be"
			" mounted all the same",
			list.left_out);
	return 0;
}

/* Only for arguments that do not decode: everything else is a result. */
static void mount3_failed(struct call *call, int error)
{
	call->accept_stat = error == -EBADMSG ? 4 /* GARBAGE_ARGS */ : 5 /* SYSTEM_ERR */;
}

/* Rather than refuse AUTH_NONE: tools ask for lists, and old clients mount, without credentials. */
/* clang-format off */
#define MOUNT_ROW(id, name_, kind_, room_, run_) \
	[id] = { .name = name_, .kind = kind_, .flags = PROC_OPEN, .reply_room = room_, \
		 .run = run_ }

static const struct proc mount3_procs[] = {
	MOUNT_ROW(MOUNTPROC3_NULL, "MOUNT NULL", CALL_INLINE, NULL, mount3_null),
	MOUNT_ROW(MOUNTPROC3_MNT, "MNT", CALL_BLOCKING, NULL, mount3_mnt),
	MOUNT_ROW(MOUNTPROC3_DUMP, "DUMP", CALL_BLOCKING, mount3_list_room, mount3_dump),
	MOUNT_ROW(MOUNTPROC3_UMNT, "UMNT", CALL_BLOCKING, NULL, mount3_umnt),
	MOUNT_ROW(MOUNTPROC3_UMNTALL, "UMNTALL", CALL_BLOCKING, NULL, mount3_umntall),
	MOUNT_ROW(MOUNTPROC3_EXPORT, "EXPORT", CALL_BLOCKING, mount3_list_room, mount3_export),
};

static const struct proc mount1_procs[] = {
	MOUNT_ROW(MOUNTPROC_NULL, "MOUNT NULL", CALL_INLINE, NULL, mount3_null),
	MOUNT_ROW(MOUNTPROC_MNT, "MNT", CALL_BLOCKING, NULL, mount1_mnt),
	MOUNT_ROW(MOUNTPROC_DUMP, "DUMP", CALL_BLOCKING, mount3_list_room, mount3_dump),
	MOUNT_ROW(MOUNTPROC_UMNT, "UMNT", CALL_BLOCKING, NULL, mount3_umnt),
	MOUNT_ROW(MOUNTPROC_UMNTALL, "UMNTALL", CALL_BLOCKING, NULL, mount3_umntall),
	MOUNT_ROW(MOUNTPROC_EXPORT, "EXPORT", CALL_BLOCKING, mount3_list_room, mount3_export),
	MOUNT_ROW(MOUNTPROC_EXPORTALL, "EXPORTALL", CALL_BLOCKING, mount3_list_room, mount3_export),
};
/* clang-format on */

const struct program mount3_program = {
	.number = MOUNT_PROGRAM,
	.version = MOUNT_V3,
	.procs = mount3_procs,
	.proc_count = ARRAY_COUNT(mount3_procs),
	.failed = mount3_failed,
	.role = ROLE_NFS,
};

const struct program mount2_program = {
	.number = MOUNT_PROGRAM,
	.version = MOUNT_V2,
	.procs = mount1_procs,
	.proc_count = ARRAY_COUNT(mount1_procs),
	.failed = mount3_failed,
	.role = ROLE_NFS,
};

const struct program mount1_program = {
	.number = MOUNT_PROGRAM,
	.version = MOUNT_V1,
	.procs = mount1_procs,
	.proc_count = ARRAY_COUNT(mount1_procs),
	.failed = mount3_failed,
	.role = ROLE_NFS,
};
