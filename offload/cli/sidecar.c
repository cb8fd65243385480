/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/sidecar.h"

#include <stdlib.h>

#include "offload/cli/show.h"

static int keep_live(struct sidecar *sidecar, const offload_jobs *page)
{
	offload_job *grown = reallocarray(sidecar->live, sidecar->live_count + page->jobs.jobs_len,
	                                  sizeof *grown);

	if (!grown && page->jobs.jobs_len)
		return -ENOMEM;
	sidecar->live = grown;
	for (u_int i = 0; i < page->jobs.jobs_len; i++)
		if (show_is_live(&page->jobs.jobs_val[i]))
			grown[sidecar->live_count++] = page->jobs.jobs_val[i];
	return 0;
}

static int ask_page(struct sidecar *sidecar, uint64_t after_id, offload_jobs_result *ret_page)
{
	const offload_jobs_args args = { after_id, OFFLOAD_JOBS_MAX };
	const struct client_call call = client_jobs_call(&args);

	return client_call(&sidecar->client, &call, ret_page);
}

void sidecar_ask(struct sidecar *sidecar, const struct arguments *arguments)
{
	static const struct place here = { .kind = PLACE_SERVER };
	uint64_t after_id = 0;
	bool eof;

	*sidecar = (struct sidecar) SIDECAR_NONE;
	eof = client_open(&sidecar->client, &here, arguments) < 0;
	while (!eof) {
		offload_jobs_result *grown = reallocarray(sidecar->pages, sidecar->page_count + 1,
		                                          sizeof *grown);
		const offload_jobs *page;

		if (!grown)
			return;
		sidecar->pages = grown;
		if (ask_page(sidecar, after_id, &grown[sidecar->page_count]) < 0)
			return;
		page = &grown[sidecar->page_count].offload_jobs_result_u.list;
		if (grown[sidecar->page_count++].status != OFFLOAD_OK || keep_live(sidecar, page))
			return;
		eof = page->eof || page->jobs.jobs_len == 0;
		if (!eof)
			after_id = page->jobs.jobs_val[page->jobs.jobs_len - 1].id;
		sidecar->answers = eof;
	}
}

void sidecar_done(struct sidecar *sidecar)
{
	for (unsigned i = 0; i < sidecar->page_count; i++)
		xdr_free((xdrproc_t) xdr_offload_jobs_result, (char *) &sidecar->pages[i]);
	free(sidecar->pages);
	free(sidecar->live);
	client_close(&sidecar->client);
}
