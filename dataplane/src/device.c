/* See device.h. */
#include "device.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>

/* Short queues: what waits is to wait in the egress queues, where the detector sees it. */
#define DESCRIPTORS 256
#define RETRY_MS 100

bool device_start_dpdk(const char *program, bool needs_pci, unsigned memory_mib)
{
	char memory[16], prefix[48], lcores[24];
	cpu_set_t allowed;
	char *arguments[16];
	int n = 0;

	/* EAL pins its thread to one core; where the kernel had it is better when several processes share few cores. */
	sched_getaffinity(0, sizeof(allowed), &allowed);
	unsigned core = 0;

	while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &allowed))
		core++;
	snprintf(lcores, sizeof(lcores), "--lcores=0@%u", core);
	/* EAL keeps and reorders the array, and not the strings. */
	snprintf(memory, sizeof(memory), "%u", memory_mib);
	snprintf(prefix, sizeof(prefix), "--file-prefix=backwater%d", (int)getpid());
	arguments[n++] = (char *)(uintptr_t)program;
	arguments[n++] = (char *)(uintptr_t)"--no-huge";
	arguments[n++] = (char *)(uintptr_t)"-m";
	arguments[n++] = memory;
	arguments[n++] = (char *)(uintptr_t)"--no-telemetry";
	arguments[n++] = (char *)(uintptr_t)"--no-shconf";
	arguments[n++] = lcores;
	arguments[n++] = prefix;
	arguments[n++] = (char *)(uintptr_t)"--log-level=4";
	if (!needs_pci)
		arguments[n++] = (char *)(uintptr_t)"--no-pci";
	arguments[n] = NULL;
	if (rte_eal_init(n, arguments) >= 0) {
		sched_setaffinity(0, sizeof(allowed), &allowed);
		/* It would tell of every attempt to connect. */
		rte_log_set_level_pattern("pmd.net.memif*", RTE_LOG_EMERG);
		return true;
	}
	fprintf(stderr, "DPDK does not start: %s. It wants %u MiB of memory%s\n", rte_strerror(rte_errno), memory_mib,
		needs_pci ? ", root, and a card that is bound to vfio-pci" : "");
	return false;
}

void device_stop_dpdk(void)
{
	rmdir(rte_eal_get_runtime_dir());
}

bool device_is_pci(const char *device)
{
	unsigned domain, bus, slot, function;

	return sscanf(device, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;
}

static bool is_memif(uint16_t id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(id, &info) == 0 && strncmp(info.driver_name, "net_memif", 9) == 0;
}

static int configure(uint16_t id, struct rte_mempool *pool)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf config = { 0 };
	uint16_t received = DESCRIPTORS, sent = DESCRIPTORS;
	int error = rte_eth_dev_info_get(id, &info);

	if (error == 0)
		error = rte_eth_dev_configure(id, 1, 1, &config);
	if (error == 0)
		error = rte_eth_dev_adjust_nb_rx_tx_desc(id, &received, &sent);
	if (error == 0)
		error = rte_eth_rx_queue_setup(id, 0, received, SOCKET_ID_ANY, NULL, pool);
	if (error == 0)
		error = rte_eth_tx_queue_setup(id, 0, sent, SOCKET_ID_ANY, NULL);
	bool ready = error == 0;

	if (ready)
		error = rte_eth_dev_start(id);
	/* A memif client whose server is not there yet: device_wait_for_link() starts it again. */
	if (error && ready && is_memif(id))
		error = 0;
	if (error == 0)
		/* A switch takes what is not addressed to it; not every virtual device knows of addresses. */
		(void)rte_eth_promiscuous_enable(id);
	return error;
}

int device_open(const char *device, struct rte_mempool *pool)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t id;
	int error;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	error = rte_dev_probe(device);
	if (error == 0 || error == -EEXIST)
		error = rte_eth_dev_get_port_by_name(name, &id);
	if (error == 0)
		error = configure(id, pool);
	if (error == 0)
		return id;
	fprintf(stderr, "%s: the device does not open: %s\n", device, rte_strerror(-error));
	return error;
}

bool device_is_up(uint16_t device)
{
	struct rte_eth_link link = { 0 };

	return rte_eth_link_get_nowait(device, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

bool device_wait_for_link(uint16_t device, unsigned timeout_ms, const volatile bool *stop)
{
	/* A card would begin to train its link anew each time. */
	bool again = is_memif(device);

	for (unsigned waited_ms = 0; !device_is_up(device); waited_ms++) {
		if (waited_ms >= timeout_ms || *stop)
			return false;
		if (again && waited_ms % RETRY_MS == RETRY_MS - 1) {
			rte_eth_dev_stop(device);
			rte_eth_dev_start(device);
		}
		rte_delay_us_sleep(1000);
	}
	return true;
}

void device_close(uint16_t device)
{
	rte_eth_dev_stop(device);
	rte_eth_dev_close(device);
}
