/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - what `lodestore rehearse` is to do, read from a file of lines.
 *
 *     server nas.example.org                  # and "port 2049", not to ask its portmapper
 *     datastore /srv/ds1
 *     dialect O
 *     hosts 2 at-once 4
 *     clone tmpl/t-flat.vmdk to vm%n/vm%n-flat.vmdk count 20 thin
 *
 * docs/rehearse.md has all of it. Paths are below the datastore; %n counts from 1. Words with
 * blanks stand in double quotes. Pure: text in, structure or messages out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SCENARIO_HOSTS_MAX = 64,
	SCENARIO_AT_ONCE_MAX = 64,
	SCENARIO_COUNT_MAX = 10000,
	SCENARIO_STEPS_MAX = 256,
	SCENARIO_PATH_BYTES = 256, /* with its NUL, numbers put in; a limit of dialect O */
	SCENARIO_ABORT_S_MAX = 3600,
	SCENARIO_POLL_MS_PRESET = 1000,
	SCENARIO_POLL_S_MAX = 60,
	SCENARIO_PATIENCE_MS_PRESET = 300000,
	SCENARIO_PATIENCE_S_MAX = 3600,
	SCENARIO_TRIES_MAX = 100,
};

enum scenario_dialect {
	SCENARIO_DIALECT_NONE,
	SCENARIO_DIALECT_O,
	SCENARIO_DIALECT_Q,
};

enum scenario_kind {
	SCENARIO_SUPPORT,
	SCENARIO_CLONE,
	SCENARIO_RESERVE,
	SCENARIO_STAT,
};

enum scenario_disk {
	SCENARIO_THIN,
	SCENARIO_THICK,
	SCENARIO_FAST,
};

struct scenario_step {
	unsigned line;
	enum scenario_kind kind;
	char *source; /* CLONE */
	char *file;   /* all but SUPPORT; of CLONE the destination */
	unsigned count;
	enum scenario_disk disk;
	bool aborts; /* CLONE: say stop after so long */
	unsigned abort_after_ms;
};

struct scenario {
	char *server, *datastore;
	char *from;    /* local address, or NULL */
	uint16_t port; /* 0: ask the portmapper */
	enum scenario_dialect dialect;
	unsigned hosts, at_once, poll_ms;
	unsigned patience_ms; /* without progress */
	unsigned tries;       /* of each clone */
	struct scenario_step steps[SCENARIO_STEPS_MAX];
	size_t step_count;
};

typedef void scenario_report_fn(void *context, const char *file, unsigned line,
                                const char *message);

/**
 * scenario_parse() - read @text into @ret_scenario
 *
 * Every mistake is reported, with its line and what to write instead.
 *
 * Return: 0, and the caller frees with scenario_done(); -EINVAL if anything was reported; -ENOMEM.
 */
int scenario_parse(struct scenario *ret_scenario, const char *file, const char *text,
                   scenario_report_fn *report, void *context);

void scenario_done(struct scenario *scenario);

/* @pattern with @number for each %n: false if it gets too long. */
bool scenario_path(const char *pattern, unsigned number, char ret_path[SCENARIO_PATH_BYTES]);
