/* See options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

static const char USAGE[] =
	"usage: backwater-switch --config FILE [--duration TIME] [--clock step|clamp|lockstep|wall] [--seed N]\n"
	"                       [--stats json|live|none] [--prometheus PORT] [--capture FILE.pcapng]\n"
	"\n"
	"Runs the nodes of FILE (switches, senders, receivers) on DPDK, until TIME is over or SIGTERM or SIGINT comes.\n"
	"  --duration TIME     on the clock of FILE: 5s, 100ms, 20us; default: what FILE says\n"
	"  --clock KIND        another clock than FILE says\n"
	"  --seed N            another seed than FILE says\n"
	"  --stats json        one JSON object on stdout at the end\n"
	"  --stats live        a table of all ports on stdout every second\n"
	"  --prometheus PORT   serve the counters on http://127.0.0.1:PORT/metrics (0: any free port)\n"
	"  --capture FILE      write what is sent on every link as pcapng\n"
	"Exit codes: 0 done, 1 a bad file or command line, 2 the run failed, lost frames without a reason, or lost\n"
	"frames at a device of a lossless port.\n";

bool options_read_time(const char *text, uint64_t *ps)
{
	static const struct { const char *name; uint64_t ps; } UNITS[] = {
		{ "s", PS_PER_S }, { "ms", PS_PER_MS }, { "us", PS_PER_US }, { "ns", PS_PER_NS },
	};
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);

	for (unsigned i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
		/* 64 bits of picoseconds hold 18 million seconds. */
		if (strcmp(end, UNITS[i].name) != 0 || errno || number == 0 || number > UINT64_C(10000000) * PS_PER_S / UNITS[i].ps)
			continue;
		*ps = number * UNITS[i].ps;
		return true;
	}
	return false;
}

static bool read_port(const char *text, int *port)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number > 65535)
		return false;
	*port = (int)number;
	return true;
}

static bool read_stats(const char *text, struct options *options)
{
	options->json = strcmp(text, "json") == 0;
	options->live = strcmp(text, "live") == 0;
	return options->json || options->live || strcmp(text, "none") == 0;
}

static bool read_clock(const char *text, int *clock)
{
	static const char *const NAMES[] = { "step", "clamp", "lockstep", "wall" };

	for (int i = 0; i < 4; i++)
		if (strcmp(text, NAMES[i]) == 0) {
			*clock = i;
			return true;
		}
	return false;
}

static bool read_seed(const char *text, struct options *options)
{
	char *end;

	errno = 0;
	options->seed = strtoull(text, &end, 10);
	options->has_seed = *text >= '0' && *text <= '9' && !*end && !errno;
	return options->has_seed;
}

/* One option; NULL, or what is wrong with its value. */
static const char *take(struct options *options, int letter, const char *value)
{
	switch (letter) {
	case 'c': options->config = value; return NULL;
	case 'w': options->capture = value; return NULL;
	case 'd':
		return options_read_time(value, &options->duration_ps) ? NULL :
									 "--duration wants a time like 5s, 100ms or 20us, at most 10000000s";
	case 'k': return read_clock(value, &options->clock) ? NULL : "--clock is step, clamp, lockstep or wall";
	case 'n': return read_seed(value, options) ? NULL : "--seed wants a number from 0 to 18446744073709551615";
	case 's': return read_stats(value, options) ? NULL : "--stats is json, live or none";
	default: return read_port(value, &options->prometheus) ? NULL : "--prometheus wants a port from 0 to 65535";
	}
}

enum options_verdict options_read(struct options *options, int count, char **words)
{
	static const struct option LONG[] = {
		{ "config", required_argument, NULL, 'c' },	{ "duration", required_argument, NULL, 'd' },
		{ "stats", required_argument, NULL, 's' },	{ "prometheus", required_argument, NULL, 'p' },
		{ "capture", required_argument, NULL, 'w' },	{ "clock", required_argument, NULL, 'k' },
		{ "seed", required_argument, NULL, 'n' },	{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *wrong = NULL;
	int letter;

	*options = (struct options){ .prometheus = -1, .clock = -1 };
	while ((letter = getopt_long(count, words, "", LONG, NULL)) != -1) {
		if (letter == 'h') {
			fputs(USAGE, stdout);
			return OPTIONS_HELP;
		}
		if (letter == '?') {
			fputs(USAGE, stderr);
			return OPTIONS_BAD;
		}
		wrong = take(options, letter, optarg);
		if (wrong) {
			fprintf(stderr, "backwater-switch: %s, not `%s`\n", wrong, optarg);
			return OPTIONS_BAD;
		}
	}
	if (!wrong && optind < count)
		wrong = "there are words that belong to no option";
	if (!wrong && !options->config)
		wrong = "--config FILE is missing";
	if (!wrong)
		return OPTIONS_GOOD;
	fprintf(stderr, "backwater-switch: %s\n%s", wrong, USAGE);
	return OPTIONS_BAD;
}
