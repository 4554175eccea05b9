/* See observer.h. */
#include "observer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stats.h"

#define REQUEST_BYTES 4096
#define CLIENT_MS 2000
#define TICK_MS 100
#define TICKS_PER_TABLE 10

/* A client, and how long it is borne. */
struct visit {
	int client;
	uint64_t until_ms;
	const volatile bool *stop;
};

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Waits until the client can be read from or written to; false if it takes too long in all, or the program ends. Who can be answered at
 * once is answered even then: he is told what was wrong. */
static bool is_ready(const struct visit *visit, short events)
{
	struct pollfd waiting = { .fd = visit->client, .events = events };

	while (!*visit->stop && clock_ms() < visit->until_ms)
		if (poll(&waiting, 1, TICK_MS) > 0)
			return true;
	return events == POLLOUT && poll(&waiting, 1, 0) > 0;
}

static void send_all(const struct visit *visit, const char *bytes, size_t left)
{
	while (left && is_ready(visit, POLLOUT)) {
		ssize_t sent = send(visit->client, bytes, left, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			return;
		if (sent > 0) {
			bytes += sent;
			left -= (size_t)sent;
		}
	}
}

static void respond(const struct visit *visit, const char *status, const char *type, const char *body, size_t length, bool with_body)
{
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status, type, length);

	send_all(visit, head, (size_t)n);
	if (with_body)
		send_all(visit, body, length);
}

/* The first line and the headers, as far as they come. False if the client is too slow or says too much. */
static bool read_request(const struct visit *visit, char *request)
{
	size_t got = 0;

	while (got < REQUEST_BYTES && is_ready(visit, POLLIN)) {
		ssize_t n = recv(visit->client, request + got, REQUEST_BYTES - got, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
		request[got] = '\0';
		if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
			return true;
	}
	return false;
}

static void metrics(struct bed *bed, const struct visit *visit, bool with_body)
{
	char *body = NULL;
	size_t length = 0;
	FILE *text = open_memstream(&body, &length);

	if (!text)
		return;
	bed_read_devices(bed);
	stats_prometheus(text, bed);
	fclose(text);
	respond(visit, "200 OK", "text/plain; version=0.0.4; charset=utf-8", body, length, with_body);
	free(body);
}

static void answer(struct bed *bed, const struct visit *visit)
{
	static const char HINT[] = "The counters are at /metrics.\n";
	static const char PLAIN[] = "text/plain; charset=utf-8";
	char request[REQUEST_BYTES + 1];
	char method[8] = "", path[64] = "";

	if (!read_request(visit, request) || sscanf(request, "%7s %63s HTTP/1.", method, path) != 2) {
		respond(visit, "400 Bad Request", PLAIN, HINT, sizeof(HINT) - 1, true);
		return;
	}
	bool is_head = strcmp(method, "HEAD") == 0;

	if (!is_head && strcmp(method, "GET") != 0)
		respond(visit, "405 Method Not Allowed\r\nAllow: GET, HEAD", PLAIN, HINT, sizeof(HINT) - 1, true);
	else if (strcmp(path, "/metrics") != 0)
		respond(visit, "404 Not Found", PLAIN, HINT, sizeof(HINT) - 1, !is_head);
	else
		metrics(bed, visit, !is_head);
}

static void *observe(void *argument)
{
	struct observer *observer = argument;

	for (unsigned tick = 1; !observer->stop; tick++) {
		struct pollfd waiting = { .fd = observer->listener, .events = POLLIN };

		/* A negative descriptor is ignored: then this is a sleep. */
		if (poll(&waiting, 1, TICK_MS) > 0 && waiting.revents & POLLIN) {
			int client = accept4(observer->listener, NULL, NULL, SOCK_CLOEXEC);

			if (client >= 0) {
				answer(observer->bed, &(struct visit){ client, clock_ms() + CLIENT_MS, &observer->stop });
				close(client);
			}
			tick--;
			continue;
		}
		if (observer->live && tick % TICKS_PER_TABLE == 0) {
			bed_read_devices(observer->bed);
			stats_table(stdout, observer->bed);
		}
	}
	return NULL;
}

static int open_listener(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t length = sizeof(address);
	int yes = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	    bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 8) == 0 &&
	    getsockname(listener, (struct sockaddr *)&address, &length) == 0) {
		fprintf(stderr, "metrics on http://127.0.0.1:%u/metrics\n", ntohs(address.sin_port));
		return listener;
	}
	fprintf(stderr, "cannot serve metrics on port %d: %s; choose another one, or 0 for any that is free\n", port, strerror(errno));
	if (listener >= 0)
		close(listener);
	return -1;
}

bool observer_start(struct observer *observer, struct bed *bed, int port, bool live)
{
	*observer = (struct observer){ .bed = bed, .listener = -1, .live = live };
	if (port >= 0) {
		observer->listener = open_listener(port);
		if (observer->listener < 0)
			return false;
	}
	if (port < 0 && !live)
		return true;
	observer->running = pthread_create(&observer->thread, NULL, observe, observer) == 0;
	return observer->running;
}

void observer_stop(struct observer *observer)
{
	if (observer->running) {
		observer->stop = true;
		pthread_join(observer->thread, NULL);
	}
	if (observer->listener >= 0)
		close(observer->listener);
	*observer = (struct observer){ .listener = -1 };
}
