/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflink.h - can files of a file system share their blocks (ioctl_ficlone(2))? Then a clone is
 * made in no time.
 */
#pragma once

/* Tried with two files that never have a name. @dir: of that file system, writable. 1: they can; 0:
 * they cannot; a negative errno: that cannot be told here. */
int reflink_probe(const char *dir);
