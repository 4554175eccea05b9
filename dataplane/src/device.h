/* DPDK devices as ports: memif, af_packet, tap, null, ring, pcap, or a network card. */
#ifndef BACKWATER_DEVICE_H
#define BACKWATER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

/* Starts the environment of DPDK: one lcore, no huge pages. `needs_pci`: look for network cards. False, with a message on stderr. */
bool device_start_dpdk(const char *program, bool needs_pci, unsigned memory_mib);

/* Removes the directory that DPDK makes for each of its processes. The rest is left to the end of the process: rte_eal_cleanup()
 * would take memory away from beneath DPDK's interrupt thread, which may still be told of a link that was cut, and crashes then
 * (seen with 22.11). There are no huge pages and no shared files. */
void device_stop_dpdk(void);

/* Whether a name is that of a card on the PCI bus (0000:03:00.0) rather than of a virtual device (net_memif0,role=client,...). */
bool device_is_pci(const char *device);

/* Opens and starts a device by its name and arguments as DPDK writes them, for frames of up to `frame_bytes`: if its MTU is less it is raised,
 * until it is closed. A device that refuses is told of on stderr; `*longest_bytes` is what it can send. The number of the device, or
 * -errno with a message on stderr. */
int device_open(const char *device, struct rte_mempool *pool, unsigned frame_bytes, uint32_t *longest_bytes);

/* From now on losses count: what came before the run began found nobody there. */
void device_count_losses(uint16_t device);

/* Frames that a device lost since then. What found no buffer waits in most devices, and is missed when their queue is full. */
struct device_losses {
	uint64_t missed, no_buffer, rx_errors, tx_errors;
};

/* Not from two threads at a time. */
void device_losses(uint16_t device, struct device_losses *losses);

/* Waits until the link is up. A memif client tries to connect only when it is started, so it is started again. */
bool device_wait_for_link(uint16_t device, unsigned timeout_ms, const volatile bool *stop);

/* A memif client whose link is down: tries again every 100 ms. `just_now`: it has only gone down, and DPDK's interrupt thread is still
 * busy with that. Others need nothing. */
void device_reconnect(uint16_t device, bool just_now);

bool device_is_up(uint16_t device);

void device_close(uint16_t device);

#endif
