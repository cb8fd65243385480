/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports_load.h - the exports that a daemon was told of: its --export lines, or its exports file.
 */
#pragma once

#include "vfs/base/settings.h"
#include "vfs/exports.h"

/* 0, exports_parse()'s errors, or those of reading the file: then @report has line 0 and a message
 * that names the file. */
int exports_load(const struct settings *settings, exports_report_fn *report, void *context,
                 struct exports *ret_exports);
