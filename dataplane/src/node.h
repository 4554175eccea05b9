/* A node of the graph: a switch, a sender, a receiver. One thread visits all nodes in turn and tells each what time it is; a
 * visit takes in what has arrived, moves what can be moved, and returns. Nothing in it waits, allocates or locks.
 *
 * A new kind of node is one file that fills in `struct node` and an entry in the table of kinds (bed.c). */
#ifndef BACKWATER_NODE_H
#define BACKWATER_NODE_H

#include <stdint.h>

#include "tell.h"

struct node;
struct port;

struct node_ops {
	/* One visit; returns how many frames were moved (0: idle). */
	unsigned (*poll)(struct node *node, uint64_t now_ps);
	/* The numbers that this kind has beside those of its ports. */
	void (*tell)(const struct node *node, struct teller *teller);
	/* Frees what the node holds, frames first; ports are closed by the graph. May be NULL. */
	void (*close)(struct node *node);
};

struct node {
	const char *name, *kind;
	const struct node_ops *ops;
	struct port *ports;
	unsigned port_count;
	/* The balance of its counters when it was last added up (balance.h). */
	int64_t unaccounted_frames;
};

/* The name under which it is told. */
#define NODE_UNACCOUNTED "unaccounted_frames"

#define GRAPH_NODES_MOST 64

/* The nodes of this process, in the order in which they are visited. */
struct graph {
	struct node *nodes[GRAPH_NODES_MOST];
	unsigned node_count;
};

#endif
