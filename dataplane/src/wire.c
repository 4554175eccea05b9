/* See wire.h. */
#include "wire.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "capture.h"
#include "clock.h"
#include "counters.h"

/* Frames on one wire: at 100 Gbps and 64 B, some 20 us of delay. What does not fit waits in the batch. */
#define RING_FRAMES 4096
#define ALLOWANCE_BITS 40000

void wire_init(struct wire *wire, uint64_t rate_bps, uint64_t delay_ps, uint32_t overhead_bytes, uint64_t *retries)
{
	*wire = (struct wire){
		.rate_bps = rate_bps,
		.delay_ps = delay_ps,
		.overhead_bytes = overhead_bytes,
		.byte_ps = rate_bps && 8 * PS_PER_S % rate_bps == 0 ? 8 * PS_PER_S / rate_bps : 0,
		.allowance_ps = wire_allowance_ps(rate_bps),
		.retries = retries,
		.longest_bytes = UINT32_MAX,
	};
}

int wire_join(struct wire *one, struct wire *other, const char *name)
{
	char ring_name[RTE_RING_NAMESIZE];
	unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;

	snprintf(ring_name, sizeof(ring_name), "%.20s_a", name);
	one->outbound = other->inbound = rte_ring_create(ring_name, RING_FRAMES, SOCKET_ID_ANY, flags);
	if (!one->outbound)
		return -rte_errno;
	snprintf(ring_name, sizeof(ring_name), "%.20s_b", name);
	one->inbound = other->outbound = rte_ring_create(ring_name, RING_FRAMES, SOCKET_ID_ANY, flags);
	if (!one->inbound) {
		int error = -rte_errno;

		rte_ring_free(one->outbound);
		one->outbound = other->inbound = NULL;
		return error;
	}
	return 0;
}

void wire_attach(struct wire *wire, uint16_t device, uint32_t longest_bytes)
{
	wire->longest_bytes = longest_bytes;
	wire->device = device;
	wire->is_device = true;
}

uint64_t wire_allowance_ps(uint64_t rate_bps)
{
	return rate_bps ? ALLOWANCE_BITS * PS_PER_S / rate_bps : 0;
}

uint64_t wire_time_ps(const struct wire *wire, uint32_t bytes)
{
	uint64_t total = (uint64_t)bytes + wire->overhead_bytes;

	if (wire->byte_ps)
		return total * wire->byte_ps;
	if (!wire->rate_bps)
		return 0;
	return (total * 8 * PS_PER_S + wire->rate_bps - 1) / wire->rate_bps;
}

bool wire_can_start(const struct wire *wire, uint64_t now_ps, uint64_t ready_ps, uint64_t *start_ps)
{
	if (wire->batched == WIRE_BURST)
		return false;
	if (!wire->rate_bps) {
		*start_ps = now_ps;
		return true;
	}
	uint64_t start = wire->busy_until_ps;
	uint64_t earliest = now_ps > wire->allowance_ps ? now_ps - wire->allowance_ps : 0;

	if (start > now_ps)
		return false;
	if (start < earliest)
		start = earliest;
	if (start < ready_ps)
		start = ready_ps;
	*start_ps = start;
	return start <= now_ps;
}

void wire_send(struct wire *wire, struct rte_mbuf *mbuf, uint64_t start_ps)
{
	wire->busy_until_ps = start_ps + wire_time_ps(wire, rte_pktmbuf_pkt_len(mbuf));
	frame_of(mbuf)->due_ps = wire->busy_until_ps + wire->delay_ps;
	if (unlikely(wire->tap))
		capture_frame(wire->tap, mbuf, start_ps, false);
	wire->batch[wire->batched++] = mbuf;
}

bool wire_flush(struct wire *wire)
{
	unsigned taken;

	if (!wire->batched)
		return true;
	if (wire->is_device)
		taken = wire->down ? 0 : rte_eth_tx_burst(wire->device, 0, wire->batch, (uint16_t)wire->batched);
	else
		taken = rte_ring_sp_enqueue_burst(wire->outbound, (void **)wire->batch, wire->batched, NULL);
	if (taken == wire->batched) {
		wire->batched = 0;
		return true;
	}
	count(wire->retries, 1);
	wire->batched -= taken;
	memmove(wire->batch, wire->batch + taken, wire->batched * sizeof(wire->batch[0]));
	return false;
}

/* Moves what the ring or the device has into the line of arriving frames. */
static void look_for_arrivals(struct wire *wire, uint64_t now_ps)
{
	struct rte_mbuf *found[WIRE_BURST];
	unsigned n;

	if (!wire->is_device) {
		n = rte_ring_sc_dequeue_burst(wire->inbound, (void **)found, WIRE_BURST, NULL);
	} else {
		n = rte_eth_rx_burst(wire->device, 0, found, WIRE_BURST);
		for (unsigned i = 0; i < n; i++) {
			frame_of(found[i])->due_ps = now_ps + wire->delay_ps;
			if (unlikely(wire->tap))
				capture_frame(wire->tap, found[i], now_ps, true);
		}
	}
	for (unsigned i = 0; i < n; i++)
		fifo_push(&wire->arriving, found[i]);
}

unsigned wire_receive(struct wire *wire, uint64_t now_ps, struct rte_mbuf **frames, unsigned most)
{
	unsigned n = 0;

	look_for_arrivals(wire, now_ps);
	while (n < most && wire->arriving.head && frame_of(wire->arriving.head)->due_ps <= now_ps)
		frames[n++] = fifo_pop(&wire->arriving);
	return n;
}

/* A device may be sent more while it is emptied. */
static unsigned drain_device(struct wire *wire)
{
	struct rte_mbuf *found[WIRE_BURST];
	unsigned n, drained = 0;

	while (drained < RING_FRAMES && (n = rte_eth_rx_burst(wire->device, 0, found, WIRE_BURST)) > 0) {
		rte_pktmbuf_free_bulk(found, n);
		drained += n;
	}
	return drained;
}

void wire_drain(struct wire *wire, unsigned *unsent, unsigned *undelivered)
{
	struct rte_mbuf *mbuf;
	void *entry;

	*unsent = wire->batched;
	*undelivered = wire->is_device ? drain_device(wire) : 0;
	rte_pktmbuf_free_bulk(wire->batch, wire->batched);
	wire->batched = 0;
	for (; (mbuf = fifo_pop(&wire->arriving)); ++*undelivered)
		rte_pktmbuf_free(mbuf);
	for (; wire->inbound && rte_ring_dequeue(wire->inbound, &entry) == 0; ++*undelivered)
		rte_pktmbuf_free(entry);
}

void wire_part(struct wire *one, struct wire *other)
{
	rte_ring_free(one->outbound);
	rte_ring_free(one->inbound);
	one->outbound = one->inbound = other->outbound = other->inbound = NULL;
}
