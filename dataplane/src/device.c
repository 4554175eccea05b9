/* See device.h. */
#include "device.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "interface.h"

/* Short queues: what waits is to wait in the egress queues, where the detector sees it. */
#define DESCRIPTORS 256
#define RETRY_MS 100
/* Ethernet header, and a VLAN tag, which an MTU does not count. */
#define HEADER_BYTES 14
#define TAG_BYTES 4

/* What is remembered of each device. */
static struct {
	struct interface interface;
	/* The MTU it had; 0: not changed. */
	unsigned mtu_before;
	bool is_memif_client;
	uint64_t tried_tsc;
} opened[RTE_MAX_ETHPORTS];

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

static int get_mtu(uint16_t id, unsigned *mtu)
{
	int error = interface_get_mtu(&opened[id].interface, mtu);
	uint16_t told = 0;

	if (error != -ENOTSUP)
		return error;
	error = rte_eth_dev_get_mtu(id, &told);
	*mtu = told;
	return error;
}

static int set_mtu(uint16_t id, unsigned mtu)
{
	int error = interface_set_mtu(&opened[id].interface, mtu);

	return error == -ENOTSUP ? rte_eth_dev_set_mtu(id, (uint16_t)mtu) : error;
}

/* Lets frames of `frame_bytes` through; what can be sent afterwards. */
static uint32_t raise_mtu(uint16_t id, const char *device, unsigned frame_bytes)
{
	unsigned mtu, wanted = frame_bytes - HEADER_BYTES;
	int error = get_mtu(id, &mtu);

	if (error)
		return UINT32_MAX;
	if (mtu >= wanted)
		return mtu + HEADER_BYTES + TAG_BYTES;
	error = set_mtu(id, wanted);
	/* Rings, memif, null: there is none. */
	if (error == -ENOTSUP)
		return UINT32_MAX;
	if (error == 0) {
		opened[id].mtu_before = mtu;
		return wanted + HEADER_BYTES + TAG_BYTES;
	}
	fprintf(stderr, "%s: refuses an MTU of %u for frames of %u bytes (run.frame-bytes): %s; it stays at %u, longer frames are dropped (too_long)\n",
		device, wanted, frame_bytes, rte_strerror(-error), mtu);
	return mtu + HEADER_BYTES + TAG_BYTES;
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

/* DPDK 22.11 opens a packet socket for all interfaces of the machine, and binds it to its own after the ring is there: what came in between
 * is nothing of ours. */
static void forget_strangers(uint16_t id)
{
	struct rte_mbuf *strangers[2 * DESCRIPTORS];

	if (opened[id].interface.socket >= 0)
		rte_pktmbuf_free_bulk(strangers, rte_eth_rx_burst(id, 0, strangers, RTE_DIM(strangers)));
}

int device_open(const char *device, struct rte_mempool *pool, unsigned frame_bytes, uint32_t *longest_bytes)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	char *arguments = interface_arguments(device, frame_bytes);
	uint16_t id;
	int error;

	if (!arguments)
		return -EINVAL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	error = rte_dev_probe(arguments);
	free(arguments);
	if (error == 0 || error == -EEXIST)
		error = rte_eth_dev_get_port_by_name(name, &id);
	if (error == 0)
		error = configure(id, pool);
	if (error == 0) {
		interface_find(&opened[id].interface, device);
		opened[id].is_memif_client = is_memif(id) && !strstr(device, "role=server");
		forget_strangers((uint16_t)id);
		*longest_bytes = raise_mtu(id, device, frame_bytes);
		return id;
	}
	fprintf(stderr, "%s: the device does not open: %s\n", device, rte_strerror(-error));
	return error;
}

bool device_is_up(uint16_t device)
{
	if (opened[device].interface.socket >= 0)
		return interface_is_up(&opened[device].interface);
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

void device_reconnect(uint16_t device, bool just_now)
{
	uint64_t now = rte_rdtsc();

	if (just_now)
		opened[device].tried_tsc = now;
	if (!opened[device].is_memif_client || now - opened[device].tried_tsc < rte_get_tsc_hz() / 1000 * RETRY_MS)
		return;
	opened[device].tried_tsc = now;
	rte_eth_dev_stop(device);
	rte_eth_dev_start(device);
}

void device_count_losses(uint16_t device)
{
	interface_forget(&opened[device].interface);
	(void)rte_eth_stats_reset(device);
}

void device_losses(uint16_t device, struct device_losses *losses)
{
	struct rte_eth_stats stats = { 0 };
	uint64_t missed, unsent;

	interface_losses(&opened[device].interface, &missed, &unsent);
	/* Devices without counters lose nothing that anybody could know of. */
	(void)rte_eth_stats_get(device, &stats);
	*losses = (struct device_losses){
		.missed = stats.imissed + missed,
		.no_buffer = stats.rx_nombuf,
		.rx_errors = stats.ierrors,
		.tx_errors = stats.oerrors + unsent,
	};
}

void device_close(uint16_t device)
{
	if (opened[device].mtu_before)
		(void)set_mtu(device, opened[device].mtu_before);
	opened[device].mtu_before = 0;
	rte_eth_dev_stop(device);
	rte_eth_dev_close(device);
}
