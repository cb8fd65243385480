/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - a connection to a server: bytes with deadlines, which Ctrl-C ends early.
 *
 * Not libtirpc's client: that one blocks all signals while it waits for an answer.
 *
 * Return 0 or -errno: -ETIMEDOUT at the deadline, -EINTR after Ctrl-C if it is caught.
 */
#pragma once

#include <netdb.h>
#include <stddef.h>
#include <stdint.h>

uint64_t link_now_ms(void); /* a monotonic clock: deadlines are times of it */

/* From now on Ctrl-C does not end the process: it ends what waits here, and what waits after. */
void link_catch_interrupt(void);

/* Nothing but time goes by. */
int link_sleep(uint64_t until_ms);

/* Root binds a port below 1024, which exports(5) may ask for. */
int link_connect_tcp(const struct addrinfo *address, uint64_t until_ms, int *ret_fd);
int link_connect_unix(const char *path, uint64_t until_ms, int *ret_fd);

int link_send(int fd, const uint8_t *bytes, size_t count, uint64_t until_ms);

/* All there is until the other side closes, at most @bytes_max; free it. -EMSGSIZE: more. */
int link_receive_all(int fd, size_t bytes_max, uint64_t until_ms, char **ret_text,
                     size_t *ret_bytes);

/* The next record, into @room. -EBADMSG: not a record, or longer than @room_bytes. */
int link_receive(int fd, uint8_t *room, size_t room_bytes, uint64_t until_ms,
                 const uint8_t **ret_payload, uint32_t *ret_payload_bytes);
