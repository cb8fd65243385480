/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_files.c - the NFS calls that plug-ins and the hosts around them make.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "offload/plugin/plugin_session.h"

static const struct {
	uint32_t status;
	const char *name;
} status_names[] = {
	{ NFS3_OK, "NFS3_OK" },
	{ NFS3ERR_PERM, "NFS3ERR_PERM" },
	{ NFS3ERR_NOENT, "NFS3ERR_NOENT" },
	{ NFS3ERR_IO, "NFS3ERR_IO" },
	{ NFS3ERR_NXIO, "NFS3ERR_NXIO" },
	{ NFS3ERR_ACCES, "NFS3ERR_ACCES" },
	{ NFS3ERR_EXIST, "NFS3ERR_EXIST" },
	{ NFS3ERR_XDEV, "NFS3ERR_XDEV" },
	{ NFS3ERR_NODEV, "NFS3ERR_NODEV" },
	{ NFS3ERR_NOTDIR, "NFS3ERR_NOTDIR" },
	{ NFS3ERR_ISDIR, "NFS3ERR_ISDIR" },
	{ NFS3ERR_INVAL, "NFS3ERR_INVAL" },
	{ NFS3ERR_FBIG, "NFS3ERR_FBIG" },
	{ NFS3ERR_NOSPC, "NFS3ERR_NOSPC" },
	{ NFS3ERR_ROFS, "NFS3ERR_ROFS" },
	{ NFS3ERR_MLINK, "NFS3ERR_MLINK" },
	{ NFS3ERR_NAMETOOLONG, "NFS3ERR_NAMETOOLONG" },
	{ NFS3ERR_NOTEMPTY, "NFS3ERR_NOTEMPTY" },
	{ NFS3ERR_DQUOT, "NFS3ERR_DQUOT" },
	{ NFS3ERR_STALE, "NFS3ERR_STALE" },
	{ NFS3ERR_REMOTE, "NFS3ERR_REMOTE" },
	{ NFS3ERR_BADHANDLE, "NFS3ERR_BADHANDLE" },
	{ NFS3ERR_NOT_SYNC, "NFS3ERR_NOT_SYNC" },
	{ NFS3ERR_BAD_COOKIE, "NFS3ERR_BAD_COOKIE" },
	{ NFS3ERR_NOTSUPP, "NFS3ERR_NOTSUPP" },
	{ NFS3ERR_TOOSMALL, "NFS3ERR_TOOSMALL" },
	{ NFS3ERR_SERVERFAULT, "NFS3ERR_SERVERFAULT" },
	{ NFS3ERR_BADTYPE, "NFS3ERR_BADTYPE" },
	{ NFS3ERR_JUKEBOX, "NFS3ERR_JUKEBOX" },
};

const char *plugin_status_name(uint32_t status)
{
	static __thread char number[32];

	for (size_t i = 0; i < sizeof status_names / sizeof status_names[0]; i++)
		if (status_names[i].status == status)
			return status_names[i].name;
	snprintf(number, sizeof number, "status %u", status);
	return number;
}

static int refused(struct plugin_session *session, uint32_t status, const char *call,
                   const char *name)
{
	session->status = status;
	return plugin_session_say(session, -EREMOTEIO, "%s %s: %s", call, name,
	                          plugin_status_name(status));
}

static nfs_fh3 wire_handle(const struct plugin_handle *handle)
{
	nfs_fh3 wire = { { handle->bytes, (char *) (uintptr_t) handle->data } };

	return wire;
}

static void handle_keep(struct plugin_handle *to, const nfs_fh3 *wire)
{
	to->bytes = wire->data.data_len; /* NFS3_FHSIZE at most: its decoder says so */
	memcpy(to->data, wire->data.data_val, to->bytes);
}

static diropargs3 wire_name(const struct plugin_handle *dir, const char *name, size_t name_bytes)
{
	diropargs3 wire = { wire_handle(dir), { (u_int) name_bytes, (char *) (uintptr_t) name } };

	return wire;
}

static int lookup_one(struct plugin_session *session, const struct plugin_handle *dir,
                      const char *name, size_t name_bytes, struct plugin_handle *ret_file)
{
	LOOKUP3args args = { wire_name(dir, name, name_bytes) };
	struct plugin_handle found;
	LOOKUP3res result;
	char shown[256];
	int r;

	r = plugin_session_call(session, "LOOKUP", NFSPROC3_LOOKUP, (xdrproc_t) xdr_LOOKUP3args,
	                        &args, (xdrproc_t) xdr_LOOKUP3res, &result, sizeof result);
	if (r < 0)
		return r;
	if (result.status == NFS3_OK) {
		handle_keep(&found, &result.LOOKUP3res_u.resok.object);
		*ret_file = found;
	} else {
		snprintf(shown, sizeof shown, "%.*s", (int) name_bytes, name);
		r = refused(session, result.status, "LOOKUP", shown);
	}
	xdr_free((xdrproc_t) xdr_LOOKUP3res, (char *) &result);
	return r;
}

int plugin_get_attributes(struct plugin_session *session, const struct plugin_handle *file,
                          fattr3 *ret_attributes)
{
	GETATTR3args args = { wire_handle(file) };
	GETATTR3res result;
	int r;

	r = plugin_session_call(session, "GETATTR", NFSPROC3_GETATTR, (xdrproc_t) xdr_GETATTR3args,
	                        &args, (xdrproc_t) xdr_GETATTR3res, &result, sizeof result);
	if (r < 0)
		return r;
	if (result.status != NFS3_OK)
		return refused(session, result.status, "GETATTR", "");
	*ret_attributes = result.GETATTR3res_u.resok.obj_attributes;
	return 0;
}

int plugin_lookup(struct plugin_session *session, const char *path, struct plugin_handle *ret_file,
                  fattr3 *ret_attributes, const char **ret_missing)
{
	struct plugin_handle file = session->root;
	int r;

	while (*path) {
		size_t bytes = strcspn(path, "/");

		r = lookup_one(session, &file, path, bytes, &file);
		if (r == -EREMOTEIO && session->status == NFS3ERR_NOENT && ret_missing)
			*ret_missing = path;
		if (r < 0)
			return r;
		path += bytes + (path[bytes] == '/');
	}
	r = ret_attributes ? plugin_get_attributes(session, &file, ret_attributes) : 0;
	if (r == 0)
		*ret_file = file;
	return r;
}

int plugin_lookup_parent(struct plugin_session *session, const char *path,
                         struct plugin_handle *ret_dir, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[1024];

	*ret_name = slash ? slash + 1 : path;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int) (slash - path) : 0, path);
	return plugin_lookup(session, dir, ret_dir, NULL, NULL);
}

/* Servers may leave the new file's handle out: then it is looked up. */
int plugin_create(struct plugin_session *session, const struct plugin_handle *dir, const char *name,
                  struct plugin_handle *ret_file)
{
	CREATE3args args = { .where = wire_name(dir, name, strlen(name)),
		             .how = { .mode = UNCHECKED } };
	const post_op_fh3 *made;
	CREATE3res result;
	int r;

	r = plugin_session_call(session, "CREATE", NFSPROC3_CREATE, (xdrproc_t) xdr_CREATE3args,
	                        &args, (xdrproc_t) xdr_CREATE3res, &result, sizeof result);
	if (r < 0)
		return r;
	made = &result.CREATE3res_u.resok.obj;
	if (result.status != NFS3_OK)
		r = refused(session, result.status, "CREATE", name);
	else if (made->handle_follows)
		handle_keep(ret_file, &made->post_op_fh3_u.handle);
	else
		r = lookup_one(session, dir, name, strlen(name), ret_file);
	xdr_free((xdrproc_t) xdr_CREATE3res, (char *) &result);
	return r;
}

int plugin_mkdir(struct plugin_session *session, const struct plugin_handle *dir, const char *name)
{
	MKDIR3args args = {
		.where = wire_name(dir, name, strlen(name)),
		.attributes = { .mode = { .set_it = TRUE, .set_mode3_u = { .mode = 0755 } } },
	};
	MKDIR3res result;
	int r;

	r = plugin_session_call(session, "MKDIR", NFSPROC3_MKDIR, (xdrproc_t) xdr_MKDIR3args, &args,
	                        (xdrproc_t) xdr_MKDIR3res, &result, sizeof result);
	if (r < 0)
		return r;
	if (result.status != NFS3_OK)
		r = refused(session, result.status, "MKDIR", name);
	xdr_free((xdrproc_t) xdr_MKDIR3res, (char *) &result);
	return r;
}

int plugin_set_size(struct plugin_session *session, const struct plugin_handle *file,
                    uint64_t bytes)
{
	SETATTR3args args = {
		.object = wire_handle(file),
		.new_attributes = { .size = { .set_it = TRUE, .set_size3_u = { .size = bytes } } },
	};
	SETATTR3res result;
	int r;

	r = plugin_session_call(session, "SETATTR", NFSPROC3_SETATTR, (xdrproc_t) xdr_SETATTR3args,
	                        &args, (xdrproc_t) xdr_SETATTR3res, &result, sizeof result);
	if (r < 0)
		return r;
	if (result.status != NFS3_OK)
		r = refused(session, result.status, "SETATTR", "size");
	xdr_free((xdrproc_t) xdr_SETATTR3res, (char *) &result);
	return r;
}

int plugin_read(struct plugin_session *session, const struct plugin_handle *file, uint64_t offset,
                uint8_t to[PLUGIN_READ_BYTES_MAX], size_t *ret_bytes, bool *ret_eof)
{
	READ3args args = { wire_handle(file), offset, PLUGIN_READ_BYTES_MAX };
	const READ3resok *ok;
	READ3res result;
	int r;

	r = plugin_session_call(session, "READ", NFSPROC3_READ, (xdrproc_t) xdr_READ3args, &args,
	                        (xdrproc_t) xdr_READ3res, &result, sizeof result);
	if (r < 0)
		return r;
	ok = &result.READ3res_u.resok;
	if (result.status != NFS3_OK) {
		r = refused(session, result.status, "READ", "");
	} else if (ok->data.data_len > PLUGIN_READ_BYTES_MAX ||
	           (ok->data.data_len == 0 && !ok->eof)) {
		r = plugin_session_say(session, -ECOMM, "READ: %u bytes, which cannot be",
		                       ok->data.data_len);
	} else {
		*ret_bytes = ok->data.data_len;
		*ret_eof = ok->eof;
		memcpy(to, ok->data.data_val, *ret_bytes);
	}
	xdr_free((xdrproc_t) xdr_READ3res, (char *) &result);
	return r;
}

/* RMDIR's arguments and results are those of REMOVE (RFC 1813 sections 3.3.12 and 3.3.13). */
int plugin_remove(struct plugin_session *session, const struct plugin_handle *dir, const char *name,
                  bool is_dir)
{
	REMOVE3args args = { wire_name(dir, name, strlen(name)) };
	const char *call = is_dir ? "RMDIR" : "REMOVE";
	REMOVE3res result;
	int r;

	r = plugin_session_call(session, call, is_dir ? NFSPROC3_RMDIR : NFSPROC3_REMOVE,
	                        (xdrproc_t) xdr_REMOVE3args, &args, (xdrproc_t) xdr_REMOVE3res,
	                        &result, sizeof result);
	if (r < 0)
		return r;
	if (result.status != NFS3_OK)
		r = refused(session, result.status, call, name);
	xdr_free((xdrproc_t) xdr_REMOVE3res, (char *) &result);
	return r;
}
