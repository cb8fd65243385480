/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/rates.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "nfsd/bucket.h"

enum {
	RATES_CHAINS = 256
};

struct account {
	struct account *next;
	uint32_t export_id;
	struct export_address client; /* zeros, which are nobody's: all clients */
	struct bucket calls, bytes;
};

struct rates {
	pthread_mutex_t lock;
	struct account *chains[RATES_CHAINS]; /* under lock */
};

static const struct export_address everybody;

struct rates *rates_new(void)
{
	struct rates *rates = calloc(1, sizeof *rates);

	if (rates)
		pthread_mutex_init(&rates->lock, NULL);
	return rates;
}

struct rates *rates_free(struct rates *rates)
{
	if (!rates)
		return NULL;
	for (unsigned i = 0; i < RATES_CHAINS; i++)
		while (rates->chains[i]) {
			struct account *account = rates->chains[i];

			rates->chains[i] = account->next;
			free(account);
		}
	pthread_mutex_destroy(&rates->lock);
	free(rates);
	return NULL;
}

static struct account **chain_of(struct rates *rates, uint32_t export_id,
                                 const struct export_address *client)
{
	return &rates->chains[XXH3_64bits_withSeed(client, sizeof *client, export_id) %
	                      RATES_CHAINS];
}

static struct account *account_find(struct account *chain, uint32_t export_id,
                                    const struct export_address *client)
{
	while (chain && (chain->export_id != export_id ||
	                 memcmp(&chain->client, client, sizeof *client) != 0))
		chain = chain->next;
	return chain;
}

static void chain_forget_full(struct account **at, uint64_t now_ns)
{
	while (*at) {
		struct account *account = *at;

		if (bucket_is_full(&account->calls, now_ns) &&
		    bucket_is_full(&account->bytes, now_ns)) {
			*at = account->next;
			free(account);
		} else {
			at = &account->next;
		}
	}
}

/* Made if it is not there. NULL: memory is short. */
static struct account *account_get(struct rates *rates, uint32_t export_id,
                                   const struct export_address *client, uint64_t now_ns)
{
	struct account **chain = chain_of(rates, export_id, client);
	struct account *account = account_find(*chain, export_id, client);

	if (account)
		return account;
	chain_forget_full(chain, now_ns);
	account = calloc(1, sizeof *account);
	if (!account)
		return NULL;
	account->export_id = export_id;
	account->client = *client;
	account->next = *chain;
	*chain = account;
	return account;
}

static uint64_t account_take(struct rates *rates, const struct rates_call *call,
                             const struct export_address *client, const struct export_rate *rate,
                             uint64_t now_ns)
{
	struct account *account;
	uint64_t calls_ns = 0, bytes_ns = 0;

	if (!rate->iops && !rate->mbps)
		return 0;
	account = account_get(rates, call->export_id, client, now_ns);
	if (!account)
		return 0;
	if (rate->iops)
		calls_ns = bucket_take(&account->calls, rate->iops, 1, now_ns);
	if (rate->mbps && call->bytes)
		bytes_ns = bucket_take(&account->bytes, (uint64_t) rate->mbps * EXPORT_MB_BYTES,
		                       call->bytes, now_ns);
	return calls_ns > bytes_ns ? calls_ns : bytes_ns;
}

uint64_t rates_take(struct rates *rates, const struct rates_call *call, uint64_t now_ns)
{
	uint64_t each_ns, total_ns;

	pthread_mutex_lock(&rates->lock);
	each_ns = account_take(rates, call, &call->client, &call->each, now_ns);
	total_ns = account_take(rates, call, &everybody, &call->total, now_ns);
	pthread_mutex_unlock(&rates->lock);
	return each_ns > total_ns ? each_ns : total_ns;
}

static void account_give_back(struct rates *rates, const struct rates_call *call,
                              const struct export_address *client, const struct export_rate *rate)
{
	struct account *account = account_find(*chain_of(rates, call->export_id, client),
	                                       call->export_id, client);

	if (!account)
		return;
	if (rate->iops)
		bucket_give_back(&account->calls, rate->iops, 1);
	if (rate->mbps)
		bucket_give_back(&account->bytes, (uint64_t) rate->mbps * EXPORT_MB_BYTES,
		                 call->bytes);
}

void rates_give_back(struct rates *rates, const struct rates_call *call)
{
	pthread_mutex_lock(&rates->lock);
	account_give_back(rates, call, &call->client, &call->each);
	account_give_back(rates, call, &everybody, &call->total);
	pthread_mutex_unlock(&rates->lock);
}
