/* See l2.h. */
#include "l2.h"

#include <stddef.h>

uint64_t l2_address(const uint8_t octets[6])
{
	uint64_t address = 0;

	for (int i = 0; i < 6; i++)
		address = address << 8 | octets[i];
	return address;
}

static unsigned bucket_of(uint64_t address)
{
	return (unsigned)(address * UINT64_C(0x9E3779B97F4A7C15) >> 54);
}

static bool is_valid(const struct l2_table *table, const struct l2_entry *entry, uint64_t now_ps)
{
	return entry->used && (entry->fixed || now_ps - entry->seen_ps < table->ageing_ps);
}

bool l2_fix(struct l2_table *table, uint64_t address, uint16_t port)
{
	struct l2_entry *bucket = table->buckets[bucket_of(address)];
	struct l2_entry *place = NULL;

	for (unsigned i = 0; i < L2_WAYS; i++) {
		if (bucket[i].used && bucket[i].address == address) {
			place = &bucket[i];
			break;
		}
		if (!bucket[i].fixed)
			place = &bucket[i];
	}
	if (!place)
		return false;
	*place = (struct l2_entry){ .address = address, .port = port, .used = true, .fixed = true };
	return true;
}

void l2_learn(struct l2_table *table, uint64_t address, uint16_t port, uint64_t now_ps)
{
	struct l2_entry *bucket = table->buckets[bucket_of(address)];
	struct l2_entry *place = NULL;

	for (unsigned i = 0; i < L2_WAYS; i++) {
		struct l2_entry *entry = &bucket[i];

		if (entry->used && entry->address == address) {
			if (entry->fixed)
				return;
			table->moves += entry->port != port;
			entry->port = port;
			entry->seen_ps = now_ps;
			return;
		}
		if (entry->fixed)
			continue;
		if (!place || (!is_valid(table, entry, now_ps) && is_valid(table, place, now_ps)) ||
		    (is_valid(table, place, now_ps) && entry->seen_ps < place->seen_ps))
			place = entry;
	}
	if (!place)
		return;
	table->evictions += is_valid(table, place, now_ps);
	*place = (struct l2_entry){ .address = address, .port = port, .seen_ps = now_ps, .used = true };
}

uint16_t l2_find(const struct l2_table *table, uint64_t address, uint64_t now_ps)
{
	const struct l2_entry *bucket = table->buckets[bucket_of(address)];

	for (unsigned i = 0; i < L2_WAYS; i++)
		if (bucket[i].address == address && is_valid(table, &bucket[i], now_ps))
			return bucket[i].port;
	return L2_NOWHERE;
}

unsigned l2_size(const struct l2_table *table, uint64_t now_ps)
{
	unsigned size = 0;

	for (unsigned i = 0; i < L2_BUCKETS; i++)
		for (unsigned j = 0; j < L2_WAYS; j++)
			size += is_valid(table, &table->buckets[i][j], now_ps);
	return size;
}
