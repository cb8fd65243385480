/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prometheus.h - metrics as text, in Prometheus's exposition format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). It writes to the stream that it
 * is given, and does no other I/O.
 *
 *     prometheus_family(p, "counter", "lodestore_refusals_total", "What was turned away.");
 *     prometheus_u64(p, "", LABELS({ "reason", "host" }), 7);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PROMETHEUS_LABELS_MAX = 3
};

struct prometheus {
	FILE *to;
	const char *family; /* whose samples follow */
};

/* Names are valid as they are; values may be any bytes. */
struct prometheus_labels {
	struct {
		const char *name, *value;
	} labels[PROMETHEUS_LABELS_MAX + 1]; /* the first without a name ends them */
};

#define LABELS(...) (&(struct prometheus_labels){ { __VA_ARGS__ } })

/* @type: "counter", "gauge", "histogram". @help: no backslash, no newline. */
void prometheus_family(struct prometheus *prometheus, const char *type, const char *name,
                       const char *help);

/* @suffix: behind the family's name; "_bucket" and the like, or "". @labels: NULL for none. */
void prometheus_u64(struct prometheus *prometheus, const char *suffix,
                    const struct prometheus_labels *labels, uint64_t value);

/* In seconds. */
void prometheus_ns(struct prometheus *prometheus, const char *suffix,
                   const struct prometheus_labels *labels, uint64_t ns);

/* A value of a label: backslash, quote and newline escaped. What is no UTF-8 must not be in it: a
 * byte that is no part of a character is told as \xNN, four characters. */
void prometheus_label_value(FILE *to, const char *value);
