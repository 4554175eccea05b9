/* A sender and a receiver on one wire of 10 Gbps and 1 us, by arithmetic; and a receiver that gets what a test makes up. */
#include <string.h>

#include "clock.h"
#include "eal.h"
#include "receiver.h"
#include "sender.h"
#include "stats.h"

#define RATE_BPS UINT64_C(10000000000)
#define STEP_PS (100 * PS_PER_NS)
#define PAYLOAD_BYTES 1000
/* 1082 B at 10 Gbps, and the delay. */
#define ON_THE_WAY_PS (UINT64_C(865600) + PS_PER_US)
#define QUEUE_PAIR 0x101
#define HOST_A 0x0A000001
#define HOST_B 0x0A000002

static struct rte_mempool *pool;

static const struct roce_path THERE = {
	.from_mac = { 2, 0, 0, 0, 0, 1 },
	.to_mac = { 2, 0, 0, 0, 0, 2 },
	.from_ip = HOST_A,
	.to_ip = HOST_B,
	.udp_source = 0xC001,
	.queue_pair = QUEUE_PAIR,
	.priority = 3,
	.code = 1,
};

static struct port_config port_config(uint8_t number)
{
	struct port_config config = {
		.name = "0",
		.mac = { 2, 0, 0, 0, 0, number },
		.flow_control = FLOW_NONE,
		.rate_bps = RATE_BPS,
		.nominal_bps = RATE_BPS,
		.delay_ps = PS_PER_US,
		.overhead_bytes = ETHERNET_OVERHEAD_BYTES,
	};

	return config;
}

static struct node *make_sender(struct flow_config flow)
{
	flow.name = "F";
	flow.path = THERE;
	flow.payload_bytes = PAYLOAD_BYTES;
	const struct sender_config config = { .name = "S", .port = port_config(1), .flow_count = 1, .flows = &flow, .seed = 1 };
	struct node *node = sender_make(&config, pool);

	CHECK(node != NULL);
	return node;
}

static struct node *make_receiver(void)
{
	static const struct expected_flow FLOW = { "F", HOST_A, QUEUE_PAIR };
	const struct receiver_config config = {
		.name = "R",
		.port = port_config(2),
		.ip = HOST_B,
		.flow_count = 1,
		.flows = &FLOW,
		.window_ps = PS_PER_MS,
		.window_count = 2,
		.cnp_interval_ps = 50 * PS_PER_US,
		.cnp_priority = 6,
	};
	struct node *node = receiver_make(&config, pool);

	CHECK(node != NULL);
	return node;
}

/* The number after `"key":` (the first in it, if it is a list) in what a node says. */
static uint64_t said(const struct node *node, const char *key, unsigned index)
{
	char wanted[64], *text, *found;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	stats_json_node(out, node);
	fclose(out);
	snprintf(wanted, sizeof(wanted), "\"%s\":", key);
	found = strstr(text, wanted);
	CHECK(found != NULL);
	found += strlen(wanted) + (found[strlen(wanted)] == '[');
	while (index--)
		found = strchr(found, ',') + 1;
	uint64_t number = strtoull(found, NULL, 10);

	free(text);
	return number;
}

static void finish(struct node *one, struct node *other)
{
	struct node *nodes[] = { one, other };

	for (int i = 0; i < 2; i++) {
		port_drain(&nodes[i]->ports[0]);
		}
	wire_part(&one->ports[0].wire, &other->ports[0].wire);
	one->ops->close(one);
	other->ops->close(other);
	CHECK_EQ(rte_mempool_in_use_count(pool), 0);
}

static uint64_t visit(struct node *one, struct node *other, uint64_t from_ps, uint64_t until_ps)
{
	for (; from_ps < until_ps; from_ps += STEP_PS) {
		one->ops->poll(one, from_ps);
		other->ops->poll(other, from_ps);
	}
	return from_ps;
}

static void packets_arrive_when_they_should(void)
{
	struct node *sender = make_sender((struct flow_config){ .rate_bps = 3000000000, .start_ps = 7 * PS_PER_US, .stop_ps = UINT64_MAX, .size_bytes = 100 * PAYLOAD_BYTES });
	struct node *receiver = make_receiver();

	CHECK(!wire_join(&sender->ports[0].wire, &receiver->ports[0].wire, "timing"));
	visit(sender, receiver, 0, PS_PER_MS);
	CHECK_EQ(said(sender, "packets", 0), 100);
	CHECK_EQ(said(receiver, "packets", 0), 100);
	CHECK_EQ(said(receiver, "payload_bytes", 0), 100 * PAYLOAD_BYTES);
	CHECK_EQ(said(receiver, "capable_packets", 0), 100);
	CHECK_EQ(said(receiver, "missing", 0), 0);
	CHECK_EQ(said(receiver, "first_ps", 0), 7 * PS_PER_US + ON_THE_WAY_PS);
	CHECK_EQ(said(receiver, "last_ps", 0), 7 * PS_PER_US + UINT64_C(99) * 8656000 / 3 + ON_THE_WAY_PS);
	finish(sender, receiver);
}

/* Without a rate: one packet after another, 865.6 ns each. */
static void a_flow_without_a_rate_fills_the_link(void)
{
	struct node *sender = make_sender((struct flow_config){ .start_ps = PS_PER_US, .stop_ps = UINT64_MAX, .size_bytes = 1000 * PAYLOAD_BYTES });
	struct node *receiver = make_receiver();

	CHECK(!wire_join(&sender->ports[0].wire, &receiver->ports[0].wire, "line"));
	visit(sender, receiver, 0, PS_PER_MS);
	CHECK_EQ(said(receiver, "packets", 0), 1000);
	CHECK_EQ(said(receiver, "last_ps", 0), PS_PER_US + UINT64_C(999) * 865600 + ON_THE_WAY_PS);
	finish(sender, receiver);
}

/* A link that is down, a lossy queue with room for two frames: nothing is made that would be lost, and time goes on. */
static void a_flow_without_a_rate_waits_for_a_port_that_takes_nothing(void)
{
	struct node *sender = make_sender((struct flow_config){ .stop_ps = UINT64_MAX, .size_bytes = 1000 * PAYLOAD_BYTES });
	struct node *receiver = make_receiver();
	struct port *port = &sender->ports[0];

	CHECK(!wire_join(&port->wire, &receiver->ports[0].wire, "down"));
	port->config.lossy_queue_bytes = 2500;
	port->wire.down = true;
	uint64_t now_ps = visit(sender, receiver, 0, PS_PER_MS);

	CHECK_EQ(said(sender, "packets", 0), 0);
	port->wire.down = false;
	visit(sender, receiver, now_ps, 2 * PS_PER_MS);
	CHECK_EQ(said(sender, "packets", 0), 1000);
	CHECK_EQ(said(receiver, "packets", 0), 1000);
	CHECK_EQ(port->count.drops[DROP_QUEUE] + port->count.drops[DROP_LINK_DOWN], 0);
	finish(sender, receiver);
}

/* Half of a millisecond behind a closed gate: at 1 Gbps that costs 57 or 58 of 115 packets. */
static void what_is_held_up_is_lost_or_made_up_for(bool catch_up, uint64_t least, uint64_t most)
{
	struct node *sender = make_sender((struct flow_config){ .rate_bps = 1000000000, .stop_ps = PS_PER_MS, .catch_up = catch_up });
	struct node *receiver = make_receiver();
	uint64_t now_ps;

	CHECK(!wire_join(&sender->ports[0].wire, &receiver->ports[0].wire, "held"));
	now_ps = visit(sender, receiver, 0, 250 * PS_PER_US);
	sender->ports[0].closed = 1 << 3;
	now_ps = visit(sender, receiver, now_ps, 750 * PS_PER_US);
	sender->ports[0].closed = 0;
	visit(sender, receiver, now_ps, 2 * PS_PER_MS);
	CHECK(said(receiver, "packets", 0) >= least && said(receiver, "packets", 0) <= most);
	CHECK(said(sender, "held_packets", 0) > 0);
	finish(sender, receiver);
}

static void what_is_held_up_is_lost(void)
{
	what_is_held_up_is_lost_or_made_up_for(false, 57, 60);
}

static void what_is_held_up_is_made_up_for(void)
{
	what_is_held_up_is_lost_or_made_up_for(true, 116, 116);
}

/* Lets a packet with a number and a code arrive at a receiver, on a wire that belongs to the test. */
static void deliver(struct wire *wire, struct node *receiver, uint32_t psn, uint8_t code, uint64_t at_ps)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint32_t length = roce_frame_bytes(PAYLOAD_BYTES);
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)length);
	struct roce_path path = THERE;

	path.code = code;
	roce_template(bytes, &path, ROCE_SEND_ONLY, PAYLOAD_BYTES);
	roce_number(bytes, length, psn);
	wire_send(wire, mbuf, at_ps - ON_THE_WAY_PS);
	wire_flush(wire);
	receiver->ops->poll(receiver, at_ps);
}

static void close_wire(struct wire *wire, struct node *receiver)
{
	unsigned unsent, undelivered;

	wire_drain(wire, &unsent, &undelivered);
	port_drain(&receiver->ports[0]);
	wire_part(wire, &receiver->ports[0].wire);
	receiver->ops->close(receiver);
	CHECK_EQ(rte_mempool_in_use_count(pool), 0);
}

static void numbers_that_are_left_out_are_counted(void)
{
	struct node *receiver = make_receiver();
	uint64_t retries, at_ps = 10 * PS_PER_US;
	struct wire wire;

	wire_init(&wire, RATE_BPS, PS_PER_US, ETHERNET_OVERHEAD_BYTES, &retries);
	CHECK(!wire_join(&wire, &receiver->ports[0].wire, "numbers"));
	/* 0, 1; 2 and 3 missing; 4; 3 after all; the last before the numbers begin again, and the first after that. */
	static const uint32_t NUMBERS[] = { 0, 1, 4, 3 };

	for (unsigned i = 0; i < 4; i++)
		deliver(&wire, receiver, NUMBERS[i], 1, at_ps += 2 * PS_PER_US);
	CHECK_EQ(said(receiver, "missing", 0), 2);
	CHECK_EQ(said(receiver, "late", 0), 1);
	CHECK_EQ(said(receiver, "packets", 0), 4);
	close_wire(&wire, receiver);
}

static void numbers_begin_again_after_24_bits(void)
{
	struct node *receiver = make_receiver();
	uint64_t retries, at_ps = 10 * PS_PER_US;
	struct wire wire;

	wire_init(&wire, RATE_BPS, PS_PER_US, ETHERNET_OVERHEAD_BYTES, &retries);
	CHECK(!wire_join(&wire, &receiver->ports[0].wire, "wrap"));
	for (uint32_t psn = 0; psn < 4; psn++)
		deliver(&wire, receiver, (psn * 0x500000) & ROCE_PSN_MASK, 1, at_ps += 2 * PS_PER_US);
	/* 0, 0x500000, 0xA00000, 0xF00000: three gaps. */
	CHECK_EQ(said(receiver, "missing", 0), 3 * (0x500000 - 1));
	deliver(&wire, receiver, 0xFFFFFF, 1, at_ps += 2 * PS_PER_US);
	uint64_t missing = said(receiver, "missing", 0);

	deliver(&wire, receiver, 0, 1, at_ps += 2 * PS_PER_US);
	CHECK_EQ(said(receiver, "missing", 0), missing);
	CHECK_EQ(said(receiver, "late", 0), 0);
	close_wire(&wire, receiver);
}

/* CNPs for CE only, and not more than one in 50 us. */
static void only_ce_is_answered(void)
{
	static const struct {
		uint64_t at_us;
		uint8_t code;
		uint64_t cnps;
	} ARRIVALS[] = { { 10, 1, 0 }, { 20, 2, 0 }, { 30, 3, 1 }, { 40, 3, 1 }, { 79, 3, 1 }, { 80, 3, 2 }, { 90, 2, 2 }, { 150, 2, 2 }, { 160, 3, 3 } };
	struct node *receiver = make_receiver();
	struct rte_mbuf *reply;
	struct roce_view view;
	uint64_t retries;
	struct wire wire;

	wire_init(&wire, RATE_BPS, PS_PER_US, ETHERNET_OVERHEAD_BYTES, &retries);
	CHECK(!wire_join(&wire, &receiver->ports[0].wire, "cnp"));
	for (uint32_t i = 0; i < sizeof(ARRIVALS) / sizeof(ARRIVALS[0]); i++) {
		deliver(&wire, receiver, i, ARRIVALS[i].code, ARRIVALS[i].at_us * PS_PER_US);
		CHECK_EQ(said(receiver, "cnps", 0), ARRIVALS[i].cnps);
	}
	CHECK_EQ(said(receiver, "capable_packets", 0), 1);
	CHECK_EQ(said(receiver, "ue_packets", 0), 3);
	CHECK_EQ(said(receiver, "ce_packets", 0), 5);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(wire_receive(&wire, PS_PER_MS, &reply, 1), 1);
		CHECK(frame_read(reply, frame_of(reply)) && roce_read(reply, frame_of(reply), &view));
		CHECK(view.intact && view.opcode == ROCE_CNP && view.queue_pair == QUEUE_PAIR && view.to_ip == HOST_A);
		rte_pktmbuf_free(reply);
	}
	CHECK_EQ(wire_receive(&wire, PS_PER_MS, &reply, 1), 0);
	close_wire(&wire, receiver);
}

static void windows_are_by_time_of_arrival(void)
{
	struct node *receiver = make_receiver();
	uint64_t retries;
	struct wire wire;

	wire_init(&wire, RATE_BPS, PS_PER_US, ETHERNET_OVERHEAD_BYTES, &retries);
	CHECK(!wire_join(&wire, &receiver->ports[0].wire, "windows"));
	deliver(&wire, receiver, 0, 2, PS_PER_MS - 1);
	deliver(&wire, receiver, 1, 2, PS_PER_MS + 900 * PS_PER_NS);
	/* After the last window: counted there, not lost. */
	deliver(&wire, receiver, 2, 2, 5 * PS_PER_MS);
	CHECK_EQ(said(receiver, "ue_packets", 0), 1);
	CHECK_EQ(said(receiver, "ue_packets", 1), 2);
	close_wire(&wire, receiver);
}

int main(void)
{
	pool = start_eal(4095);
	RUN(packets_arrive_when_they_should);
	RUN(a_flow_without_a_rate_fills_the_link);
	RUN(a_flow_without_a_rate_waits_for_a_port_that_takes_nothing);
	RUN(what_is_held_up_is_lost);
	RUN(what_is_held_up_is_made_up_for);
	RUN(numbers_that_are_left_out_are_counted);
	RUN(numbers_begin_again_after_24_bits);
	RUN(only_ce_is_answered);
	RUN(windows_are_by_time_of_arrival);
	return 0;
}
