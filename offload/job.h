/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - what is known of one job, and how it may go on. Pure: no I/O, no locks, no clock.
 *
 *     QUEUED --> RUNNING --> COMPLETE | FAILED | CANCELLED       (state: what callers see)
 *
 *     ACCEPTED     nothing has been touched                      (phase: what a restart must know)
 *       FILLING    an existing destination is being overwritten up to durable_bytes at least;
 *                  or a new one is being made in an unnamed file, of which a crash leaves nothing
 *       PLACING    a new destination is complete, its handle noted, its name about to appear
 *       EMPTYING   it failed (status says why) and an existing destination is put back
 *     ENDED        the result
 *
 * The record is the journal: what is in it is all that a restarted sidecar knows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcgen/offload.h"
#include "vfs/export_address.h"
#include "vfs/handle.h"
#include "vfs/identity.h"

enum job_phase {
	JOB_ACCEPTED,
	JOB_FILLING,
	JOB_PLACING,
	JOB_EMPTYING,
	JOB_ENDED,
};

enum {
	JOB_NAME_BYTES = 256, /* with NUL */
	JOB_SHOWN_BYTES = OFFLOAD_PATH_BYTES_MAX + 1,
	JOB_TEXT_BYTES = OFFLOAD_TEXT_BYTES_MAX + 1,
	JOB_ENGINE_BYTES = OFFLOAD_ENGINE_BYTES_MAX + 1,
	JOB_RECORD_TEXT_BYTES = 16 << 10, /* any record as text fits */
};

/* A file, or the place of one that is still to be. */
struct job_file {
	struct vfs_handle handle; /* count 0: not there yet */
	struct vfs_handle dir; /* with name: where it was found or shall be; count 0: not known */
	char name[JOB_NAME_BYTES];
	char shown[JOB_SHOWN_BYTES]; /* as the caller named it */
	uint64_t ctime_ns; /* source: at the start, and at the end; destination: at the end */
};

struct job_record {
	uint64_t id;
	offload_kind kind;
	offload_state state;
	offload_status status;
	enum job_phase phase;
	uint32_t flags;
	struct job_file source, destination;

	struct export_address host; /* who asked; zero: local root */
	struct vfs_cred cred;       /* as whom the files are made, after squashing */

	uint64_t bytes_total, bytes_done, bytes_moved;
	uint64_t reserve_bytes; /* RESERVE: as asked */
	uint64_t durable_bytes;
	uint64_t former_bytes; /* an existing destination's length before */
	bool thick;            /* and whether its space was reserved */
	bool cancel;           /* asked to stop */

	char engine[JOB_ENGINE_BYTES];
	char text[JOB_TEXT_BYTES];
	uint64_t created_ms, started_ms, finished_ms;
	bool has_checksum;
	uint8_t checksum[OFFLOAD_CHECKSUM_BYTES];
};

bool job_is_live(const struct job_record *record);

/* A clone whose destination exists, and is filled where it is. */
bool job_is_into_existing(const struct job_record *record);

/* It has been looked at, and cannot be done without copying. */
bool job_is_slow(const struct job_record *record);

/* QUEUED -> RUNNING. */
void job_start(struct job_record *record, uint64_t now_ms);

/* Only forwards, and EMPTYING only from FILLING; PLACING -> ACCEPTED when a crash has taken the
 * unnamed file away. Asserts. */
void job_enter(struct job_record *record, enum job_phase phase);

/* -> ENDED, with the state that goes with @status. */
void job_end(struct job_record *record, offload_status status, uint64_t now_ms);

/* A clone with one file as source and destination. */
bool job_is_onto_itself(const struct job_record *record);

/* The same work: kind, files, flags, and so on. */
bool job_is_same(const struct job_record *record, const struct job_record *wanted);

/* Ended well, and so lately that the same call again is taken for a resent one. */
bool job_is_fresh(const struct job_record *record, uint64_t now_ms);

/* Must not run at the same time: one writes what the other reads or writes. */
bool job_conflicts(const struct job_record *record, const struct job_record *wanted);

/* Has it @file as its destination, or as its only file? */
bool job_is_for(const struct job_record *record, const struct job_file *file);

/* Its result need not be kept any longer. */
bool job_is_expired(const struct job_record *record, uint64_t now_ms);

/* Bytes per second. */
uint64_t job_rate(const struct job_record *record, uint64_t now_ms);

/* ---- job_text.c: the record as text, for the journal ---- */

/* Returns the bytes written, without the NUL behind them. */
size_t job_print(const struct job_record *record, char to[JOB_RECORD_TEXT_BYTES]);

/* -EBADMSG: cut, changed, or of a version that is not known here. */
int job_parse(const char *text, size_t text_bytes, struct job_record *ret_record);
