/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/prometheus.h"

#include <inttypes.h>
#include <string.h>

#include "vfs/base/json.h"

enum {
	NS_PER_S = 1000000000
};

void prometheus_family(struct prometheus *prometheus, const char *type, const char *name,
                       const char *help)
{
	prometheus->family = name;
	fprintf(prometheus->to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_label_value(FILE *to, const char *value)
{
	const uint8_t *at = (const uint8_t *) value;
	size_t count = strlen(value), step;
	uint32_t character;

	for (; count > 0; at += step, count -= step) {
		step = json_character(at, count, &character);
		if (step == 0) {
			step = 1;
			fprintf(to, "\\\\x%02x", *at);
		} else if (*at == '\n') {
			fputs("\\n", to);
		} else if (*at == '"' || *at == '\\') {
			fprintf(to, "\\%c", *at);
		} else {
			fwrite(at, 1, step, to);
		}
	}
}

static void put_name(const struct prometheus *prometheus, const char *suffix,
                     const struct prometheus_labels *labels)
{
	FILE *to = prometheus->to;

	fprintf(to, "%s%s", prometheus->family, suffix);
	for (unsigned i = 0; labels && labels->labels[i].name; i++) {
		fprintf(to, "%c%s=\"", i == 0 ? '{' : ',', labels->labels[i].name);
		prometheus_label_value(to, labels->labels[i].value);
		fputc('"', to);
	}
	fputs(labels && labels->labels[0].name ? "} " : " ", to);
}

void prometheus_u64(struct prometheus *prometheus, const char *suffix,
                    const struct prometheus_labels *labels, uint64_t value)
{
	put_name(prometheus, suffix, labels);
	fprintf(prometheus->to, "%" PRIu64 "\n", value);
}

void prometheus_ns(struct prometheus *prometheus, const char *suffix,
                   const struct prometheus_labels *labels, uint64_t ns)
{
	put_name(prometheus, suffix, labels);
	fprintf(prometheus->to, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}
