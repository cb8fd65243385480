/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup.h - ownership by attribute; moving out by name.
 *
 *     AUTO(close_fd) int fd = open(...);      closed when the scope ends
 *     AUTO(free_ptr) char *text = strdup(...);
 *     export->fd = take_fd(&fd);              from here on somebody else closes it
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO(release_fn) __attribute__((cleanup(release_fn)))

#define container_of(pointer, type, member) ((type *) ((char *) (pointer) -offsetof(type, member)))

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Closing must not clobber the errno that the caller is about to return. The number is forgotten: a
 * second close would hit whoever has it by then. */
static inline void close_fd(int *fd)
{
	int saved_errno = errno;

	if (*fd >= 0)
		(void) close(*fd);
	*fd = -EBADF;
	errno = saved_errno;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -EBADF;
	return taken;
}

static inline void free_ptr(void *pointer_to_pointer)
{
	free(*(void **) pointer_to_pointer);
}

#define take_ptr(slot)                        \
	({                                    \
		typeof(slot) taken_ = (slot); \
		(slot) = NULL;                \
		taken_;                       \
	})
