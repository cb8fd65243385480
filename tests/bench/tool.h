/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - what both measuring programs need: to give up with a word, the time, chance, numbers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Ends the program with status 1. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);

uint64_t now_ns(void);
void sleep_s(double seconds);

/* A seed that differs by number, never 0; and the next of its random numbers. */
uint64_t random_seed(unsigned number);
uint64_t random_next(uint64_t *state);

/* The values of options; what is wrong with them ends the program. */
unsigned long option_number(const char *text, const char *name, unsigned long min,
                            unsigned long max);
double option_seconds(const char *text, const char *name);

/* malloc() and calloc() that end the program rather than fail. */
void *allocate(size_t bytes);
void *allocate_zeroed(size_t count, size_t bytes);
