/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai_dialects.h - between vaai.c and the two dialects. Nobody else includes it.
 */
#pragma once

#include "rpcgen/vaai.h"

/* Readers do not fail: the cursor does. What is readable but cannot be goes to call->refusal. */
void vaai_o_read(struct xdr_in *in, struct vaai_call *call);
void vaai_q_read(struct xdr_in *in, struct vaai_call *call);

void vaai_o_put(struct xdr_out *out, const struct vaai_call *call,
                const struct vaai_result *result);
void vaai_q_put(struct xdr_out *out, const struct vaai_call *call,
                const struct vaai_result *result);

/* One name in a directory: NFS3_OK, NFS3ERR_NAMETOOLONG, NFS3ERR_INVAL. */
nfsstat3 vaai_check_name(const struct xdr_view *name);
