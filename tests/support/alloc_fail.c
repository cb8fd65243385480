/* SPDX-License-Identifier: Apache-2.0 */
#include "support/alloc_fail.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALLOC_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOC_IS_SANITIZED 1
#endif
#endif

#ifdef ALLOC_IS_SANITIZED

bool alloc_fail_begin(unsigned nth)
{
	(void) fprintf(stderr, "SKIPPED: allocations cannot be made to fail under a sanitizer\n");
	return false;
}

bool alloc_fail_end(void)
{
	return false;
}

#else

/* What malloc(3) is in glibc. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);

static unsigned until_failure; /* 0: none will fail */
static bool failed;

bool alloc_fail_begin(unsigned nth)
{
	failed = false;
	until_failure = nth;
	return true;
}

bool alloc_fail_end(void)
{
	until_failure = 0;
	return failed;
}

static bool must_fail(void)
{
	if (until_failure == 0 || --until_failure > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t bytes)
{
	return must_fail() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return must_fail() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *pointer, size_t bytes)
{
	return must_fail() ? NULL : __libc_realloc(pointer, bytes);
}

void *reallocarray(void *pointer, size_t count, size_t bytes)
{
	if (bytes && count > SIZE_MAX / bytes) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(pointer, count * bytes);
}

#undef strdup
char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

#endif
