/* Time passes in an idle network. Usage: idle step.toml; exit code 0 if it does. */
#include <inttypes.h>
#include <stdio.h>

#include "backwater_run.h"

#define US UINT64_C(1000000)

int main(int count, char **arguments)
{
	char why[1000] = "";
	struct bw_run *run = count == 2 ? bw_run_begin(arguments[1], NULL, 0, NULL, why, sizeof(why)) : NULL;
	struct bw_flow late = { .size_bytes = 1000, .start_ps = 3 * US, .src = 0, .dst = 1 };
	bool taken;

	if (run == NULL)
		return 1;
	for (int step = 0; step < 10; step++) {
		if (!bw_run_step(run, bw_run_now_ps(run) + US, why, sizeof(why)))
			return 1;
	}
	taken = bw_run_inject(run, &late, 1, NULL, why, sizeof(why));
	printf("%" PRIu64 " %d %d\n%s\n", bw_run_now_ps(run), bw_run_is_over(run), taken, why);
	return bw_run_stop(run, NULL, 0) ? 0 : 1;
}
