/* See capture.h. */
#include "capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_HEADER 0x0A0D0D0Au
#define INTERFACE_DESCRIPTION 1u
#define ENHANCED_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1A2B3C4Du
#define LINKTYPE_ETHERNET 1
/* Of no length: four octets of zero. */
#define OPTION_END 0
#define OPTION_IF_NAME 2
#define OPTION_IF_SPEED 8
#define OPTION_IF_TSRESOL 9
#define OPTION_SHB_APPLICATION 4
#define OPTION_EPB_FLAGS 2
#define INBOUND 1u
#define OUTBOUND 2u
#define BUFFER_BYTES (1u << 20)

/* All that a bed can have: each port is at an end of a link, or on a device. */
#define INTERFACES_MOST (2 * BED_LINKS_MOST + BED_DEVICES_MOST)

struct capture {
	FILE *out;
	uint32_t snap_bytes;
	uint64_t frames;
	int error;
	unsigned interface_count;
	struct capture_interface interfaces[INTERFACES_MOST];
};

/* A block in the making; large enough for all but packets, whose bytes go directly into the file. */
struct block {
	uint8_t bytes[256];
	uint32_t length;
};

static void add(struct block *block, const void *bytes, uint32_t count)
{
	memcpy(block->bytes + block->length, bytes, count);
	block->length += count;
}

static void add32(struct block *block, uint32_t value)
{
	add(block, &value, sizeof(value));
}

static void pad(struct block *block)
{
	while (block->length % 4)
		block->bytes[block->length++] = 0;
}

static void add_option(struct block *block, uint16_t code, const void *value, uint16_t length)
{
	add(block, &code, sizeof(code));
	add(block, &length, sizeof(length));
	add(block, value, length);
	pad(block);
}

static void write_out(struct capture *capture, const void *bytes, size_t count)
{
	if (!capture->error && fwrite(bytes, 1, count, capture->out) != count)
		capture->error = errno ? errno : EIO;
}

/* Type, length, body, length. */
static void write_block(struct capture *capture, uint32_t type, const struct block *body)
{
	uint32_t head[2] = { type, body->length + 12 };

	write_out(capture, head, sizeof(head));
	write_out(capture, body->bytes, body->length);
	write_out(capture, &head[1], sizeof(head[1]));
}

static void write_section(struct capture *capture)
{
	static const char APPLICATION[] = "backwater-switch";
	const uint16_t version[2] = { 1, 0 };
	struct block body = { .length = 0 };

	add32(&body, BYTE_ORDER_MAGIC);
	add(&body, version, sizeof(version));
	/* Length of the section: not known. */
	add32(&body, UINT32_MAX);
	add32(&body, UINT32_MAX);
	add_option(&body, OPTION_SHB_APPLICATION, APPLICATION, sizeof(APPLICATION) - 1);
	add32(&body, OPTION_END);
	write_block(capture, SECTION_HEADER, &body);
}

struct capture *capture_open(const char *path, uint32_t snap_bytes)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->out = fopen(path, "wb");
	if (!capture->out) {
		free(capture);
		return NULL;
	}
	setvbuf(capture->out, NULL, _IOFBF, BUFFER_BYTES);
	capture->snap_bytes = snap_bytes;
	write_section(capture);
	return capture;
}

struct capture_interface *capture_add(struct capture *capture, const char *name, uint64_t rate_bps)
{
	/* 10^-9 s. */
	const uint8_t resolution = 9;
	const uint16_t head[2] = { LINKTYPE_ETHERNET, 0 };
	struct block body = { .length = 0 };
	size_t length = strlen(name);

	if (capture->interface_count == INTERFACES_MOST)
		return NULL;
	add(&body, head, sizeof(head));
	add32(&body, capture->snap_bytes);
	add_option(&body, OPTION_IF_NAME, name, (uint16_t)(length < 128 ? length : 128));
	if (rate_bps)
		add_option(&body, OPTION_IF_SPEED, &rate_bps, sizeof(rate_bps));
	add_option(&body, OPTION_IF_TSRESOL, &resolution, sizeof(resolution));
	add32(&body, OPTION_END);
	write_block(capture, INTERFACE_DESCRIPTION, &body);
	struct capture_interface *made = &capture->interfaces[capture->interface_count];

	*made = (struct capture_interface){ .file = capture, .number = capture->interface_count++ };
	return made;
}

bool capture_bed(struct capture *capture, struct bed *bed)
{
	for (unsigned i = 0; i < bed->graph.node_count; i++) {
		struct node *node = bed->graph.nodes[i];

		for (unsigned j = 0; j < node->port_count; j++) {
			struct port *port = &node->ports[j];
			char name[96];

			snprintf(name, sizeof(name), "%s %s", node->name, port->config.name);
			port->wire.tap = capture_add(capture, name, port->config.rate_bps);
			if (!port->wire.tap)
				return false;
		}
	}
	return true;
}

/* The first `count` bytes of a frame, which may lie in several segments. */
static void write_data(struct capture *capture, const struct rte_mbuf *mbuf, uint32_t count)
{
	for (; mbuf && count; mbuf = mbuf->next) {
		uint32_t part = mbuf->data_len < count ? mbuf->data_len : count;

		write_out(capture, rte_pktmbuf_mtod(mbuf, const void *), part);
		count -= part;
	}
}

void capture_frame(const struct capture_interface *interface, const struct rte_mbuf *mbuf, uint64_t start_ps, bool inbound)
{
	static const uint8_t ZEROES[4];
	struct capture *capture = interface->file;
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	uint32_t kept = capture->snap_bytes && capture->snap_bytes < length ? capture->snap_bytes : length;
	uint32_t padding = -kept & 3;
	uint64_t stamp_ns = start_ps / PS_PER_NS;
	const uint32_t flags = inbound ? INBOUND : OUTBOUND;
	struct block options = { .length = 0 };

	add_option(&options, OPTION_EPB_FLAGS, &flags, sizeof(flags));
	add32(&options, OPTION_END);
	uint32_t total = 32 + kept + padding + options.length;
	const uint32_t head[] = {
		ENHANCED_PACKET, total, interface->number, (uint32_t)(stamp_ns >> 32), (uint32_t)stamp_ns, kept, length,
	};

	write_out(capture, head, sizeof(head));
	write_data(capture, mbuf, kept);
	write_out(capture, ZEROES, padding);
	write_out(capture, options.bytes, options.length);
	write_out(capture, &total, sizeof(total));
	capture->frames += !capture->error;
}

int capture_close(struct capture *capture, uint64_t *frames)
{
	int error = capture->error;

	if (fclose(capture->out) && !error)
		error = errno;
	*frames = capture->frames;
	free(capture);
	return -error;
}
