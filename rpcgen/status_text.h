/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_text.h - statuses by the names that RFC 1813 gives them. offload_text.h has ours.
 */
#pragma once

#include <stdint.h>

enum {
	NFS3_ERRORS = 28
};

/* Section 2.6, all but NFS3_OK: "NFS3ERR_PERM". The MOUNT protocol's errors have the same numbers
 * as those that sound alike. */
extern const struct nfs3_error {
	uint32_t status;
	const char *name;
} nfs3_errors[NFS3_ERRORS];

/* "NFS3_OK" or one of the above; NULL: there is no such status. */
const char *nfs3_status_name(uint32_t status);

/* Appendix II section 4.1.2: "NLM4_GRANTED"; NULL. */
const char *nlm4_status_name(uint32_t status);
