/* See build.h. */
#include "build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "device.h"
#include "interface.h"
#include "receiver.h"
#include "sender.h"
#include "switch.h"

#define PORTS_MOST 64
/* 32 B each, per flow. */
#define WINDOWS_MOST (UINT64_C(1) << 20)
/* Windows of a run that goes on until it is stopped; what comes later is counted in the last one. */
#define WINDOWS_WITHOUT_END 1024

/* A remote node is a station of another process: flows know its address, nothing of it is here. */
enum { KIND_SWITCH, KIND_SENDER, KIND_RECEIVER, KIND_REMOTE };

bool plan_needs_pci(const struct bw_testbed *config)
{
	for (uint32_t i = 0; i < config->port_count; i++)
		if (config->ports[i].device[0] && device_is_pci(config->ports[i].device))
			return true;
	return false;
}

unsigned plan_memory_mib(const struct bw_testbed *config)
{
	uint64_t frame = interface_buffer_bytes(config->frame_bytes) + RTE_PKTMBUF_HEADROOM + sizeof(struct rte_mbuf) + sizeof(struct frame) + 128;

	/* The pages of 4 KiB that are used without huge pages leave gaps: half as much again. */
	return (unsigned)(128 + (config->frames * frame * 3 / 2 >> 20));
}

static struct port_config config_of_port(const struct bw_port *port, const struct bw_detector *detector)
{
	struct port_config made = {
		.rate_bps = port->rate_bps,
		.nominal_bps = port->nominal_bps,
		.delay_ps = port->delay_ps,
		.overhead_bytes = port->overhead_bytes,
		.flow_control = (enum flow_control)port->flow_control,
		.lossless = port->lossless,
		.pfc = port->pfc,
		.watchdog_action = (enum watchdog_action)port->watchdog_action,
		.credits = {
			.period_ps = port->credit_period_ps,
			.phase_ps = port->credit_phase_ps,
			.buffer_bytes = port->credit_buffer_bytes,
			.peer_buffer_bytes = port->peer_credit_buffer_bytes,
		},
		.ingress_limit_bytes = port->ingress_limit_bytes,
		.lossy_queue_bytes = port->lossy_queue_bytes,
		.detector = detector,
	};

	memcpy(made.name, port->name, sizeof(made.name));
	memcpy(made.mac, port->mac, sizeof(made.mac));
	return made;
}

/* Seeds of nodes differ, whatever the seed of the run. */
static uint64_t seed_of(const struct bw_testbed *config, uint32_t node)
{
	return config->seed * 1000003 + node * 64 + 1;
}

static struct node *make_switch(struct plan *plan, struct bed *bed, uint32_t index)
{
	const struct bw_testbed *config = plan->config;
	const struct bw_node *node = &config->nodes[index];
	struct bw_detector *detector = &plan->detectors[index];
	struct port_config ports[PORTS_MOST];
	char why[256];

	if (node->port_count > PORTS_MOST) {
		fprintf(stderr, "%s: %u ports, at most %d are possible\n", node->name, node->port_count, PORTS_MOST);
		return NULL;
	}
	if (!bw_detector_init(detector, &node->detector, why, sizeof(why))) {
		fprintf(stderr, "%s: detector.%s\n", node->name, why);
		return NULL;
	}
	for (uint32_t i = 0; i < node->port_count; i++)
		ports[i] = config_of_port(&config->ports[node->first_port + i], node->detector.kind ? detector : NULL);
	struct switch_config made = {
		.name = node->name, .learning = node->learning, .ageing_ps = node->ageing_ps, .port_count = node->port_count, .ports = ports,
	};
	struct bridge *bridge = switch_make(&made, bed->pool, seed_of(config, index));

	if (!bridge)
		return NULL;
	for (uint32_t i = 0; i < config->entry_count; i++) {
		const struct bw_entry *entry = &config->entries[i];

		if (entry->node == index && !l2_fix(&bridge->table, l2_address(entry->mac), (uint16_t)entry->port)) {
			fprintf(stderr, "%s: too many static addresses of one kind\n", node->name);
			bridge->node.ops->close(&bridge->node);
			return NULL;
		}
	}
	return &bridge->node;
}

static struct roce_path path_of(const struct bw_testbed *config, const struct bw_flow *flow)
{
	const struct bw_node *from = &config->nodes[flow->from], *to = &config->nodes[flow->to];
	struct roce_path path = {
		.from_ip = from->ip,
		.to_ip = to->ip,
		/* The dynamic ports of RFC 6335, one for each queue pair. */
		.udp_source = (uint16_t)(49152 + flow->queue_pair % 16384),
		.queue_pair = flow->queue_pair,
		.priority = flow->priority,
		.code = flow->code,
	};

	memcpy(path.from_mac, from->mac, sizeof(path.from_mac));
	memcpy(path.to_mac, to->mac, sizeof(path.to_mac));
	return path;
}

static struct node *make_sender(struct plan *plan, struct bed *bed, uint32_t index)
{
	const struct bw_testbed *config = plan->config;
	const struct bw_node *node = &config->nodes[index];
	struct flow_config flows[SENDER_FLOWS_MOST];
	struct sender_config made = {
		.name = node->name,
		.port = config_of_port(&config->ports[node->first_port], NULL),
		.flows = flows,
		.seed = seed_of(config, index),
	};

	for (uint32_t i = 0; i < config->flow_count; i++) {
		const struct bw_flow *flow = &config->flows[i];

		if (flow->from != index)
			continue;
		if (made.flow_count == SENDER_FLOWS_MOST) {
			fprintf(stderr, "%s: more than %d flows\n", node->name, SENDER_FLOWS_MOST);
			return NULL;
		}
		flows[made.flow_count++] = (struct flow_config){
			.name = flow->name,
			.path = path_of(config, flow),
			.rate_bps = flow->rate_bps,
			.start_ps = flow->start_ps,
			.stop_ps = flow->stop_ps,
			.size_bytes = flow->size_bytes,
			.payload_bytes = flow->payload_bytes,
			.jitter_ppm = flow->jitter_ppm,
			.catch_up = flow->catch_up,
		};
	}
	return sender_make(&made, bed->pool);
}

static uint64_t windows_of(const struct bw_testbed *config)
{
	if (!config->duration_ps)
		return WINDOWS_WITHOUT_END;
	return config->duration_ps / config->window_ps + (config->duration_ps % config->window_ps != 0);
}

static struct node *make_receiver(struct plan *plan, struct bed *bed, uint32_t index)
{
	const struct bw_testbed *config = plan->config;
	const struct bw_node *node = &config->nodes[index];
	struct expected_flow *flows = calloc(config->flow_count + 1, sizeof(*flows));
	struct receiver_config made = {
		.name = node->name,
		.port = config_of_port(&config->ports[node->first_port], NULL),
		.ip = node->ip,
		.flows = flows,
		.window_ps = config->window_ps,
		.window_count = (unsigned)windows_of(config),
		.cnp_interval_ps = node->cnp ? node->cnp_interval_ps : 0,
		.cnp_priority = node->cnp_priority,
	};
	struct node *receiver;

	if (!flows)
		return NULL;
	for (uint32_t i = 0; i < config->flow_count; i++)
		if (config->flows[i].to == index)
			flows[made.flow_count++] = (struct expected_flow){
				.name = config->flows[i].name,
				.from_ip = config->nodes[config->flows[i].from].ip,
				.queue_pair = config->flows[i].queue_pair,
			};
	receiver = receiver_make(&made, bed->pool);
	free(flows);
	return receiver;
}

static bool make_node(struct plan *plan, struct bed *bed, uint32_t index)
{
	const struct bw_node *config = &plan->config->nodes[index];
	struct node *node;

	if (config->kind == KIND_REMOTE)
		return true;
	switch (config->kind) {
	case KIND_SWITCH: node = make_switch(plan, bed, index); break;
	case KIND_SENDER: node = make_sender(plan, bed, index); break;
	case KIND_RECEIVER: node = make_receiver(plan, bed, index); break;
	default: node = NULL; break;
	}
	if (!node) {
		fprintf(stderr, "%s: the node cannot be made\n", config->name);
		return false;
	}
	plan->nodes[index] = node;
	for (uint32_t i = 0; i < config->port_count; i++)
		plan->ports[config->first_port + i] = &node->ports[i];
	return bed_add(bed, node);
}

static bool is_memif_server(const char *device)
{
	return strncmp(device, "net_memif", 9) == 0 && strstr(device, "role=server");
}

/* Devices of one round: memif servers in the first, all else in the second. */
static bool open_devices(struct plan *plan, struct bed *bed, bool servers)
{
	for (uint32_t i = 0; i < plan->config->port_count; i++) {
		const char *device = plan->config->ports[i].device;

		if (device[0] && is_memif_server(device) == servers && !bed_attach(bed, plan->ports[i], device))
			return false;
	}
	return true;
}

static bool join_ports(struct plan *plan, struct bed *bed)
{
	for (uint32_t i = 0; i < plan->config->port_count; i++) {
		const struct bw_port *port = &plan->config->ports[i];

		if (!port->device[0] && port->peer > i && port->peer < plan->config->port_count &&
		    !bed_join(bed, plan->ports[i], plan->ports[port->peer]))
			return false;
	}
	return true;
}

static bool start_clock(struct bed *bed, const struct bw_testbed *config)
{
	enum clock_kind kind = (enum clock_kind)config->clock;
	uint64_t rate = 0, cap = config->clock_cap_ps;
	int error;

	for (uint32_t i = 0; i < config->port_count; i++)
		if (config->ports[i].rate_bps > rate)
			rate = config->ports[i].rate_bps;
	if (!rate)
		rate = UINT64_C(10000000000);
	/* Steps of the study: 30 ns for each node at 10 Gbps. Under `wall` a gap longer than the allowance is a disturbance. */
	if (!cap && kind == CLOCK_STEP)
		cap = UINT64_C(300000000000000) / rate;
	else if (!cap && kind == CLOCK_WALL)
		cap = wire_allowance_ps(rate);
	else if (!cap)
		cap = clock_safe_cap_ps(rate, config->node_count);
	clock_start(&bed->clock, kind, cap ? cap : 1, rte_get_tsc_hz(), rte_rdtsc());
	if (kind != CLOCK_LOCKSTEP)
		return true;
	error = lockstep_join(&bed->lockstep, config->lockstep_page, config->process, config->processes, config->lookahead_ps);
	if (error)
		fprintf(stderr, "lockstep: %s: %s\n", config->lockstep_page, lockstep_why(error));
	return error == 0;
}

bool plan_build(struct plan *plan, struct bed *bed, const struct bw_testbed *config)
{
	*plan = (struct plan){ .config = config };
	if (windows_of(config) > WINDOWS_MOST) {
		fprintf(stderr, "run.window: %" PRIu64 " windows of %" PRIu64 " ns; allowed: at most %" PRIu64
			" in a run: a longer window, or a shorter duration\n",
			windows_of(config), config->window_ps / PS_PER_NS, WINDOWS_MOST);
		return false;
	}
	if (!bed_init(bed, config->frames, config->frame_bytes, config->seed))
		return false;
	bed->duration_ps = config->duration_ps;
	plan->detectors = calloc(config->node_count, sizeof(*plan->detectors));
	plan->nodes = calloc(config->node_count, sizeof(*plan->nodes));
	plan->ports = calloc(config->port_count, sizeof(*plan->ports));
	if (!plan->detectors || !plan->nodes || !plan->ports)
		return false;
	for (uint32_t i = 0; i < config->node_count; i++)
		if (!make_node(plan, bed, i))
			return false;
	return join_ports(plan, bed) && open_devices(plan, bed, true) && open_devices(plan, bed, false) && start_clock(bed, config);
}

void plan_free(struct plan *plan)
{
	free(plan->detectors);
	free(plan->nodes);
	free(plan->ports);
	*plan = (struct plan){ 0 };
}
