/* backwater-switch: reads a configuration, builds its nodes, runs them, says what happened. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "capture.h"
#include "device.h"
#include "observer.h"
#include "options.h"
#include "stats.h"

#define EXIT_BAD_INPUT 1
#define EXIT_FAILED_RUN 2

static struct bed bed;

static void on_signal(int number)
{
	(void)number;
	bed.stop = true;
}

static void listen_to_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Frames that came in and are neither sent, dropped for a reason, nor queued: a bug, and never silent. */
static bool all_accounted_for(void)
{
	bool good = bed.leaked_frames == 0;

	if (!good)
		fprintf(stderr, "%u frames were never freed\n", bed.leaked_frames);
	for (unsigned i = 0; i < bed.graph.node_count; i++) {
		const struct node *node = bed.graph.nodes[i];

		if (node->unaccounted_frames)
			fprintf(stderr, "%s: %ld frames are not accounted for\n", node->name, (long)node->unaccounted_frames);
	}
	if (bed.unaccounted_frames)
		fprintf(stderr, "%ld frames of nodes and links are not accounted for\n", (long)bed.unaccounted_frames);
	good = good && bed.unaccounted_frames == 0;
	return good;
}

/* A fabric that is to lose nothing, and a device that did. Where a link went down that is no news. */
static bool devices_lost_nothing(void)
{
	bool good = true;

	for (unsigned i = 0; i < bed.device_count; i++) {
		const struct port *port = bed.devices[i];
		const struct port_counters *c = &port->count;
		bool lossless = port->flow_control != FLOW_NONE && port->config.lossless;

		if (!lossless || port_lost_at_device(port) == 0)
			continue;
		fprintf(stderr, "port %s: its device lost %lu frames (%lu missed, %lu errors coming in, %lu going out), and its fabric is to lose none%s\n",
			port->config.name, port_lost_at_device(port), c->device_missed, c->device_rx_errors, c->device_tx_errors,
			c->link_downs ? ": its link went down" :
			c->device_missed ? ": give it more packet buffers (run.frames), or a lower xoff" : "");
		good = good && c->link_downs > 0;
	}
	return good;
}

static void warn_if_disturbed(void)
{
	if (bed.clock.kind == CLOCK_WALL && bed.clock.gaps)
		fprintf(stderr, "the machine disturbed this run: %lu gaps, the longest %.3f ms; do not count it\n", bed.clock.gaps,
			(double)bed.clock.worst_gap_ps / 1e9);
	if (bed.lockstep.lost)
		fprintf(stderr, "%u processes of the lockstep were killed\n", bed.lockstep.lost);
}

static bool run(const struct options *options, struct observer *observer, struct capture *capture, unsigned link_timeout_ms)
{
	if (capture && !capture_bed(capture, &bed)) {
		fprintf(stderr, "--capture: more ports than a capture has places for\n");
		return false;
	}
	if (!observer_start(observer, &bed, options->prometheus, options->live))
		return false;
	if (!bed_wait(&bed, link_timeout_ms))
		return false;
	fprintf(stderr, "running %u nodes\n", bed.graph.node_count);
	bed_run(&bed);
	return true;
}

/* Also after a run that failed: what was captured until then is whole. */
static bool end_capture(struct capture *capture, const char *path)
{
	uint64_t captured;
	int error = capture ? capture_close(capture, &captured) : 0;

	if (error)
		fprintf(stderr, "%s: %s after %lu frames\n", path, strerror(-error), captured);
	return error == 0;
}

static int build_and_run(const struct options *options, const struct bw_testbed *config)
{
	struct capture *capture = NULL;
	struct observer observer = { .listener = -1 };
	struct plan plan;
	bool good;

	if (options->capture && !(capture = capture_open(options->capture, 0))) {
		fprintf(stderr, "%s: %s\n", options->capture, strerror(errno));
		return EXIT_BAD_INPUT;
	}
	good = plan_build(&plan, &bed, config);
	good = good && run(options, &observer, capture, config->link_timeout_ms);
	observer_stop(&observer);
	good = end_capture(capture, options->capture) && good;
	bed_stop(&bed);
	good = all_accounted_for() && good;
	good = devices_lost_nothing() && good;
	if (options->json)
		stats_json(stdout, &bed);
	if (options->live)
		stats_table(stdout, &bed);
	warn_if_disturbed();
	bed_close(&bed);
	plan_free(&plan);
	return good ? 0 : EXIT_FAILED_RUN;
}

/* What the command line says wins over the file. */
static struct bw_testbed with_options(const struct bw_testbed *file, const struct options *options)
{
	struct bw_testbed config = *file;

	if (options->duration_ps)
		config.duration_ps = options->duration_ps;
	if (options->has_seed)
		config.seed = options->seed;
	if (options->clock >= 0 && (uint32_t)options->clock != config.clock) {
		config.clock = (uint32_t)options->clock;
		config.clock_cap_ps = 0;
	}
	return config;
}

int main(int count, char **words)
{
	struct options options;
	struct bw_testbed *file = NULL, config;
	char why[4096];
	int code = EXIT_FAILED_RUN;

	switch (options_read(&options, count, words)) {
	case OPTIONS_HELP: return 0;
	case OPTIONS_BAD: return EXIT_BAD_INPUT;
	case OPTIONS_GOOD: break;
	}
	if (!bw_testbed_parse(options.config, &file, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return EXIT_BAD_INPUT;
	}
	if (why[0])
		fprintf(stderr, "%s\n", why);
	if (options.clock == CLOCK_LOCKSTEP && file->clock != CLOCK_LOCKSTEP) {
		fprintf(stderr, "--clock lockstep: %s has another clock, and does not say who takes part; write kind = \"lockstep\", processes and process "
			"into its [clock]\n", options.config);
		bw_testbed_free(file);
		return EXIT_BAD_INPUT;
	}
	config = with_options(file, &options);
	listen_to_signals();
	if (device_start_dpdk(words[0], plan_needs_pci(&config), plan_memory_mib(&config))) {
		code = build_and_run(&options, &config);
		device_stop_dpdk();
	}
	bw_testbed_free(file);
	return code;
}
