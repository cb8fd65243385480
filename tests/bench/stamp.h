/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.h - data that says where and when it was written.
 *
 * Every eight bytes of a block are a function of their offset in the file and of the block's
 * generation, which the first eight bytes also hold in clear. So a block at the wrong place, an
 * old one, a torn one, and one mixed from two writes are all told apart.
 */
#pragma once

#include <stdint.h>

/* `bytes` is a multiple of 16, `to` is aligned to 8. */
void stamp_fill(uint8_t *to, uint32_t bytes, uint64_t offset, uint64_t generation);

/* NULL, or what is wrong with the block. */
const char *stamp_check(const uint8_t *data, uint32_t bytes, uint64_t offset, uint64_t generation);
