/* See bed.h. */
#include "bed.h"

#include <sched.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "balance.h"
#include "device.h"
#include "interface.h"

/* Links of devices are looked at this often, in rounds. */
#define ROUNDS_PER_LOOK 4096
/* Idle rounds after which another process may have the core (two that poll on one core pass one ring per time slice). */
#define IDLE_BEFORE_YIELD 64
/* Processes of a lockstep that end at the same time are one lookahead apart; those that go on are not waited for long. */
#define LEAVE_PATIENCE_MS 1000

bool bed_init(struct bed *bed, unsigned frames, unsigned frame_bytes, uint64_t seed)
{
	*bed = (struct bed){ .seed = seed, .frame_bytes = frame_bytes };
	bed->pool = frame_pool("frames", frames, interface_buffer_bytes(frame_bytes));
	if (bed->pool)
		return true;
	fprintf(stderr, "no memory for %u frames of %u bytes: %s\n", frames, frame_bytes, rte_strerror(rte_errno));
	return false;
}

bool bed_add(struct bed *bed, struct node *node)
{
	if (bed->graph.node_count == GRAPH_NODES_MOST) {
		fprintf(stderr, "more than %d nodes in one process\n", GRAPH_NODES_MOST);
		return false;
	}
	bed->graph.nodes[bed->graph.node_count++] = node;
	return true;
}

bool bed_join(struct bed *bed, struct port *one, struct port *other)
{
	char name[24];
	int error;

	snprintf(name, sizeof(name), "link%u", bed->link_count);
	error = bed->link_count < BED_LINKS_MOST ? wire_join(&one->wire, &other->wire, name) : -ENOSPC;
	if (error) {
		fprintf(stderr, "%s to %s: no ring: %s\n", one->config.name, other->config.name, rte_strerror(-error));
		return false;
	}
	bed->links[bed->link_count][0] = one;
	bed->links[bed->link_count++][1] = other;
	return true;
}

bool bed_attach(struct bed *bed, struct port *port, const char *device)
{
	uint32_t longest_bytes;
	int id;

	if (bed->device_count == BED_DEVICES_MOST) {
		fprintf(stderr, "more than %d devices in one process\n", BED_DEVICES_MOST);
		return false;
	}
	id = device_open(device, bed->pool, bed->frame_bytes, &longest_bytes);
	if (id < 0)
		return false;
	wire_attach(&port->wire, (uint16_t)id, longest_bytes);
	bed->devices[bed->device_count++] = port;
	return true;
}

bool bed_wait(struct bed *bed, unsigned timeout_ms)
{
	for (unsigned i = 0; i < bed->device_count; i++) {
		struct port *port = bed->devices[i];

		if (device_wait_for_link(port->wire.device, timeout_ms, &bed->stop))
			continue;
		fprintf(stderr, "port %s: no link within %u ms: is the other end running?\n", port->config.name, timeout_ms);
		return false;
	}
	if (bed->clock.kind != CLOCK_LOCKSTEP)
		return true;
	bed->lockstep.stop = &bed->stop;
	bed->clock.lockstep = &bed->lockstep;
	bed->clock.now_ps = bed->lockstep.start_ps;
	if (lockstep_wait_for_all(&bed->lockstep, timeout_ms))
		return true;
	fprintf(stderr, "lockstep: not all %u processes joined within %u ms\n", bed->lockstep.processes, timeout_ms);
	return false;
}

/* Frames for a dead link are dropped, as a switch does that loses carrier; those of a live one wait. */
static void look_at_links(struct bed *bed)
{
	for (unsigned i = 0; i < bed->device_count; i++) {
		struct port *port = bed->devices[i];
		bool down = !device_is_up(port->wire.device), just_now = down && !port->wire.down;

		if (just_now)
			port_link_down(port, bed->clock.now_ps);
		else if (!down && port->wire.down)
			port_link_up(port, bed->clock.now_ps);
		port->wire.down = down;
		if (down)
			device_reconnect(port->wire.device, just_now);
	}
}

static void take_over(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

void bed_read_devices(struct bed *bed)
{
	for (unsigned i = 0; i < bed->device_count; i++) {
		struct port_counters *c = &bed->devices[i]->count;
		struct device_losses losses;

		device_losses(bed->devices[i]->wire.device, &losses);
		take_over(&c->device_missed, losses.missed);
		take_over(&c->device_no_buffer, losses.no_buffer);
		take_over(&c->device_rx_errors, losses.rx_errors);
		take_over(&c->device_tx_errors, losses.tx_errors);
	}
}

void bed_run(struct bed *bed)
{
	struct graph *graph = &bed->graph;
	struct clock *clock = &bed->clock;
	unsigned idle = 0;

	for (unsigned i = 0; i < bed->device_count; i++)
		device_count_losses(bed->devices[i]->wire.device);
	/* What passed while the links came up is no time of the run. */
	clock->last_tsc = rte_rdtsc();
	while (!bed->stop && (!bed->duration_ps || clock->now_ps < bed->duration_ps)) {
		unsigned moved = 0;

		for (unsigned i = 0; i < graph->node_count; i++) {
			struct node *node = graph->nodes[i];

			moved += node->ops->poll(node, clock_tick(clock, rte_rdtsc()));
		}
		bed->rounds++;
		if (bed->rounds % ROUNDS_PER_LOOK == 0) {
			look_at_links(bed);
			bed_balance(bed, false);
		}
		if (moved) {
			idle = 0;
			continue;
		}
		bed->idle_rounds++;
		if (bed->device_count && ++idle >= IDLE_BEFORE_YIELD) {
			idle = 0;
			sched_yield();
		}
	}
	if (clock->kind == CLOCK_LOCKSTEP)
		lockstep_leave(&bed->lockstep, LEAVE_PATIENCE_MS);
}

void bed_stop(struct bed *bed)
{
	struct graph *graph = &bed->graph;

	/* All queues first: a device whose frames found no buffer has them still, and now there are buffers. */
	for (unsigned i = 0; i < graph->node_count; i++)
		for (unsigned j = 0; j < graph->nodes[i]->port_count; j++)
			port_empty(&graph->nodes[i]->ports[j]);
	for (unsigned i = 0; i < graph->node_count; i++)
		for (unsigned j = 0; j < graph->nodes[i]->port_count; j++)
			port_drain(&graph->nodes[i]->ports[j]);
	bed_read_devices(bed);
	for (unsigned i = 0; i < bed->device_count; i++)
		device_close(bed->devices[i]->wire.device);
	for (unsigned i = 0; i < bed->link_count; i++)
		wire_part(&bed->links[i][0]->wire, &bed->links[i][1]->wire);
	bed_balance(bed, true);
	bed->leaked_frames = bed->pool ? rte_mempool_in_use_count(bed->pool) : 0;
}

void bed_close(struct bed *bed)
{
	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		struct node *node = bed->graph.nodes[i];

		if (node->ops->close)
			node->ops->close(node);
	}
	rte_mempool_free(bed->pool);
}
