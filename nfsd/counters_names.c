/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_names.c - what is counted, as words.
 */
#include <stddef.h>

#include "nfsd/counters.h"
#include "nfsd/program.h"

const char *const counters_program_names[COUNTERS_PROGRAMS] = {
	[COUNTERS_NFS] = "nfs",         [COUNTERS_MOUNT] = "mount", [COUNTERS_PORTMAP] = "portmap",
	[COUNTERS_OFFLOAD] = "offload", [COUNTERS_NLM] = "nlm",     [COUNTERS_NSM] = "nsm",
};

const char *counters_procedure_name(enum counters_program family, uint32_t procedure)
{
	for (size_t i = 0; programs[i]; i++) {
		const struct program *program = programs[i];

		if (counters_program_of(program->number) == family &&
		    procedure < program->proc_count && program->procs[procedure].name)
			return program->procs[procedure].name;
	}
	return "";
}
