/* Co-simulation: a ring of messages between four ranks, where each rank sends on what it has got, after a while of its own.
 * Usage: step step.toml FOLDER. Prints when each message arrived; exit code 1 if the run refuses something. */
#include <inttypes.h>
#include <stdio.h>

#include "backwater_run.h"

#define US UINT64_C(1000000)
#define HOSTS 4
#define MESSAGES 8

int main(int count, char **arguments)
{
	char why[1000];
	struct bw_run *run = count == 3 ? bw_run_begin(arguments[1], NULL, 0, arguments[2], why, sizeof(why)) : NULL;
	struct bw_flow message = { .size_bytes = 100000, .src = 0, .dst = 1 };
	struct bw_completion arrived;

	if (run == NULL) {
		fprintf(stderr, "%s\n", count == 3 ? why : "usage: step SCENARIO FOLDER");
		return 1;
	}
	for (int sent = 0; sent < MESSAGES;) {
		if (!bw_run_inject(run, &message, 1, NULL, why, sizeof(why)))
			goto refused;
		sent++;
		/* Until it has arrived; the program could do something else after each microsecond. */
		while (bw_run_completions(run, &arrived, 1) == 0) {
			if (!bw_run_step(run, bw_run_now_ps(run) + US, why, sizeof(why)))
				goto refused;
		}
		printf("%" PRIu32 " -> %" PRIu32 ": %" PRIu64 " ps\n", arrived.src, arrived.dst, arrived.finish_ps);
		/* The next rank computes for 3 us. */
		message.src = arrived.dst;
		message.dst = (arrived.dst + 1) % HOSTS;
		message.start_ps = arrived.finish_ps + 3 * US;
	}
	if (bw_run_finish(run, why, sizeof(why)))
		return 0;
	fprintf(stderr, "%s\n", why);
	return 1;
refused:
	fprintf(stderr, "%s\n", why);
	bw_run_stop(run, NULL, 0);
	return 1;
}
