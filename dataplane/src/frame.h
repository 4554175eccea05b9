/* What the data plane remembers about a frame, beside the frame: the private area of its mbuf. */
#ifndef BACKWATER_FRAME_H
#define BACKWATER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#define ETHERTYPE_MAC_CONTROL 0x8808
/* IEEE Std 802 local experimental EtherType 1: credit messages. */
#define ETHERTYPE_CREDIT 0x88B5

struct port;

struct frame {
	/* When its last bit has arrived at the far end of the link. */
	uint64_t due_ps;
	/* The next of the same queue. */
	struct rte_mbuf *next;
	/* The port whose ingress buffer it occupies; NULL if this node made it. */
	struct port *in;
	/* A flooded copy: the frame whose place in the ingress buffer it shares with the other copies; else NULL. That frame is not
	 * sent, and has `sharers`. */
	struct rte_mbuf *shared;
	/* Bytes (credits: units) that it occupies there. */
	uint32_t charged;
	/* Where the IP header starts; 0 if it is no IP packet. */
	uint16_t ip_offset;
	uint16_t ethertype;
	uint8_t priority;
	bool ipv6;
	/* Of the port whose ingress buffer it occupies, when it came in. */
	uint16_t epoch;
	uint16_t sharers;
};

static inline struct frame *frame_of(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

/* Reads the Ethernet and IP headers into `frame`: EtherType behind at most two VLAN tags, priority (PCP of the outer tag, else
 * the IP class selector, else 0), place of the IP header. False if the frame is shorter than its own headers. */
bool frame_read(struct rte_mbuf *mbuf, struct frame *frame);

/* The two ECN bits, which are the code point of TCD (01 capable, 10 UE, 11 CE); 0 for what is no IP packet. */
uint8_t frame_code_point(const struct rte_mbuf *mbuf, const struct frame *frame);

/* Writes them; the IPv4 header checksum follows (RFC 1624). Only for IP packets. */
void frame_set_code_point(struct rte_mbuf *mbuf, const struct frame *frame, uint8_t code);

/* A pool of `count` frames of up to `data_bytes` each; NULL if there is no memory. Every node's frames come from such a pool. */
struct rte_mempool *frame_pool(const char *name, unsigned count, unsigned data_bytes);

/* Gives an empty mbuf a frame of so many zero bytes, and returns them. Any frame of a pool holds FRAME_LEAST_ROOM_BYTES. */
#define FRAME_LEAST_ROOM_BYTES 256
uint8_t *frame_blank(struct rte_mbuf *mbuf, uint16_t bytes);

/* A first-in first-out queue that is linked through the frames: no room to reserve, nothing to allocate. */
struct fifo {
	struct rte_mbuf *head, *tail;
};

static inline void fifo_push(struct fifo *fifo, struct rte_mbuf *mbuf)
{
	frame_of(mbuf)->next = NULL;
	if (fifo->head)
		frame_of(fifo->tail)->next = mbuf;
	else
		fifo->head = mbuf;
	fifo->tail = mbuf;
}

static inline struct rte_mbuf *fifo_pop(struct fifo *fifo)
{
	struct rte_mbuf *mbuf = fifo->head;

	if (mbuf)
		fifo->head = frame_of(mbuf)->next;
	return mbuf;
}

#endif
