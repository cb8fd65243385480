/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reload changed, told from the status document.
 */
#include "offload/cli/reload_show.h"

#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static const struct {
	const char *document, *shown; /* shown NULL: it says that it failed */
} cases[] = {
	{ "{\"count\": 3}", NULL },
	{ "{\"count\": 4}", NULL },
	{ "{\"count\": 4, \"good\": false}", NULL },
	{ "{\"count\": 3, \"good\": true}", NULL },
	{ "{\"count\": 4, \"good\": true, \"added\": [], \"restart\": []}",
	  "exports      as they were\n" },
	{ "{\"count\": 4, \"good\": true, \"added\": [\"/a\\n\"], \"removed\": [\"/b\"], "
	  "\"changed\": [\"/c\"], \"more\": 7, \"restart\": []}",
	  "removed      /b\nchanged      /c\nadded        /a\\x0a\nand          7 more exports\n" },
	{ "{\"count\": 5, \"good\": true, \"restart\": [\"nfsd.port\", \"offload.thick\"]}",
	  "exports      as they were\n"
	  "not yet      nfsd.port: it counts after 'systemctl restart lodestore-nfsd'\n"
	  "not yet      offload.thick: it counts after 'systemctl restart lodestore-nfsd"
	  " lodestore-offloadd'\n" },
};

START_TEST(changes_are_told)
{
	struct json_value *reload;
	AUTO(free_ptr) char *shown = NULL;
	size_t bytes;
	FILE *to = open_memstream(&shown, &bytes);
	const char *document = cases[_i].document;
	bool good;

	ck_assert_int_eq(json_read(document, strlen(document), &reload), 0);
	good = reload_show(to, reload, 3);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_int_eq(good, cases[_i].shown != NULL);
	ck_assert_str_eq(shown, cases[_i].shown ? cases[_i].shown : "");
	(void) json_value_free(reload);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_reload");
	TCase *tcase = tcase_create("cli_reload");

	tcase_add_loop_test(tcase, changes_are_told, 0, ARRAY_COUNT(cases));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
