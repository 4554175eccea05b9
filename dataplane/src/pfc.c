/* See pfc.h. */
#include "pfc.h"

#include <string.h>

#include "frame.h"

static const uint8_t PAUSE_ADDRESS[6] = { 0x01, 0x80, 0xC2, 0x00, 0x00, 0x01 };

bool pfc_arrive(struct pfc_ingress *ingress, const struct pfc_config *config, uint32_t bytes)
{
	ingress->bytes += bytes;
	if (ingress->holding || ingress->bytes <= config->xoff_bytes)
		return false;
	return ingress->holding = true;
}

bool pfc_depart(struct pfc_ingress *ingress, const struct pfc_config *config, uint32_t bytes)
{
	ingress->bytes -= bytes;
	if (!ingress->holding || ingress->bytes > config->xon_bytes)
		return false;
	ingress->holding = false;
	return true;
}

enum gate_change pfc_gate_pause(struct pfc_gate *gate, uint64_t now_ps, uint64_t lasts_ps)
{
	if (lasts_ps)
		gate->last_pause_ps = now_ps;
	if (gate->storm)
		return GATE_SAME;
	if (!lasts_ps) {
		if (!gate->closed)
			return GATE_SAME;
		gate->closed = false;
		return GATE_OPENED;
	}
	gate->opens_at_ps = now_ps + lasts_ps;
	if (gate->closed)
		return GATE_SAME;
	gate->closed = true;
	gate->closed_since_ps = now_ps;
	return GATE_CLOSED;
}

enum gate_change pfc_gate_expire(struct pfc_gate *gate, uint64_t now_ps)
{
	if (!gate->closed || now_ps < gate->opens_at_ps)
		return GATE_SAME;
	gate->closed = false;
	return GATE_OPENED;
}

enum storm_change pfc_watchdog(struct pfc_gate *gate, const struct pfc_config *config, uint64_t now_ps, bool waiting)
{
	if (gate->storm) {
		if (now_ps - gate->last_pause_ps < config->watchdog_restore_ps)
			return STORM_SAME;
		gate->storm = false;
		return STORM_ENDS;
	}
	if (!config->watchdog_detect_ps || !gate->closed || !waiting ||
	    now_ps - gate->closed_since_ps < config->watchdog_detect_ps)
		return STORM_SAME;
	gate->storm = true;
	gate->closed = false;
	return STORM_BEGINS;
}

static uint16_t word(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

bool pfc_read(const struct rte_mbuf *mbuf, struct pfc_message *message)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	/* Short of the padding, some devices deliver: what is meant must be there. The upper byte of the vector is reserved. */
	if (rte_pktmbuf_data_len(mbuf) < PFC_MEANT_BYTES || memcmp(bytes, PAUSE_ADDRESS, 6) != 0 || bytes[16] != 0)
		return false;
	message->vector = bytes[17];
	for (unsigned i = 0; i < PRIORITIES; i++)
		message->quanta[i] = word(bytes + 18 + 2 * i);
	return true;
}

void pfc_write(struct rte_mbuf *mbuf, const uint8_t source[6], const struct pfc_message *message)
{
	uint8_t *bytes = frame_blank(mbuf, LEAST_FRAME_BYTES);

	memcpy(bytes, PAUSE_ADDRESS, 6);
	memcpy(bytes + 6, source, 6);
	bytes[12] = 0x88;
	bytes[13] = 0x08;
	bytes[14] = PFC_OPCODE >> 8;
	bytes[15] = PFC_OPCODE & 0xFF;
	bytes[17] = message->vector;
	for (unsigned i = 0; i < PRIORITIES; i++) {
		bytes[18 + 2 * i] = (uint8_t)(message->quanta[i] >> 8);
		bytes[19 + 2 * i] = (uint8_t)message->quanta[i];
	}
}
