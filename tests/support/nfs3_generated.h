/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs3_generated.h - NFSv3's arguments as rpcgen(1) decodes them, to hold ours against.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rpcgen/nfs3_args.h"
#include "rpcgen/xdr_generated.h"

union nfs3_generated {
	GETATTR3args getattr; /* also READLINK, FSSTAT, FSINFO, PATHCONF: a handle */
	SETATTR3args setattr;
	LOOKUP3args lookup; /* also REMOVE, RMDIR */
	ACCESS3args access;
	READ3args read;
	WRITE3args write;
	CREATE3args create;
	MKDIR3args mkdir;
	SYMLINK3args symlink;
	MKNOD3args mknod;
	RENAME3args rename;
	LINK3args link;
	READDIR3args readdir;
	READDIRPLUS3args readdirplus;
	COMMIT3args commit;
};

/* rpcgen's encoder and decoder of a procedure's arguments; NULL for NULL. */
xdrproc_t nfs3_generated_proc(uint32_t procedure);

/* Do both hold the same values? Unions of rpcgen are compared in the arm that counts. */
bool nfs3_generated_same(uint32_t procedure, const union nfs3_generated *generated,
                         const union nfs3_args *args);

/* Are all enumerations within the RFC's values? rpcgen's decoders do not look. */
bool nfs3_generated_in_range(uint32_t procedure, const union nfs3_generated *generated);
