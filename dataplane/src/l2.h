/* Where frames go: a table of addresses, learnt from what arrives (IEEE Std 802.1Q, 8.8) or written down.
 *
 * 1024 buckets of four. Where a bucket is full of younger addresses the oldest learnt one makes room; what is written down stays. An
 * address that has not been heard of for the ageing time (300 s by the standard) is forgotten. */
#ifndef BACKWATER_L2_H
#define BACKWATER_L2_H

#include <stdbool.h>
#include <stdint.h>

#define L2_BUCKETS 1024
#define L2_WAYS 4
#define L2_AGEING_PS (UINT64_C(300) * 1000000000000)
#define L2_NOWHERE UINT16_MAX

struct l2_entry {
	uint64_t address;
	uint64_t seen_ps;
	uint16_t port;
	bool used, fixed;
};

struct l2_table {
	struct l2_entry buckets[L2_BUCKETS][L2_WAYS];
	uint64_t ageing_ps;
	/* Addresses that moved from one port to another, and those that made room for others. */
	uint64_t moves, evictions;
};

/* Six octets as a number. */
uint64_t l2_address(const uint8_t octets[6]);

/* False if the bucket is full of fixed entries. */
bool l2_fix(struct l2_table *table, uint64_t address, uint16_t port);

void l2_learn(struct l2_table *table, uint64_t address, uint16_t port, uint64_t now_ps);

/* The port, or L2_NOWHERE. */
uint16_t l2_find(const struct l2_table *table, uint64_t address, uint64_t now_ps);

/* Entries that are still valid. */
unsigned l2_size(const struct l2_table *table, uint64_t now_ps);

#endif
