/* See lab.h. */
#include "lab.h"

#include <string.h>

#include "balance.h"
#include "device.h"

void lab_open(void)
{
	CHECK(device_start_dpdk("test", false, 96));
}

struct port_config lab_port(void)
{
	return (struct port_config){
		.flow_control = FLOW_PFC,
		.lossless = 0xFF,
		.rate_bps = LAB_RATE,
		.delay_ps = LAB_DELAY_PS,
		.pfc = { .xoff_bytes = 8000, .xon_bytes = 5000, .pause_quanta = 65535 },
		.credits = { .period_ps = 60 * PS_PER_US, .phase_ps = 60 * PS_PER_US, .buffer_bytes = 3200, .peer_buffer_bytes = 3200 },
	};
}

void lab_make(struct lab *lab, const struct port_config *ports, bool learning)
{
	struct switch_config config = { .name = "T0", .learning = learning, .port_count = LAB_PORTS, .ports = ports };

	memset(lab, 0, sizeof(*lab));
	lab->frames = 1023;
	lab->pool = frame_pool("lab", lab->frames, 2048);
	CHECK(lab->pool);
	lab->bridge = switch_make(&config, lab->pool, 1);
	CHECK(lab->bridge);
	lab->ports = lab->bridge->node.ports;
	for (unsigned i = 0; i < LAB_PORTS; i++) {
		char name[8] = { 'w', (char)('0' + i), 0 };

		wire_init(&lab->ends[i], LAB_RATE, LAB_DELAY_PS, 0, &lab->retries);
		CHECK_EQ(wire_join(&lab->ends[i], &lab->ports[i].wire, name), 0);
		if (!learning)
			CHECK(l2_fix(&lab->bridge->table, UINT64_C(0x020000000000) + i, (uint16_t)i));
	}
}

struct rte_mbuf *lab_frame(struct lab *lab, unsigned to, unsigned priority, uint16_t bytes)
{
	static const uint8_t IPV4[20] = { 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab->pool);

	if (!mbuf)
		return NULL;
	uint8_t *frame = frame_blank(mbuf, bytes);

	frame[0] = frame[6] = 0x02;
	frame[5] = (uint8_t)to;
	frame[11] = 0xEE;
	frame[12] = 0x08;
	memcpy(frame + 14, IPV4, sizeof(IPV4));
	frame[15] = (uint8_t)(priority << 5 | 1);
	return mbuf;
}

void lab_send(struct lab *lab, unsigned port, struct rte_mbuf *mbuf, uint64_t at_ps)
{
	struct wire *end = &lab->ends[port];

	CHECK(mbuf);
	wire_send(end, mbuf, end->busy_until_ps > at_ps ? end->busy_until_ps : at_ps);
	CHECK(wire_flush(end));
}

void lab_pause(struct lab *lab, unsigned port, unsigned priority, uint16_t quanta, uint64_t at_ps)
{
	static const uint8_t MAC[6] = { 2, 0, 0, 0, 0, 9 };
	struct bw_pfc_frame message = { .enabled = (uint8_t)(1 << priority) };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(lab->pool);

	CHECK(mbuf);
	message.quanta[priority] = quanta;
	bw_pfc_frame_write(frame_blank(mbuf, BW_LEAST_FRAME), BW_LEAST_FRAME, MAC, &message);
	lab_send(lab, port, mbuf, at_ps);
}

void lab_run(struct lab *lab, uint64_t until_ps)
{
	while (lab->now_ps < until_ps)
		lab->bridge->node.ops->poll(&lab->bridge->node, lab->now_ps += LAB_STEP_PS);
}

struct rte_mbuf *lab_next(struct lab *lab, unsigned port, uint64_t *sent_ps)
{
	struct wire *end = &lab->ends[port];
	struct rte_mbuf *mbuf;

	if (!wire_receive(end, lab->now_ps, &mbuf, 1))
		return NULL;
	*sent_ps = frame_of(mbuf)->due_ps - LAB_DELAY_PS - wire_time_ps(end, rte_pktmbuf_pkt_len(mbuf));
	return mbuf;
}

void lab_close(struct lab *lab)
{
	for (unsigned i = 0; i < LAB_PORTS; i++)
		port_drain(&lab->ports[i]);
	CHECK_EQ(node_balance(&lab->bridge->node), 0);
	for (unsigned i = 0; i < LAB_PORTS; i++) {
		unsigned unsent, undelivered;

		wire_drain(&lab->ends[i], &unsent, &undelivered);
		wire_part(&lab->ends[i], &lab->ports[i].wire);
	}
	CHECK_EQ(rte_mempool_in_use_count(lab->pool), 0);
	lab->bridge->node.ops->close(&lab->bridge->node);
	rte_mempool_free(lab->pool);
}
