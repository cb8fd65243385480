/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - numbers for tests that try what comes to mind, and a way to try the same again.
 *
 *     struct random random = random_new();       says "TEST_SEED=..." on standard error
 *     if (random_below(&random, 3) == 0) ...
 *
 * With TEST_SEED in the environment that seed is used.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct random {
	uint64_t state;
};

/* xorshift64*: good enough to choose with, and short. */
static inline uint64_t random_next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline unsigned random_below(struct random *random, unsigned limit)
{
	return (unsigned) ((random_next(random) >> 33) % limit);
}

static inline struct random random_of(uint64_t seed)
{
	/* A state of 0 would stay 0. */
	return (struct random){ seed * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x1234567) };
}

static inline struct random random_new(void)
{
	const char *given = getenv("TEST_SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = given ? strtoull(given, NULL, 10)
	             : (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
	fprintf(stderr, "TEST_SEED=%llu\n", (unsigned long long) seed);
	return random_of(seed);
}
