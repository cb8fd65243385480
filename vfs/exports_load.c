/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/exports_load.h"

#include <stdio.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

enum {
	MESSAGE_BYTES_MAX = 4352 /* PATH_MAX, and the words around it */
};

static int load_lines(struct exports *exports, const struct settings *settings,
                      exports_report_fn *report, void *context)
{
	int r = 0;

	for (size_t i = 0; i < settings->export_line_count; i++) {
		int one = exports_parse_line(exports, settings->export_lines[i], report, context);

		r = one < 0 ? one : r;
	}
	return r;
}

static int load_file(struct exports *exports, const char *file, exports_report_fn *report,
                     void *context)
{
	char message[MESSAGE_BYTES_MAX];
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(file, &text, &text_bytes);
	if (r < 0) {
		snprintf(message, sizeof message,
		         "cannot read the exports file %s: %s. Write one (see"
		         " lodestore-exports(5)), or name a directory with --export",
		         file, strerror(-r));
		report(context, EXPORTS_ERROR, file, 0, message);
		return r;
	}
	return exports_parse(exports, file, text, text_bytes, report, context);
}

int exports_load(const struct settings *settings, exports_report_fn *report, void *context,
                 struct exports *ret_exports)
{
	struct exports exports = { 0 };
	int r;

	r = settings->export_line_count
	            ? load_lines(&exports, settings, report, context)
	            : load_file(&exports, settings->exports_file, report, context);
	if (r < 0)
		exports_done(&exports);
	else
		*ret_exports = exports;
	return r;
}
