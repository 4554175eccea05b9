/* From a configuration to a testbed: nodes, links, devices, the clock. */
#ifndef BACKWATER_BUILD_H
#define BACKWATER_BUILD_H

#include "backwater.h"
#include "bed.h"

/* What the nodes were made of. `bed` first, then plan_free(). */
struct plan {
	const struct bw_testbed *config;
	/* One for each node of the configuration; and one for each port. */
	struct bw_detector *detectors;
	struct node **nodes;
	struct port **ports;
};

/* Makes all nodes, joins their ports and opens devices (memif servers first). False, with a message on stderr; what was made so far is in
 * the bed, which can be stopped and closed. DPDK is running; `config` outlives the bed. */
bool plan_build(struct plan *plan, struct bed *bed, const struct bw_testbed *config);

void plan_free(struct plan *plan);

/* Whether a port of the configuration is on a card, for which DPDK looks at the PCI bus. */
bool plan_needs_pci(const struct bw_testbed *config);

/* Memory for DPDK, in MiB: the pool of frames, and some for rings and devices. */
unsigned plan_memory_mib(const struct bw_testbed *config);

#endif
