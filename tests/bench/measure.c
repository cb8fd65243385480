/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "disk.h"
#include "tool.h"

static uint64_t own_cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static uint64_t flushes(const struct measurement *measurement)
{
	const char *path = measurement->observed.disk_stat;
	uint64_t flushes = 0;

	if (path && disk_flushes(path, &flushes) < 0)
		die("%s does not tell how many flushes there were", path);
	return flushes;
}

static struct process_usage usage(const struct measurement *measurement)
{
	struct process_usage usage = { 0 };

	if (measurement->observed.server && process_usage(measurement->observed.server, &usage) < 0)
		die("there is no process %d", (int) measurement->observed.server);
	return usage;
}

void measurement_begin(struct measurement *measurement, const struct observed *observed)
{
	memset(measurement, 0, sizeof *measurement);
	measurement->observed = *observed;
	if (observed->server)
		process_forget_peak(observed->server);
	measurement->server = usage(measurement);
	measurement->disk_flushes = flushes(measurement);
	measurement->client_cpu_us = own_cpu_us();
	measurement->began_ns = now_ns();
}

void measurement_end(struct measurement *measurement)
{
	uint64_t before_us = measurement->server.cpu_us;

	measurement->seconds = (double) (now_ns() - measurement->began_ns) / 1e9;
	measurement->client_cpu_us = own_cpu_us() - measurement->client_cpu_us;
	measurement->server = usage(measurement);
	measurement->server.cpu_us -= before_us;
	measurement->disk_flushes = flushes(measurement) - measurement->disk_flushes;
}

static double us(const struct measurement *measurement, double share)
{
	return (double) histogram_quantile(&measurement->latencies, share) / 1e3;
}

static double per_call(const struct measurement *measurement, uint64_t amount)
{
	return (double) amount / (measurement->calls ? (double) measurement->calls : 1);
}

void measurement_print_json(const struct measurement *measurement)
{
	printf("\"calls\": %" PRIu64 ", \"seconds\": %.6f, \"ops_per_s\": %.1f,"
	       " \"bytes_per_s\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f,"
	       " \"client_cpu_us_per_op\": %.3f",
	       measurement->calls, measurement->seconds,
	       (double) measurement->calls / measurement->seconds,
	       (double) measurement->bytes / measurement->seconds, us(measurement, 0.5),
	       us(measurement, 0.99), us(measurement, 0.999),
	       per_call(measurement, measurement->client_cpu_us));
	if (measurement->observed.server)
		printf(", \"server_cpu_us_per_op\": %.3f, \"server_rss_kib\": %" PRIu64
		       ", \"server_peak_kib\": %" PRIu64,
		       per_call(measurement, measurement->server.cpu_us),
		       measurement->server.resident_kib, measurement->server.peak_kib);
	if (measurement->observed.disk_stat)
		printf(", \"disk_flushes_per_op\": %.4f",
		       per_call(measurement, measurement->disk_flushes));
}

void measurement_print_line(const struct measurement *measurement)
{
	printf("%.0f/s, %.1f MB/s, p50 %.0f p99 %.0f p99.9 %.0f us, client %.2f us CPU each",
	       (double) measurement->calls / measurement->seconds,
	       (double) measurement->bytes / measurement->seconds / 1e6, us(measurement, 0.5),
	       us(measurement, 0.99), us(measurement, 0.999),
	       per_call(measurement, measurement->client_cpu_us));
	if (measurement->observed.server)
		printf(", server %.2f us CPU each, %.1f MiB peak",
		       per_call(measurement, measurement->server.cpu_us),
		       (double) measurement->server.peak_kib / 1024);
	puts("");
}
