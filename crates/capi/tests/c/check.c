/* Uses every part of backwater.h as a data plane would. Exit code 0 if all holds; else the line that does not. */
#include <stdio.h>
#include <string.h>

#include "backwater.h"

_Static_assert(sizeof(struct bw_registers) == 32, "one egress port and priority");
_Static_assert(sizeof(struct bw_detector) == 128, "parameters");

#define HOLDS(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); return 1; } } while (0)
#define US UINT64_C(1000000)

static int detector(void)
{
	/* TCD with K a step at 200 KB, max(Ton) = T = 870 us. */
	struct bw_detector_config config = {
		.kind = BW_DETECTOR_KIND_TCD, .trend = BW_TREND_RISE, .kmin_bytes = 200000, .kmax_bytes = 200000, .pmax = 1.0,
		.max_ton_ps = 870 * US, .period_ps = 870 * US, .low_bytes = 1058, .delta_bytes = 2116, .clock_ps = 1,
	};
	struct bw_detector tcd;
	struct bw_registers registers = { { 0 } };
	struct bw_departure departure = { .now_ps = 1 * US, .queue_bytes = 1000, .size_bytes = 1058, .code = BW_CODE_CAPABLE };
	uint64_t random = 1;
	uint8_t state = 9;
	char why[200];

	HOLDS(bw_detector_init(&tcd, &config, why, sizeof(why)));
	/* A port that was never held back marks by the length of its queue. */
	HOLDS(bw_detector_on_dequeue(&tcd, &registers, &departure, &random, &state) == BW_CODE_CAPABLE);
	HOLDS(state == BW_PORT_STATE_NON_CONGESTION);
	departure.queue_bytes = 200001;
	HOLDS(bw_detector_on_dequeue(&tcd, &registers, &departure, &random, &state) == BW_CODE_CONGESTION);
	HOLDS(state == BW_PORT_STATE_CONGESTION);
	/* Within max(Ton) of the end of an OFF period it is undetermined, whatever its queue. */
	bw_detector_on_resume(&tcd, &registers, 10 * US, 300000, 300);
	departure.now_ps = 879 * US;
	HOLDS(bw_detector_on_dequeue(&tcd, &registers, &departure, &random, &state) == BW_CODE_UNDETERMINED);
	HOLDS(state == BW_PORT_STATE_UNDETERMINED);
	departure.code = BW_CODE_NOT_CAPABLE;
	HOLDS(bw_detector_on_dequeue(&tcd, &registers, &departure, &random, NULL) == BW_CODE_NOT_CAPABLE);
	departure.now_ps = 880 * US;
	bw_detector_on_dequeue(&tcd, &registers, &departure, &random, &state);
	HOLDS(state == BW_PORT_STATE_JUDGING);
	config.max_ton_ps = 0;
	HOLDS(!bw_detector_init(&tcd, &config, why, sizeof(why)));
	HOLDS(strcmp(why, "max-ton = 0ps: must be longer than 0ps; leave it out to have it computed") == 0);
	config.kind = 7;
	HOLDS(!bw_detector_init(&tcd, &config, why, 5) && strlen(why) == 4);
	return 0;
}

static int pfc(void)
{
	/* 65535 quanta of 512 bit at 10 Gbps. */
	struct bw_pfc_config config = { .xoff_bytes = 800000, .xon_bytes = 770000, .pause_quanta = 65535, .pause_ps = bw_pfc_quanta_ps(10000000000, 65535) };
	struct bw_pfc_ingress ingress = { 0 };
	struct bw_pfc_gate gate = { 0 };

	HOLDS(config.pause_ps == UINT64_C(3355392000));
	HOLDS(bw_pfc_check(&config, NULL, 0));
	HOLDS(bw_pfc_on_arrival(&ingress, &config, 0, 800000) == BW_PFC_DECISION_NOTHING);
	HOLDS(bw_pfc_on_arrival(&ingress, &config, 0, 1) == BW_PFC_DECISION_PAUSE);
	HOLDS(bw_pfc_on_time(&ingress, &config, config.pause_ps / 2) == BW_PFC_DECISION_PAUSE);
	HOLDS(bw_pfc_on_departure(&ingress, &config, 30001) == BW_PFC_DECISION_RESUME);
	HOLDS(bw_pfc_gate_on_pause(&gate, 5, config.pause_ps) == BW_GATE_CHANGE_CLOSED && gate.closed);
	HOLDS(bw_pfc_gate_on_time(&gate, config.pause_ps) == BW_GATE_CHANGE_SAME);
	HOLDS(bw_pfc_gate_on_time(&gate, config.pause_ps + 5) == BW_GATE_CHANGE_OPENED && !gate.closed);
	return 0;
}

static int credits(void)
{
	struct bw_credit_lane lane;
	char why[200];

	HOLDS(!bw_credit_init(&lane, 65, 800000, 800000, why, sizeof(why)));
	HOLDS(bw_credit_init(&lane, 64, 800000, 800000, NULL, 0));
	HOLDS(lane.limit == 12500 && bw_credit_fits(&lane, 800000) && !bw_credit_fits(&lane, 800001));
	bw_credit_on_sent(&lane, 1058);
	HOLDS(lane.sent == 17);
	HOLDS(bw_credit_on_arrival(&lane, 64) && bw_credit_granted(&lane) == 12500);
	bw_credit_on_departure(&lane, 64);
	HOLDS(bw_credit_granted(&lane) == 12501);
	HOLDS(bw_credit_on_message(&lane, 1, 12518) == BW_CREDIT_VERDICT_FUTURE && lane.limit == 12500);
	HOLDS(bw_credit_on_message(&lane, 1, 12517) == BW_CREDIT_VERDICT_FINE && lane.limit == 12517);
	return 0;
}

static int frames(void)
{
	static const uint8_t source[6] = { 2, 0, 0, 0, 0, 1 };
	struct bw_pfc_frame pfc = { .enabled = 8, .quanta = { [3] = 65535 } };
	struct bw_roce_frame roce = { .destination = { 2, 0, 0, 0, 0, 2 }, .source = { 2, 0, 0, 0, 0, 1 }, .source_ip = { 10, 0, 0, 1 },
		.destination_ip = { 10, 0, 0, 2 }, .destination_qp = 16, .psn = 7, .udp_source = 0xC000, .pkey = 0xFFFF, .dscp = 24,
		.code = BW_CODE_CAPABLE, .ttl = 64, .opcode = BW_OPCODE_SEND_ONLY };
	struct bw_frame frame;
	uint8_t buffer[2048];
	char why[200];

	HOLDS(bw_pfc_frame_write(buffer, 59, source, &pfc) == 0);
	HOLDS(bw_pfc_frame_write(buffer, sizeof(buffer), source, &pfc) == BW_LEAST_FRAME);
	HOLDS(bw_frame_parse(buffer, 60, &frame, NULL, 0) && frame.kind == BW_FRAME_KIND_PFC && frame.pfc.quanta[3] == 65535);
	buffer[15] = 2;
	HOLDS(!bw_frame_parse(buffer, 60, &frame, why, sizeof(why)));
	HOLDS(strcmp(why, "MAC control opcode is 0x102, expected 0x0001 (PAUSE) or 0x0101 (PFC)") == 0);
	size_t length = bw_roce_frame_write(buffer, sizeof(buffer), &roce, NULL, 1000);
	HOLDS(length == 14 + 20 + 8 + 12 + 1000 + 4 && bw_roce_icrc_good(buffer, length));
	HOLDS(bw_frame_set_code(buffer + 14, 20, BW_CODE_UNDETERMINED));
	HOLDS(bw_frame_parse(buffer, length, &frame, NULL, 0) && frame.roce.code == BW_CODE_UNDETERMINED && frame.payload_bytes == 1000);
	HOLDS(bw_roce_icrc_good(buffer, length));
	buffer[100] ^= 1;
	HOLDS(!bw_roce_icrc_good(buffer, length));
	HOLDS(bw_frame_describe(buffer, 3, why, sizeof(why)) == strlen("the Ethernet header is too short: 3 B, at least 14 B are needed"));
	return 0;
}

static int testbed(const char *path, const char *narrow)
{
	struct bw_testbed *bed = NULL;
	char why[4096];

	HOLDS(!bw_testbed_parse("/nonexistent/bed.toml", &bed, why, sizeof(why)) && !bed && strstr(why, "cannot be read"));
	if (!bw_testbed_parse(path, &bed, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	HOLDS(why[0] == 0);
	HOLDS(bed->node_count == 7 && bed->port_count == 12 && bed->flow_count == 3);
	HOLDS(bed->ports[bed->ports[0].peer].peer == 0);
	for (uint32_t i = 0; i < bed->node_count; i++)
		if (bed->nodes[i].kind == BW_NODE_KIND_SWITCH)
			HOLDS(bed->nodes[i].detector.max_ton_ps == 870 * US);
	bw_testbed_free(bed);
	bw_testbed_free(NULL);
	/* Warnings are no errors. */
	HOLDS(bw_testbed_parse(narrow, &bed, why, sizeof(why)) && strstr(why, ": warning: flow-control.buffer = \"8KB\" is below"));
	bw_testbed_free(bed);
	return 0;
}

int main(int count, char **words)
{
	return count != 3 || detector() || pfc() || credits() || frames() || testbed(words[1], words[2]);
}
