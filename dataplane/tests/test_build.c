/* From a configuration to a testbed: Figure 11 in short, twice in step mode: 60 ms in which A0 sends from 15 to 40 ms. F0 and F1 share P0 (T0 to T2); A0 congests T2's port to R1,
 * where F1 goes, and flow control holds P0. P0 may say UE and must not say CE; the port to R1 says CE; the port to R0 says nothing; nothing is
 * lost. Both runs give the same counters to the last digit. */
#include <string.h>

#include "balance.h"
#include "build.h"
#include "check.h"
#include "device.h"
#include "switch.h"

#define GBPS UINT64_C(1000000000)

enum { T0, T2, S0, S1, A0, R0, R1, NODES };
/* Ports of T0: to S0, S1, T2; of T2: to T0, A0, R0, R1; then one of each host. */
enum { T0_S0, T0_S1, P0, T2_T0, T2_A0, T2_R0, T2_R1, S0_P, S1_P, A0_P, R0_P, R1_P, PORTS };

static struct bw_node nodes[NODES];
static struct bw_port ports[PORTS];
static struct bw_entry entries[8];
static struct bw_flow flows[3];

static void name_node(unsigned i, const char *name, uint32_t kind, uint32_t first, uint32_t count)
{
	struct bw_node *node = &nodes[i];

	snprintf(node->name, sizeof(node->name), "%s", name);
	node->kind = kind;
	node->first_port = first;
	node->port_count = count;
	node->mac[0] = 2;
	node->mac[5] = (uint8_t)i;
	node->ip = 0x0A000000 + i;
	for (uint32_t j = first; j < first + count; j++)
		ports[j].node = i;
}

static void link_ports(uint32_t one, uint32_t other)
{
	ports[one].peer = other;
	ports[other].peer = one;
}

static void route(unsigned i, uint32_t node, uint32_t port, uint32_t to)
{
	entries[i] = (struct bw_entry){ .node = node, .port = port };
	memcpy(entries[i].mac, nodes[to].mac, 6);
}

static void flow(unsigned i, const char *name, uint32_t from, uint32_t to, uint64_t rate_bps, uint64_t start_ps, uint64_t stop_ps)
{
	flows[i] = (struct bw_flow){ .from = from, .to = to, .rate_bps = rate_bps, .start_ps = start_ps, .stop_ps = stop_ps,
				     .payload_bytes = 1000, .queue_pair = i + 1, .jitter_ppm = 100000, .priority = 3, .code = 1 };
	snprintf(flows[i].name, sizeof(flows[i].name), "%s", name);
}

static struct bw_detector_config tcd(bool credits)
{
	/* PFC: K 200 KB, max(Ton) 870 us (epsilon 0.04, tau 20 us). Credits: K 50 KB as a step, max(Ton) = Tc, T = 4 Tc. */
	return (struct bw_detector_config){
		.kind = 3, .trend = 3,
		.kmin_bytes = credits ? 50000 : 5000, .kmax_bytes = credits ? 50000 : 200000, .pmax = credits ? 1 : 0.01,
		.max_ton_ps = (credits ? 60 : 870) * PS_PER_US, .period_ps = (credits ? 240 : 870) * PS_PER_US,
		.low_bytes = 1000, .delta_bytes = 2000, .clock_ps = 1,
	};
}

static struct bw_testbed make(bool credits)
{
	memset(ports, 0, sizeof(ports));
	memset(nodes, 0, sizeof(nodes));
	name_node(T0, "T0", 0, T0_S0, 3);
	name_node(T2, "T2", 0, T2_T0, 4);
	name_node(S0, "S0", 1, S0_P, 1);
	name_node(S1, "S1", 1, S1_P, 1);
	name_node(A0, "A0", 1, A0_P, 1);
	name_node(R0, "R0", 2, R0_P, 1);
	name_node(R1, "R1", 2, R1_P, 1);
	nodes[T0].detector = nodes[T2].detector = tcd(credits);
	for (unsigned i = 0; i < PORTS; i++) {
		struct bw_port *port = &ports[i];

		snprintf(port->name, sizeof(port->name), "p%u", i);
		port->rate_bps = 10 * GBPS;
		port->delay_ps = 9200 * PS_PER_NS;
		port->overhead_bytes = 24;
		port->flow_control = credits ? 2 : 1;
		port->lossless = 1 << 3;
		port->pfc = (struct bw_pfc_config){ .xoff_bytes = 800000, .xon_bytes = 770000, .pause_quanta = 65535 };
		port->credit_period_ps = 60 * PS_PER_US;
		port->credit_phase_ps = (i * 7 % 60) * PS_PER_US;
		port->credit_buffer_bytes = port->peer_credit_buffer_bytes = 800000;
	}
	link_ports(T0_S0, S0_P), link_ports(T0_S1, S1_P), link_ports(P0, T2_T0);
	link_ports(T2_A0, A0_P), link_ports(T2_R0, R0_P), link_ports(T2_R1, R1_P);
	route(0, T0, 2, R0), route(1, T0, 2, R1), route(2, T2, 2, R0), route(3, T2, 3, R1);
	flow(0, "F0", S0, R0, GBPS, 0, UINT64_MAX);
	flow(1, "F1", S1, R1, 8 * GBPS, 0, UINT64_MAX);
	flow(2, "A0", A0, R1, 0, 15 * PS_PER_MS, 40 * PS_PER_MS);
	return (struct bw_testbed){
		.duration_ps = 60 * PS_PER_MS, .window_ps = 5 * PS_PER_MS, .seed = 1, .frames = 16383, .frame_bytes = 2048, .clock = 0,
		.nodes = nodes, .ports = ports, .entries = entries, .flows = flows,
		.node_count = NODES, .port_count = PORTS, .entry_count = 4, .flow_count = 3,
	};
}

struct outcome {
	struct port_counters counters[PORTS];
};

static void run(bool credits, struct outcome *outcome)
{
	static struct bed bed;
	struct bw_testbed config = make(credits);
	struct plan plan;

	CHECK(plan_build(&plan, &bed, &config));
	CHECK(bed_wait(&bed, 1000));
	bed_run(&bed);
	for (unsigned i = 0; i < PORTS; i++)
		outcome->counters[i] = plan.ports[i]->count;
	bed_stop(&bed);
	CHECK_EQ(bed.leaked_frames, 0);
	CHECK_EQ(bed.unaccounted_frames, 0);
	CHECK_EQ(node_balance(plan.nodes[T0]), 0);
	CHECK_EQ(node_balance(plan.nodes[T2]), 0);
	bed_close(&bed);
	plan_free(&plan);
}

static void check(bool credits)
{
	static struct outcome one, other;

	run(credits, &one);
	run(credits, &other);
	CHECK(memcmp(&one, &other, sizeof(one)) == 0);
	const struct port_counters *p0 = &one.counters[P0], *r0 = &one.counters[T2_R0], *r1 = &one.counters[T2_R1];

	printf("%s: P0 marked %lu UE, %lu CE; to R0 %lu, %lu; to R1 %lu UE, %lu CE; %lu OFF periods of P0; most ingress %lu B\n",
	       credits ? "credits" : "PFC", p0->marked_ue, p0->marked_ce, r0->marked_ue, r0->marked_ce, r1->marked_ue, r1->marked_ce,
	       p0->off_periods[3], one.counters[T2_T0].ingress_most_bytes);
	/* Half of R1's link for each of F1 and A0: about 5 Gbps of 1058 B and overhead for 25 ms are 14 000 packets, F0's 2900 besides. */
	CHECK(p0->marked_ue > 5000);
	CHECK_EQ(p0->marked_ce, 0);
	CHECK_EQ(r0->marked_ue + r0->marked_ce, 0);
	CHECK(r1->marked_ce > 10000);
	CHECK(p0->off_periods[3] > 10);
	for (unsigned i = 0; i < PORTS; i++)
		for (unsigned j = 0; j < DROP_SHUTDOWN; j++)
			CHECK_EQ(one.counters[i].drops[j], 0);
	if (!credits) {
		/* Headroom above Xoff: C * tau is 25 000 B, with two packets that cannot be cut. */
		uint64_t above = one.counters[T2_T0].ingress_most_bytes - 800000;

		CHECK(above <= 25000 + 2 * 1082);
		CHECK_EQ(one.counters[P0].pause_received[3], one.counters[T2_T0].pause_sent[3]);
	} else {
		CHECK(one.counters[T2_T0].ingress_most_bytes <= 800000);
	}
}

static void under_pfc(void)
{
	check(false);
}

static void under_credits(void)
{
	check(true);
}

int main(void)
{
	CHECK(device_start_dpdk("test", false, 192));
	RUN(under_pfc);
	RUN(under_credits);
	return 0;
}
