/* SPDX-License-Identifier: Apache-2.0 */
#include "support/nfs3_generated.h"

#include <string.h>

xdrproc_t nfs3_generated_proc(uint32_t procedure)
{
	static const xdrproc_t procs[] = {
		[NFSPROC3_GETATTR] = (xdrproc_t) xdr_GETATTR3args,
		[NFSPROC3_SETATTR] = (xdrproc_t) xdr_SETATTR3args,
		[NFSPROC3_LOOKUP] = (xdrproc_t) xdr_LOOKUP3args,
		[NFSPROC3_ACCESS] = (xdrproc_t) xdr_ACCESS3args,
		[NFSPROC3_READLINK] = (xdrproc_t) xdr_READLINK3args,
		[NFSPROC3_READ] = (xdrproc_t) xdr_READ3args,
		[NFSPROC3_WRITE] = (xdrproc_t) xdr_WRITE3args,
		[NFSPROC3_CREATE] = (xdrproc_t) xdr_CREATE3args,
		[NFSPROC3_MKDIR] = (xdrproc_t) xdr_MKDIR3args,
		[NFSPROC3_SYMLINK] = (xdrproc_t) xdr_SYMLINK3args,
		[NFSPROC3_MKNOD] = (xdrproc_t) xdr_MKNOD3args,
		[NFSPROC3_REMOVE] = (xdrproc_t) xdr_REMOVE3args,
		[NFSPROC3_RMDIR] = (xdrproc_t) xdr_RMDIR3args,
		[NFSPROC3_RENAME] = (xdrproc_t) xdr_RENAME3args,
		[NFSPROC3_LINK] = (xdrproc_t) xdr_LINK3args,
		[NFSPROC3_READDIR] = (xdrproc_t) xdr_READDIR3args,
		[NFSPROC3_READDIRPLUS] = (xdrproc_t) xdr_READDIRPLUS3args,
		[NFSPROC3_FSSTAT] = (xdrproc_t) xdr_FSSTAT3args,
		[NFSPROC3_FSINFO] = (xdrproc_t) xdr_FSINFO3args,
		[NFSPROC3_PATHCONF] = (xdrproc_t) xdr_PATHCONF3args,
		[NFSPROC3_COMMIT] = (xdrproc_t) xdr_COMMIT3args,
	};

	return procs[procedure];
}

static bool same_bytes(struct xdr_view view, const char *bytes, uint32_t count)
{
	return view.count == count && (count == 0 || memcmp(view.bytes, bytes, count) == 0);
}

static bool same_handle(struct xdr_view view, const nfs_fh3 *handle)
{
	return same_bytes(view, handle->data.data_val, handle->data.data_len);
}

static bool same_dirop(const struct nfs3_dirop *ours, const diropargs3 *theirs)
{
	return same_handle(ours->dir, &theirs->dir) &&
	       same_bytes(ours->name, theirs->name.filename3_val, theirs->name.filename3_len);
}

static bool same_time(const nfstime3 *ours, const nfstime3 *theirs)
{
	return ours->seconds == theirs->seconds && ours->nseconds == theirs->nseconds;
}

static bool same_sattr(const struct nfs3_sattr *ours, const sattr3 *theirs)
{
	return ours->set_mode == theirs->mode.set_it && ours->set_uid == theirs->uid.set_it &&
	       ours->set_gid == theirs->gid.set_it && ours->set_size == theirs->size.set_it &&
	       ours->set_atime == theirs->atime.set_it && ours->set_mtime == theirs->mtime.set_it &&
	       (!ours->set_mode || ours->mode == theirs->mode.set_mode3_u.mode) &&
	       (!ours->set_uid || ours->uid == theirs->uid.set_uid3_u.uid) &&
	       (!ours->set_gid || ours->gid == theirs->gid.set_gid3_u.gid) &&
	       (!ours->set_size || ours->size == theirs->size.set_size3_u.size) &&
	       (ours->set_atime != SET_TO_CLIENT_TIME ||
	        same_time(&ours->atime, &theirs->atime.set_atime_u.atime)) &&
	       (ours->set_mtime != SET_TO_CLIENT_TIME ||
	        same_time(&ours->mtime, &theirs->mtime.set_mtime_u.mtime));
}

static bool same_create(const struct nfs3_create_args *ours, const CREATE3args *theirs)
{
	if (!same_dirop(&ours->where, &theirs->where) || ours->mode != theirs->how.mode)
		return false;
	if (ours->mode == EXCLUSIVE)
		return memcmp(ours->verifier, theirs->how.createhow3_u.verf,
		              sizeof ours->verifier) == 0;
	return same_sattr(&ours->attributes, &theirs->how.createhow3_u.obj_attributes);
}

static bool same_mknod(const struct nfs3_mknod_args *ours, const MKNOD3args *theirs)
{
	const devicedata3 *device = &theirs->what.mknoddata3_u.device;

	if (!same_dirop(&ours->where, &theirs->where) || ours->type != theirs->what.type)
		return false;
	switch (ours->type) {
	case NF3CHR:
	case NF3BLK:
		return same_sattr(&ours->attributes, &device->dev_attributes) &&
		       ours->device.specdata1 == device->spec.specdata1 &&
		       ours->device.specdata2 == device->spec.specdata2;
	case NF3SOCK:
	case NF3FIFO:
		return same_sattr(&ours->attributes, &theirs->what.mknoddata3_u.pipe_attributes);
	default:
		return true;
	}
}

static bool same_setattr(const struct nfs3_setattr_args *ours, const SETATTR3args *theirs)
{
	return same_handle(ours->object, &theirs->object) &&
	       same_sattr(&ours->attributes, &theirs->new_attributes) &&
	       ours->check_guard == theirs->guard.check &&
	       (!ours->check_guard ||
	        same_time(&ours->guard_ctime, &theirs->guard.sattrguard3_u.obj_ctime));
}

static bool same_write(const struct nfs3_write_args *ours, const WRITE3args *theirs)
{
	return same_handle(ours->file, &theirs->file) && ours->offset == theirs->offset &&
	       ours->count == theirs->count && ours->stable == theirs->stable &&
	       same_bytes(ours->data, theirs->data.data_val, theirs->data.data_len);
}

static bool same_readdir(const struct nfs3_readdir_args *ours, const READDIR3args *theirs)
{
	return same_handle(ours->dir, &theirs->dir) && ours->cookie == theirs->cookie &&
	       memcmp(ours->verifier, theirs->cookieverf, sizeof ours->verifier) == 0 &&
	       ours->dircount == theirs->count && ours->maxcount == 0;
}

static bool same_readdirplus(const struct nfs3_readdir_args *ours, const READDIRPLUS3args *theirs)
{
	return same_handle(ours->dir, &theirs->dir) && ours->cookie == theirs->cookie &&
	       memcmp(ours->verifier, theirs->cookieverf, sizeof ours->verifier) == 0 &&
	       ours->dircount == theirs->dircount && ours->maxcount == theirs->maxcount;
}

bool nfs3_generated_same(uint32_t procedure, const union nfs3_generated *generated,
                         const union nfs3_args *args)
{
	switch (procedure) {
	case NFSPROC3_SETATTR:
		return same_setattr(&args->setattr, &generated->setattr);
	case NFSPROC3_LOOKUP:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		return same_dirop(&args->dirop, &generated->lookup.what);
	case NFSPROC3_ACCESS:
		return same_handle(args->access.object, &generated->access.object) &&
		       args->access.access == generated->access.access;
	case NFSPROC3_READ:
		return same_handle(args->read.file, &generated->read.file) &&
		       args->read.offset == generated->read.offset &&
		       args->read.count == generated->read.count;
	case NFSPROC3_WRITE:
		return same_write(&args->write, &generated->write);
	case NFSPROC3_CREATE:
		return same_create(&args->create, &generated->create);
	case NFSPROC3_MKDIR:
		return same_dirop(&args->mkdir.where, &generated->mkdir.where) &&
		       same_sattr(&args->mkdir.attributes, &generated->mkdir.attributes);
	case NFSPROC3_SYMLINK:
		return same_dirop(&args->symlink.where, &generated->symlink.where) &&
		       same_sattr(&args->symlink.attributes,
		                  &generated->symlink.symlink.symlink_attributes) &&
		       same_bytes(args->symlink.target,
		                  generated->symlink.symlink.symlink_data.nfspath3_val,
		                  generated->symlink.symlink.symlink_data.nfspath3_len);
	case NFSPROC3_MKNOD:
		return same_mknod(&args->mknod, &generated->mknod);
	case NFSPROC3_RENAME:
		return same_dirop(&args->rename.from, &generated->rename.from) &&
		       same_dirop(&args->rename.to, &generated->rename.to);
	case NFSPROC3_LINK:
		return same_handle(args->link.file, &generated->link.file) &&
		       same_dirop(&args->link.link, &generated->link.link);
	case NFSPROC3_READDIR:
		return same_readdir(&args->readdir, &generated->readdir);
	case NFSPROC3_READDIRPLUS:
		return same_readdirplus(&args->readdir, &generated->readdirplus);
	case NFSPROC3_COMMIT:
		return same_handle(args->commit.file, &generated->commit.file) &&
		       args->commit.offset == generated->commit.offset &&
		       args->commit.count == generated->commit.count;
	default:
		return same_handle(args->object, &generated->getattr.object);
	}
}

static bool sattr_in_range(const sattr3 *sattr)
{
	return sattr->atime.set_it <= SET_TO_CLIENT_TIME &&
	       sattr->mtime.set_it <= SET_TO_CLIENT_TIME;
}

bool nfs3_generated_in_range(uint32_t procedure, const union nfs3_generated *generated)
{
	const createhow3 *how = &generated->create.how;
	const mknoddata3 *what = &generated->mknod.what;

	switch (procedure) {
	case NFSPROC3_SETATTR:
		return sattr_in_range(&generated->setattr.new_attributes);
	case NFSPROC3_WRITE:
		return generated->write.stable <= FILE_SYNC;
	case NFSPROC3_CREATE:
		return how->mode == EXCLUSIVE || sattr_in_range(&how->createhow3_u.obj_attributes);
	case NFSPROC3_MKDIR:
		return sattr_in_range(&generated->mkdir.attributes);
	case NFSPROC3_SYMLINK:
		return sattr_in_range(&generated->symlink.symlink.symlink_attributes);
	case NFSPROC3_MKNOD:
		if (what->type == NF3CHR || what->type == NF3BLK)
			return sattr_in_range(&what->mknoddata3_u.device.dev_attributes);
		if (what->type == NF3SOCK || what->type == NF3FIFO)
			return sattr_in_range(&what->mknoddata3_u.pipe_attributes);
		return what->type >= NF3REG && what->type <= NF3FIFO;
	default:
		return true;
	}
}
