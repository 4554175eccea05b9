/* Shows the counters while the data plane runs, in a thread of its own: the live table, and HTTP for Prometheus.
 *
 * The server answers one request after the other on the loopback interface, reads at most 4 KiB of a request and gives a client two
 * seconds in all, and none when the program ends: it is for a scraper, not for the world. */
#ifndef BACKWATER_OBSERVER_H
#define BACKWATER_OBSERVER_H

#include <pthread.h>

#include "bed.h"

struct observer {
	struct bed *bed;
	pthread_t thread;
	int listener;
	bool live, running;
	volatile bool stop;
};

/* `port`: where to serve (0: any free one, told on stderr; negative: nowhere). `live`: print a table every second. False, with a
 * message on stderr, if the port cannot be had. */
bool observer_start(struct observer *observer, struct bed *bed, int port, bool live);

void observer_stop(struct observer *observer);

#endif
