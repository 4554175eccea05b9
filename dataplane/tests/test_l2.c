/* The table of addresses. */
#include "check.h"
#include "clock.h"
#include "l2.h"

static struct l2_table table;

static void fresh(void)
{
	table = (struct l2_table){ .ageing_ps = L2_AGEING_PS };
}

static void what_was_heard_is_found_until_it_is_old(void)
{
	fresh();
	CHECK_EQ(l2_find(&table, 0xA, 0), L2_NOWHERE);
	l2_learn(&table, 0xA, 3, PS_PER_S);
	CHECK_EQ(l2_find(&table, 0xA, PS_PER_S), 3);
	CHECK_EQ(l2_find(&table, 0xA, 300 * PS_PER_S), 3);
	CHECK_EQ(l2_find(&table, 0xA, 301 * PS_PER_S), L2_NOWHERE);
	l2_learn(&table, 0xA, 3, 302 * PS_PER_S);
	CHECK_EQ(l2_find(&table, 0xA, 600 * PS_PER_S), 3);
}

static void an_address_that_moves_is_found_at_its_new_port(void)
{
	fresh();
	l2_learn(&table, 0xA, 1, 0);
	l2_learn(&table, 0xA, 2, 1);
	CHECK_EQ(l2_find(&table, 0xA, 2), 2);
	CHECK_EQ(table.moves, 1);
}

static void what_is_written_down_is_not_learnt_away(void)
{
	fresh();
	CHECK(l2_fix(&table, 0xA, 1));
	l2_learn(&table, 0xA, 2, 0);
	CHECK_EQ(l2_find(&table, 0xA, 1000 * PS_PER_S), 1);
}

static void the_zero_address_is_an_address(void)
{
	fresh();
	CHECK_EQ(l2_find(&table, 0, 0), L2_NOWHERE);
	l2_learn(&table, 0, 5, 0);
	CHECK_EQ(l2_find(&table, 0, 0), 5);
}

static void a_flood_of_addresses_pushes_out_the_oldest_and_no_fixed_ones(void)
{
	fresh();
	CHECK(l2_fix(&table, UINT64_C(0xFFFF00000000), 7));
	for (uint64_t i = 1; i <= 100000; i++)
		l2_learn(&table, i, 1, i);
	CHECK_EQ(l2_find(&table, UINT64_C(0xFFFF00000000), 100001), 7);
	CHECK_EQ(l2_find(&table, 100000, 100001), 1);
	CHECK(l2_size(&table, 100001) <= L2_BUCKETS * L2_WAYS);
	CHECK_EQ(table.evictions + l2_size(&table, 100001), 100001);
}

int main(void)
{
	RUN(what_was_heard_is_found_until_it_is_old);
	RUN(an_address_that_moves_is_found_at_its_new_port);
	RUN(what_is_written_down_is_not_learnt_away);
	RUN(the_zero_address_is_an_address);
	RUN(a_flood_of_addresses_pushes_out_the_oldest_and_no_fixed_ones);
	return 0;
}
