/* What a detector costs: cycles per packet of the switch, from the ring where a frame came in to the ring where it went out; and the same over
 * a device, memif, whose other ends this program holds, too.
 *
 * Bursts of 32 frames of 64 B and 1000 B through one port to another, timed around the visit of the switch only; the frames go round,
 * and the mark is taken off between the visits. Kinds take turns, so that the machine's moods hit all alike; told are the tenth percentile
 * of many short rounds, which other programs on the machine have hardly touched, and the median. `l2fwd` is the example of DPDK: receive, exchange the addresses, send. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "clock.h"
#include "device.h"
#include "switch.h"

#define ROUNDS 801
#define VISITS 200
#define LINK_MS 10000
#define FRAME_BYTES 2048
#define VISIT_PS (WIRE_BURST * 800 * PS_PER_NS)

enum kind { L2FWD, PLAIN, PLAIN_PFC, RED, NP_ECN, TCD, TCD_UNDETERMINED, KINDS };

static const char *const NAMES[KINDS] = { "l2fwd", "switch, no flow control, no detector", "switch, PFC, no detector",
					  "switch, PFC, RED", "switch, PFC, NP-ECN", "switch, PFC, TCD",
					  "switch, PFC, TCD, every packet marked UE" };

struct rig {
	struct bridge *bridge;
	struct wire ends[2];
	uint64_t retries, now_ps;
	struct bw_detector detector;
	uint64_t cycles[ROUNDS];
};

/* The pairs of memif, one for each port: the end of the switch, and the far one. All rigs share them, as they take turns. */
static uint16_t near_ends[2], far_ends[2];
/* The longest frame that they take. */
static uint32_t longest_bytes;

static struct rte_mempool *pool;
static struct rte_mbuf *burst[WIRE_BURST];

static void fail(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static void make_detector(struct rig *rig, enum kind kind)
{
	/* RED of the DCQCN paper; TCD at the paper's testbed: max(Ton) 870 us. Every packet marked: a max(Ton) that never ends. */
	struct bw_detector_config config = {
		.kind = kind == RED ? 1 : kind == NP_ECN ? 2 : 3,
		.trend = 3,
		.kmin_bytes = 5000,
		.kmax_bytes = 200000,
		.pmax = 0.01,
		.max_ton_ps = kind == TCD_UNDETERMINED ? PS_PER_S * 1000000 : 870 * PS_PER_US,
		.period_ps = 870 * PS_PER_US,
		.low_bytes = 1000,
		.delta_bytes = 2000,
		.clock_ps = 1,
	};

	if (!bw_detector_init(&rig->detector, &config, NULL, 0))
		fail("a detector refuses its parameters");
}

static uint16_t open_memif(const char *role, unsigned pair)
{
	static unsigned opened;
	char device[96];
	int id;

	snprintf(device, sizeof(device), "net_memif%u,role=%s,id=%u,socket=backwater-bench%d", opened++, role, pair, (int)getpid());
	id = device_open(device, pool, FRAME_BYTES, &longest_bytes);
	if (id < 0)
		fail("no memif");
	return (uint16_t)id;
}

static void open_pairs(void)
{
	const volatile bool stop = false;

	for (unsigned i = 0; i < 2; i++) {
		near_ends[i] = open_memif("server", i);
		far_ends[i] = open_memif("client", i);
		if (!device_wait_for_link(far_ends[i], LINK_MS, &stop) || !device_wait_for_link(near_ends[i], LINK_MS, &stop))
			fail("the ends of a memif do not find each other");
		/* A server sends into buffers that its client has put there, and a client does that when it receives. */
		if (rte_eth_rx_burst(far_ends[i], 0, burst, WIRE_BURST))
			fail("a frame from nowhere");
	}
}

static void join_ring(struct rig *rig, unsigned port)
{
	static unsigned rings;
	char name[16];

	snprintf(name, sizeof(name), "bench%u", rings++);
	wire_init(&rig->ends[port], 0, 0, 0, &rig->retries);
	if (wire_join(&rig->ends[port], &rig->bridge->node.ports[port].wire, name))
		fail("no ring");
}

static void make(struct rig *rig, enum kind kind, bool memif)
{
	struct port_config ports[2] = { { .lossless = 0xFF, .pfc = { .xoff_bytes = 800000, .xon_bytes = 770000, .pause_quanta = 65535 } } };
	struct switch_config config = { .name = "bench", .port_count = 2, .ports = ports };

	ports[0].flow_control = kind >= PLAIN_PFC ? FLOW_PFC : FLOW_NONE;
	if (kind >= RED) {
		make_detector(rig, kind);
		ports[0].detector = &rig->detector;
	}
	ports[1] = ports[0];
	rig->bridge = switch_make(&config, pool, 1);
	if (!rig->bridge)
		fail("no memory");
	for (unsigned i = 0; i < 2; i++) {
		if (memif)
			wire_attach(&rig->bridge->node.ports[i].wire, near_ends[i], longest_bytes);
		else
			join_ring(rig, i);
		if (!l2_fix(&rig->bridge->table, i, (uint16_t)i))
			fail("no place for an address");
	}
	if (kind == TCD_UNDETERMINED)
		bw_detector_on_resume(&rig->detector, &rig->bridge->node.ports[1].lanes[0].registers, 0, 0, 0);
}

static void fill_burst(uint16_t bytes)
{
	static const uint8_t HEADERS[34] = { 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x08, 0x00, 0x45, 0x01, 0, 0, 0, 0, 0, 0, 64, 17 };

	rte_pktmbuf_free_bulk(burst, burst[0] ? WIRE_BURST : 0);
	if (rte_pktmbuf_alloc_bulk(pool, burst, WIRE_BURST))
		fail("no frames");
	for (unsigned i = 0; i < WIRE_BURST; i++)
		memcpy(frame_blank(burst[i], bytes), HEADERS, sizeof(HEADERS));
}

/* One visit of DPDK's l2fwd. */
static void l2fwd(struct rig *rig, bool memif)
{
	struct rte_mbuf *frames[WIRE_BURST];
	unsigned n = memif ? rte_eth_rx_burst(near_ends[0], 0, frames, WIRE_BURST) :
			     rte_ring_sc_dequeue_burst(rig->ends[0].outbound, (void **)frames, WIRE_BURST, NULL);

	for (unsigned i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void *));
		struct rte_ether_hdr *header = rte_pktmbuf_mtod(frames[i], struct rte_ether_hdr *);
		struct rte_ether_addr to = header->dst_addr;

		header->dst_addr = header->src_addr;
		header->src_addr = to;
	}
	if (memif)
		rte_eth_tx_burst(near_ends[1], 0, frames, (uint16_t)n);
	else
		rte_ring_sp_enqueue_burst(rig->ends[1].inbound, (void **)frames, n, NULL);
}

static void put_in(struct rig *rig, bool memif)
{
	unsigned n;

	for (unsigned i = 0; i < WIRE_BURST; i++)
		frame_of(burst[i])->due_ps = 0;
	n = memif ? rte_eth_tx_burst(far_ends[0], 0, burst, WIRE_BURST) :
		    rte_ring_sp_enqueue_burst(rig->ends[0].outbound, (void **)burst, WIRE_BURST, NULL);
	if (n != WIRE_BURST)
		fail("a burst did not go in");
}

/* What comes from a memif are copies: other frames than were put in. */
static void take_out(struct rig *rig, bool memif)
{
	unsigned n = memif ? rte_eth_rx_burst(far_ends[1], 0, burst, WIRE_BURST) :
			     rte_ring_sc_dequeue_burst(rig->ends[1].inbound, (void **)burst, WIRE_BURST, NULL);

	if (n != WIRE_BURST)
		fail("a burst did not come out again");
}

static uint64_t visit(struct rig *rig, enum kind kind, bool memif)
{
	uint64_t begin, end;

	put_in(rig, memif);
	rig->now_ps += VISIT_PS;
	begin = rte_rdtsc_precise();
	if (kind == L2FWD)
		l2fwd(rig, memif);
	else
		rig->bridge->node.ops->poll(&rig->bridge->node, rig->now_ps);
	end = rte_rdtsc_precise();
	take_out(rig, memif);
	for (unsigned i = 0; i < WIRE_BURST; i++) {
		uint8_t *bytes = rte_pktmbuf_mtod(burst[i], uint8_t *);

		if (kind == L2FWD)
			bytes[5] = 1, bytes[0] = bytes[6] = 0;
		bytes[15] = (uint8_t)((bytes[15] & 0xFC) | 1);
	}
	return end - begin;
}

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static void print_row(const struct rig *rigs, enum kind kind, const double quiet[KINDS])
{
	double per = 1.0 / VISITS / WIRE_BURST;

	printf("%-42s %8.1f %8.1f %8.1f", NAMES[kind], quiet[kind], (double)rigs[kind].cycles[ROUNDS / 2] * per,
	       (double)rte_get_tsc_hz() / quiet[kind] / 1e6);
	for (unsigned i = 0; i < 3; i++) {
		static const enum kind AGAINST[3] = { L2FWD, PLAIN_PFC, RED };
		double than = quiet[AGAINST[i]];

		if (kind > AGAINST[i])
			printf("  %+7.1f (%+6.1f %%)", quiet[kind] - than, 100 * (quiet[kind] / than - 1));
	}
	printf("\n");
}

static void measure(struct rig *rigs, uint16_t bytes, bool memif)
{
	double quiet[KINDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (enum kind kind = 0; kind < KINDS; kind++) {
			uint64_t cycles = 0;

			fill_burst(bytes);
			for (unsigned i = 0; i < VISITS; i++)
				cycles += visit(&rigs[kind], kind, memif);
			rigs[kind].cycles[round] = cycles;
		}
	}
	printf("\n%s, %u B frames, bursts of %u, %.2f GHz\n", memif ? "memif" : "rings", bytes, WIRE_BURST, (double)rte_get_tsc_hz() / 1e9);
	printf("%-42s %8s %8s %8s  %18s  %18s  %18s\n", "cycles per packet", "p10", "median", "Mpps", "over l2fwd", "over no detector", "over RED");
	for (enum kind kind = 0; kind < KINDS; kind++) {
		qsort(rigs[kind].cycles, ROUNDS, sizeof(rigs[kind].cycles[0]), by_size);
		quiet[kind] = (double)rigs[kind].cycles[ROUNDS / 10] / VISITS / WIRE_BURST;
		print_row(rigs, kind, quiet);
	}
}

int main(void)
{
	static struct rig rigs[2][KINDS];

	if (!device_start_dpdk("bench", false, 96))
		return 1;
	pool = frame_pool("bench", 1023, FRAME_BYTES);
	if (!pool)
		fail("no memory for frames");
	open_pairs();
	for (unsigned memif = 0; memif < 2; memif++) {
		for (enum kind kind = 0; kind < KINDS; kind++)
			make(&rigs[memif][kind], kind, memif);
		measure(rigs[memif], 64, memif);
		measure(rigs[memif], 1000, memif);
	}
	device_stop_dpdk();
	return 0;
}
