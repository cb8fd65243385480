/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfsd_fake.h - lodestore-nfsd's connections, calls and procedures on one worker without threads,
 * above vfs_fake.c, ring_fake.c and pool_fake.c.
 *
 * The test sets the ring's behaviour (ring_fake.h), opens connections, and runs the worker's loop.
 */
#pragma once

#include "nfsd/conn.h"
#include "nfsd/worker.h"
#include "support/vfs_fake.h"

struct nfsd_fake {
	struct config config;
	struct server server;
	struct worker worker;
	unsigned flush_failures; /* told by vfs: the verifier changed so many times */
};

/* @buffer_bytes: the budget of all buffers. */
void nfsd_fake_open(struct nfsd_fake *fake, size_t buffer_bytes);

/* A connection from 10.0.0.@host; returns its socket's number. */
int nfsd_fake_connect(struct nfsd_fake *fake, uint8_t host);

/* What the worker's tick does for connections that wait for memory. */
void nfsd_fake_resume(struct nfsd_fake *fake);

/* Asserts that all connections have ended and all memory and references have come back. */
void nfsd_fake_close(struct nfsd_fake *fake);
