/* The compact testbed of the TCD paper (§5.1.1, Figure 11) by the step clock: a tenth of the run, windows of 10 ms.
 *
 *   S0 ─┐            ┌─ R0        F0: S0 to R0, 1 Gbps; F1: S1 to R1, 8 Gbps; A0: A0 to R1, line rate, from 28 ms on.
 *   S1 ─┴ T0 ─P0─ T2 ┴─ R1        P3 is T2's port to R1: the root. P0 is only held back.
 *                 └──── A0
 * What is expected is what the paper says: F0 is marked UE while A0 sends, never CE; F1 CE; nothing is lost; twice the same. */
#include <string.h>

#include <rte_cycles.h>

#include "balance.h"
#include "clock.h"
#include "eal.h"
#include "receiver.h"
#include "sender.h"
#include "stats.h"
#include "switch.h"

#define RATE_BPS UINT64_C(10000000000)
#define KB 1000
#define WINDOW_PS (10 * PS_PER_MS)
#define WINDOWS 10
#define END_PS (WINDOWS * WINDOW_PS)
/* The response time of 20 us, less two packets of 1000 B, each way (as papers/tcd/scenarios/testbed.toml). */
#define DELAY_PS (9200 * PS_PER_NS)
/* Per visit of a node: seven of them make a round of 210 ns. */
#define STEP_PS (30 * PS_PER_NS)
#define NODES 7
#define LINKS 6

enum place { S0, S1, A0, T0, T2, R0, R1 };

static struct rte_mempool *pool;
static enum clock_kind clock_kind = CLOCK_STEP;

struct scene {
	struct node *nodes[NODES];
	struct bw_detector detector;
	/* Of F0, F1 and A0: packets per window and code point. */
	uint64_t marks[3][4][WINDOWS];
	char *said;
};

static struct bw_detector_config tcd(enum flow_control flow_control)
{
	/* Eqn 3 with epsilon 0.04, Xoff - Xon = 30 KB and 20 us: 870 us. Eqn 4: Tc; T is the simulator's for credits. */
	struct bw_detector_config config = {
		.kind = 3, .trend = 3, .kmin_bytes = 5 * KB, .kmax_bytes = 200 * KB, .pmax = 0.01, .max_ton_ps = 870 * PS_PER_US,
		.period_ps = 870 * PS_PER_US, .low_bytes = 1058, .delta_bytes = 2 * 1058, .clock_ps = 1,
	};

	if (flow_control == FLOW_CREDITS) {
		config.kmin_bytes = config.kmax_bytes = 50 * KB;
		config.pmax = 1;
		config.max_ton_ps = 60 * PS_PER_US;
		config.period_ps = 240 * PS_PER_US;
	}
	return config;
}

static struct port_config port_of(struct scene *scene, enum flow_control flow_control, enum place node, unsigned index)
{
	struct port_config config = {
		.mac = { 2, 0, 0, 0, (uint8_t)(node + 1), (uint8_t)index },
		.rate_bps = RATE_BPS,
		.nominal_bps = RATE_BPS,
		.delay_ps = DELAY_PS,
		.overhead_bytes = ETHERNET_OVERHEAD_BYTES,
		.flow_control = flow_control,
		.lossless = 1 << 3,
		.pfc = { .xoff_bytes = 800 * KB, .xon_bytes = 770 * KB, .pause_quanta = 65535 },
		.credits = { .period_ps = 60 * PS_PER_US, .phase_ps = (node * 4 + index) * 2 * PS_PER_US, .buffer_bytes = 800 * KB, .peer_buffer_bytes = 800 * KB },
		/* Headroom: what arrives within 20 us and a packet. */
		.ingress_limit_bytes = flow_control == FLOW_PFC ? 830 * KB : 0,
		.detector = node == T0 || node == T2 ? &scene->detector : NULL,
	};

	snprintf(config.name, sizeof(config.name), "%u", index);
	return config;
}

static struct roce_path path_of(enum place from, enum place to, uint32_t queue_pair)
{
	struct roce_path path = {
		.from_mac = { 2, 0, 0, 0, (uint8_t)(from + 1), 0 },
		.to_mac = { 2, 0, 0, 0, (uint8_t)(to + 1), 0 },
		.from_ip = 0x0A000001 + from,
		.to_ip = 0x0A000001 + to,
		.udp_source = (uint16_t)(0xC000 + queue_pair),
		.queue_pair = queue_pair,
		.priority = 3,
		.code = 1,
	};

	return path;
}

static struct node *make_sender(struct scene *scene, enum flow_control flow_control, const char *name, enum place node, struct flow_config flow)
{
	flow.payload_bytes = 1000;
	const struct sender_config config = {
		.name = name, .port = port_of(scene, flow_control, node, 0), .flow_count = 1, .flows = &flow, .seed = node + 1,
	};

	return sender_make(&config, pool);
}

static struct node *make_receiver(struct scene *scene, enum flow_control flow_control, const char *name, enum place node, unsigned flows, const struct expected_flow *expected)
{
	const struct receiver_config config = {
		.name = name, .port = port_of(scene, flow_control, node, 0), .ip = 0x0A000001 + node, .flow_count = flows, .flows = expected,
		.window_ps = WINDOW_PS, .window_count = WINDOWS, .cnp_interval_ps = 50 * PS_PER_US, .cnp_priority = 6,
	};

	return receiver_make(&config, pool);
}

static struct node *make_switch(struct scene *scene, enum flow_control flow_control, const char *name, enum place node, unsigned ports, const uint8_t to[R1 + 1])
{
	struct port_config configs[4];

	for (unsigned i = 0; i < ports; i++)
		configs[i] = port_of(scene, flow_control, node, i);
	const struct switch_config config = { .name = name, .port_count = ports, .ports = configs };
	struct bridge *bridge = switch_make(&config, pool, node);

	CHECK(bridge != NULL);
	for (unsigned i = 0; i <= R1; i++) {
		const uint8_t mac[6] = { 2, 0, 0, 0, (uint8_t)(i + 1), 0 };

		CHECK(l2_fix(&bridge->table, l2_address(mac), to[i]));
	}
	return &bridge->node;
}

static void make(struct scene *scene, enum flow_control flow_control, const struct bw_detector_config *detector)
{
	static const uint8_t FROM_T0[] = { 0, 1, 2, 2, 2, 2, 2 }, FROM_T2[] = { 0, 0, 3, 0, 0, 1, 2 };
	static const struct expected_flow TO_R0[] = { { "F0", 0x0A000001 + S0, 1 } };
	static const struct expected_flow TO_R1[] = { { "F1", 0x0A000001 + S1, 2 }, { "A0", 0x0A000001 + A0, 3 } };
	static const struct { enum place a; unsigned port_a; enum place b; unsigned port_b; } JOINED[LINKS] = {
		{ S0, 0, T0, 0 }, { S1, 0, T0, 1 }, { T0, 2, T2, 0 }, { T2, 1, R0, 0 }, { T2, 2, R1, 0 }, { T2, 3, A0, 0 },
	};
	const struct flow_config f0 = { .name = "F0", .path = path_of(S0, R0, 1), .rate_bps = RATE_BPS / 10, .stop_ps = UINT64_MAX, .jitter_ppm = 100000 };
	const struct flow_config f1 = { .name = "F1", .path = path_of(S1, R1, 2), .rate_bps = RATE_BPS / 10 * 8, .stop_ps = UINT64_MAX, .jitter_ppm = 100000 };
	const struct flow_config a0 = { .name = "A0", .path = path_of(A0, R1, 3), .start_ps = 28 * PS_PER_MS, .stop_ps = UINT64_MAX, .size_bytes = 27500 * KB };
	char why[128], link[16];

	CHECK(bw_detector_init(&scene->detector, detector, why, sizeof(why)));
	scene->nodes[S0] = make_sender(scene, flow_control, "S0", S0, f0);
	scene->nodes[S1] = make_sender(scene, flow_control, "S1", S1, f1);
	scene->nodes[A0] = make_sender(scene, flow_control, "A0", A0, a0);
	scene->nodes[T0] = make_switch(scene, flow_control, "T0", T0, 3, FROM_T0);
	scene->nodes[T2] = make_switch(scene, flow_control, "T2", T2, 4, FROM_T2);
	scene->nodes[R0] = make_receiver(scene, flow_control, "R0", R0, 1, TO_R0);
	scene->nodes[R1] = make_receiver(scene, flow_control, "R1", R1, 2, TO_R1);
	for (unsigned i = 0; i < LINKS; i++) {
		snprintf(link, sizeof(link), "link%u", i);
		CHECK(!wire_join(&scene->nodes[JOINED[i].a]->ports[JOINED[i].port_a].wire, &scene->nodes[JOINED[i].b]->ports[JOINED[i].port_b].wire, link));
	}
}

/* What all nodes say, and the counters of all ports. */
static char *everything(const struct scene *scene)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (unsigned i = 0; i < NODES; i++) {
		const struct node *node = scene->nodes[i];

		stats_json_node(out, node);
		for (unsigned j = 0; j < node->port_count; j++)
			for (unsigned k = 0; k < sizeof(struct port_counters) / 8; k++)
				fprintf(out, " %" PRIu64, ((const uint64_t *)&node->ports[j].count)[k]);
	}
	fclose(out);
	return text;
}

static void read_marks(struct scene *scene)
{
	static const char *const FLOWS[] = { "\"F0\"", "\"F1\"", "\"A0\"" };
	static const char *const CODES[] = { "not_capable_packets\":[", "capable_packets\":[", "ue_packets\":[", "ce_packets\":[" };

	for (unsigned flow = 0; flow < 3; flow++) {
		char *text;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		struct node *node = scene->nodes[flow ? R1 : R0];

		stats_json_node(out, node);
		fclose(out);
		const char *at = strstr(text, FLOWS[flow]);

		CHECK(at != NULL);
		for (unsigned code = 0; code < 4; code++) {
			at = strstr(at, CODES[code]) + strlen(CODES[code]);
			for (unsigned i = 0; i < WINDOWS; i++, at++)
				scene->marks[flow][code][i] = strtoull(at, (char **)&at, 10);
		}
		free(text);
	}
}

static void run(struct scene *scene, enum flow_control flow_control, const struct bw_detector_config *detector)
{
	struct clock clock;

	make(scene, flow_control, detector);
	clock_start(&clock, clock_kind, clock_kind == CLOCK_STEP ? STEP_PS : clock_safe_cap_ps(RATE_BPS, NODES), rte_get_tsc_hz(), rte_rdtsc());
	while (clock.now_ps < END_PS)
		for (unsigned i = 0; i < NODES; i++)
			scene->nodes[i]->ops->poll(scene->nodes[i], clock_tick(&clock, rte_rdtsc()));
	read_marks(scene);
	scene->said = everything(scene);
}

static void finish(struct scene *scene)
{
	static const struct { enum place a; unsigned port_a; enum place b; unsigned port_b; } JOINED[LINKS] = {
		{ S0, 0, T0, 0 }, { S1, 0, T0, 1 }, { T0, 2, T2, 0 }, { T2, 1, R0, 0 }, { T2, 2, R1, 0 }, { T2, 3, A0, 0 },
	};

	for (unsigned i = 0; i < NODES; i++)
		for (unsigned j = 0; j < scene->nodes[i]->port_count; j++) {
			port_drain(&scene->nodes[i]->ports[j]);
				}
	for (unsigned i = 0; i < LINKS; i++)
		wire_part(&scene->nodes[JOINED[i].a]->ports[JOINED[i].port_a].wire, &scene->nodes[JOINED[i].b]->ports[JOINED[i].port_b].wire);
	for (unsigned i = 0; i < NODES; i++)
		scene->nodes[i]->ops->close(scene->nodes[i]);
	CHECK_EQ(rte_mempool_in_use_count(pool), 0);
}

static uint64_t packets(const struct scene *scene, unsigned flow, unsigned window)
{
	uint64_t sum = 0;

	for (unsigned code = 0; code < 4; code++)
		sum += scene->marks[flow][code][window];
	return sum;
}

static void nothing_is_lost(const struct scene *scene)
{
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned j = 0; j < scene->nodes[i]->port_count; j++)
			for (unsigned k = 0; k < DROP_REASON_COUNT; k++)
				CHECK_EQ(scene->nodes[i]->ports[j].count.drops[k], 0);
	CHECK(strstr(scene->said, "\"missing\":0,\"late\":0,\"damaged\":0") != NULL);
	CHECK_EQ(node_balance(scene->nodes[T0]), 0);
	CHECK_EQ(node_balance(scene->nodes[T2]), 0);
}

/* For who looks at a failure. */
static void show(const struct scene *scene)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		fprintf(stderr, "window %u: F0 %" PRIu64 " (UE %" PRIu64 ", CE %" PRIu64 ")  F1 %" PRIu64 " (UE %" PRIu64 ", CE %" PRIu64 ")  A0 %" PRIu64 "\n", i,
			packets(scene, 0, i), scene->marks[0][2][i], scene->marks[0][3][i], packets(scene, 1, i), scene->marks[1][2][i], scene->marks[1][3][i],
			packets(scene, 2, i));
}

/* A0 sends 27.5 MB from 28 ms on, at half of R1's link: till about 76 ms. Windows 3 to 6 are all within. */
static void is_figure_11(const struct scene *scene, enum flow_control flow_control)
{
	show(scene);
	nothing_is_lost(scene);
	CHECK(scene->nodes[T0]->ports[2].count.off_periods[3] > 10);
	for (unsigned i = 0; i < WINDOWS; i++) {
		CHECK_EQ(scene->marks[0][3][i], 0);
		if (i < 2 || i > 7)
			CHECK_EQ(scene->marks[0][2][i], 0);
		if (i < 3 || i > 6)
			continue;
		CHECK(packets(scene, 0, i) > 500 && scene->marks[0][2][i] * 100 >= packets(scene, 0, i) * 99);
		CHECK(packets(scene, 1, i) > 500 && scene->marks[1][3][i] * 100 >= packets(scene, 1, i) * 99);
	}
	/* F1 and A0 fill R1's link of 10 Gbps: 12.5 MB in 10 ms, of which credit messages of 84 B take their part every 60 us. */
	int64_t control_bytes = flow_control == FLOW_CREDITS ? 10000 / 60 * 84 : 0;
	int64_t idle_bytes = 12500000 - control_bytes - (int64_t)(packets(scene, 1, 4) + packets(scene, 2, 4)) * 1082;

	/* Exactly, but for the packets at both ends; where real time has a part in it within 1 %. */
	CHECK(idle_bytes > -3 * 1082 && idle_bytes < (clock_kind == CLOCK_STEP ? 3 * 1082 : 125000));
}

static void figure_11(enum flow_control flow_control)
{
	static struct scene first, second;
	const struct bw_detector_config detector = tcd(flow_control);

	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	run(&first, flow_control, &detector);
	is_figure_11(&first, flow_control);
	finish(&first);
	run(&second, flow_control, &detector);
	if (clock_kind == CLOCK_STEP)
		CHECK(!strcmp(first.said, second.said));
	else
		is_figure_11(&second, flow_control);
	finish(&second);
	free(first.said);
	free(second.said);
}

static void figure_11_under_pfc_twice_the_same(void)
{
	figure_11(FLOW_PFC);
}

static void figure_11_under_credits_twice_the_same(void)
{
	figure_11(FLOW_CREDITS);
}

/* The control: ECN cannot tell P0 from a root, and marks F0 CE. The study's step at 200 KB. */
static void plain_ecn_blames_the_victim(void)
{
	static struct scene scene;
	const struct bw_detector_config red = { .kind = 1, .kmin_bytes = 200 * KB, .kmax_bytes = 200 * KB, .pmax = 1, .clock_ps = 1 };

	run(&scene, FLOW_PFC, &red);
	show(&scene);
	nothing_is_lost(&scene);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(scene.marks[0][3][i], 0);
	/* From 30 ms on P0's queue has to grow past the threshold first. */
	for (unsigned i = 4; i < 7; i++)
		CHECK(packets(&scene, 0, i) > 500 && scene.marks[0][3][i] * 100 >= packets(&scene, 0, i) * 99);
	finish(&scene);
	free(scene.said);
}

/* By the clamped clock, as `make testbed` runs it, on a machine that has other things to do. */
static void figure_11_by_the_clamped_clock(void)
{
	clock_kind = CLOCK_CLAMP;
	for (int i = 0; i < 5; i++) {
		figure_11(FLOW_PFC);
		figure_11(FLOW_CREDITS);
	}
}

int main(void)
{
	pool = start_eal(16383);
	RUN(plain_ecn_blames_the_victim);
	RUN(figure_11_under_pfc_twice_the_same);
	RUN(figure_11_under_credits_twice_the_same);
	RUN(figure_11_by_the_clamped_clock);
	return 0;
}
