/* SPDX-License-Identifier: Apache-2.0 */
#include "list.h"

#include "tool.h"

static unsigned list_once(const struct list_options *options, struct client *client,
                          struct histogram *latencies)
{
	struct nfs_listing listing = { 0 };
	unsigned found = 0;

	while (!listing.ended) {
		uint64_t began_ns = now_ns();
		struct nfs_entry entry;
		struct wire_in in;

		in = client_transact(client,
		                     nfs_call_list(client->call, ++client->xid, &options->folder,
		                                   &listing, options->plus),
		                     NULL, 0);
		histogram_add(latencies, now_ns() - began_ns);
		client_expect(nfs_reply_list(&in, &listing));
		while (nfs_list_entry(&in, &listing, options->plus, &entry))
			found += entry.name[0] != '.';
		client_expect(nfs_list_end(&in, &listing));
	}
	return found;
}

void list_run(const struct list_options *options, struct measurement *ret_result)
{
	struct client *client = client_new(&options->target, options->target.nfs_port);
	uint64_t end_ns;

	measurement_begin(ret_result, &options->observed);
	end_ns = now_ns() + (uint64_t) (options->seconds * 1e9);
	do {
		unsigned found = list_once(options, client, &ret_result->latencies);

		if (found != options->entries)
			die("a listing has %u entries of %u", found, options->entries);
		ret_result->calls += found;
	} while (now_ns() < end_ns);
	measurement_end(ret_result);
	client_free(client);
}
