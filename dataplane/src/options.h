/* The command line of backwater-switch. */
#ifndef BACKWATER_OPTIONS_H
#define BACKWATER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
	const char *config, *capture;
	/* 0: what the configuration says. */
	uint64_t duration_ps;
	/* Negative: what the configuration says. */
	int clock;
	bool has_seed;
	uint64_t seed;
	bool json, live;
	/* Negative: none. */
	int prometheus;
};

enum options_verdict { OPTIONS_GOOD, OPTIONS_HELP, OPTIONS_BAD };

/* What is wrong goes to stderr. */
enum options_verdict options_read(struct options *options, int count, char **words);

/* "5s", "100ms", "20us", "30ns": a whole number and a unit. False if it is none, zero, or longer than 10 000 000 s. */
bool options_read_time(const char *text, uint64_t *ps);

#endif
