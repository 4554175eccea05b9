/* What a detector costs: cycles per packet of the switch, from the ring where a frame came in to the ring where it went out.
 *
 * Bursts of 32 frames of 64 B and 1000 B through one port to another, timed around the visit of the switch only; the frames go round,
 * and the mark is taken off between the visits. Kinds take turns, so that the machine's moods hit all alike; told are the tenth percentile
 * of many short rounds, which other programs on the machine have hardly touched, and the median. `l2fwd` is the example of DPDK: receive, exchange the addresses, send. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ring.h>

#include "clock.h"
#include "device.h"
#include "switch.h"

#define ROUNDS 801
#define VISITS 200
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

static void make(struct rig *rig, enum kind kind)
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
		char name[16];

		snprintf(name, sizeof(name), "bench%u_%u", kind, i);
		wire_init(&rig->ends[i], 0, 0, 0, &rig->retries);
		if (wire_join(&rig->ends[i], &rig->bridge->node.ports[i].wire, name) || !l2_fix(&rig->bridge->table, i, (uint16_t)i))
			fail("no ring");
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

/* One visit of DPDK's l2fwd, on the rings of the rig. */
static void l2fwd(struct rig *rig)
{
	struct rte_mbuf *frames[WIRE_BURST];
	unsigned n = rte_ring_sc_dequeue_burst(rig->ends[0].outbound, (void **)frames, WIRE_BURST, NULL);

	for (unsigned i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void *));
		struct rte_ether_hdr *header = rte_pktmbuf_mtod(frames[i], struct rte_ether_hdr *);
		struct rte_ether_addr to = header->dst_addr;

		header->dst_addr = header->src_addr;
		header->src_addr = to;
	}
	rte_ring_sp_enqueue_burst(rig->ends[1].inbound, (void **)frames, n, NULL);
}

static uint64_t visit(struct rig *rig, enum kind kind)
{
	uint64_t begin, end;

	for (unsigned i = 0; i < WIRE_BURST; i++)
		frame_of(burst[i])->due_ps = 0;
	rte_ring_sp_enqueue_burst(rig->ends[0].outbound, (void **)burst, WIRE_BURST, NULL);
	rig->now_ps += VISIT_PS;
	begin = rte_rdtsc_precise();
	if (kind == L2FWD)
		l2fwd(rig);
	else
		rig->bridge->node.ops->poll(&rig->bridge->node, rig->now_ps);
	end = rte_rdtsc_precise();
	if (rte_ring_sc_dequeue_burst(rig->ends[1].inbound, (void **)burst, WIRE_BURST, NULL) != WIRE_BURST)
		fail("a burst did not come out again");
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

static void measure(struct rig *rigs, uint16_t bytes)
{
	double plain = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (enum kind kind = 0; kind < KINDS; kind++) {
			uint64_t cycles = 0;

			fill_burst(bytes);
			for (unsigned i = 0; i < VISITS; i++)
				cycles += visit(&rigs[kind], kind);
			rigs[kind].cycles[round] = cycles;
		}
	}
	printf("\n%u B frames, bursts of %u, %.2f GHz\n", bytes, WIRE_BURST, (double)rte_get_tsc_hz() / 1e9);
	printf("%-42s %14s %8s %8s %18s\n", "", "cycles/packet", "median", "Mpps", "over no detector");
	for (enum kind kind = 0; kind < KINDS; kind++) {
		double per = 1.0 / VISITS / WIRE_BURST;
		uint64_t *cycles = rigs[kind].cycles;

		qsort(cycles, ROUNDS, sizeof(cycles[0]), by_size);
		double quiet = (double)cycles[ROUNDS / 10] * per;

		printf("%-42s %14.1f %8.1f %8.1f", NAMES[kind], quiet, (double)cycles[ROUNDS / 2] * per, (double)rte_get_tsc_hz() / quiet / 1e6);
		if (kind == PLAIN_PFC)
			plain = quiet;
		if (kind > PLAIN_PFC)
			printf("  %+6.1f (%+5.1f %%)", quiet - plain, 100 * (quiet / plain - 1));
		printf("\n");
	}
}

int main(void)
{
	static struct rig rigs[KINDS];

	if (!device_start_dpdk("bench", false, 96))
		return 1;
	pool = frame_pool("bench", 1023, 2048);
	if (!pool)
		fail("no memory for frames");
	for (enum kind kind = 0; kind < KINDS; kind++)
		make(&rigs[kind], kind);
	measure(rigs, 64);
	measure(rigs, 1000);
	return 0;
}
