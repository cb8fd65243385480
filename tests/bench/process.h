/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - what /proc says another process has used.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct process_usage {
	uint64_t cpu_us;
	uint64_t resident_kib;
	uint64_t peak_kib; /* since process_forget_peak() */
};

void process_forget_peak(pid_t pid);

/* 0 or -errno. */
int process_usage(pid_t pid, struct process_usage *ret_usage);
