/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

enum {
	STEPS = 1 << HISTOGRAM_STEP_BITS
};

static unsigned slot_of(uint64_t ns)
{
	unsigned octave, slot;

	if (ns < STEPS)
		return (unsigned) ns;
	octave = 63 - (unsigned) __builtin_clzll(ns) - HISTOGRAM_STEP_BITS;
	slot = (octave + 1) * STEPS + (unsigned) ((ns >> octave) & (STEPS - 1));
	return slot < HISTOGRAM_SLOTS ? slot : HISTOGRAM_SLOTS - 1;
}

static uint64_t ns_of(unsigned slot)
{
	unsigned octave = slot / STEPS;

	if (octave == 0)
		return slot;
	return (uint64_t) (STEPS + slot % STEPS) << (octave - 1);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->count++;
	histogram->slots[slot_of(ns)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	for (unsigned i = 0; i < HISTOGRAM_SLOTS; i++)
		into->slots[i] += from->slots[i];
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_SLOTS; i++) {
		seen += histogram->slots[i];
		if (seen > 0 && (double) seen >= share * (double) histogram->count)
			return ns_of(i);
	}
	return 0;
}
