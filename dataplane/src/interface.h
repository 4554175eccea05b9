/* Network interfaces of the kernel behind af_packet devices: what DPDK's driver (22.11) does not do by itself.
 *
 * Its ring has places of 2048 bytes unless it is told otherwise, of which 66 are the kernel's: what is longer is cut, and nothing says so. And it
 * counts neither what the kernel found no place for, nor what the kernel took and then could not send, and does not see a link go down. */
#ifndef BACKWATER_INTERFACE_H
#define BACKWATER_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes that a packet buffer must have so that a ring with room for frames of `frame_bytes` fits (the driver compares places, not frames). */
unsigned interface_buffer_bytes(unsigned frame_bytes);

/* `device` with the size of the ring for frames of `frame_bytes`, unless it says one itself; a copy, for free(). NULL, with a message on
 * stderr, if its own size is too small, there is no such interface, or no right to open it. Other devices than af_packet
 * stay as they are. */
char *interface_arguments(const char *device, unsigned frame_bytes);

struct interface {
	char name[16]; /* IFNAMSIZ */
	/* The socket of the driver; not ours to close. -1: no af_packet device. */
	int socket;
	/* Dropped by the ring, so far: the kernel counts from zero after each look. */
	uint64_t ring_drops;
	uint32_t tx_before;
	uint64_t tx_total;
};

/* Looks for what is behind a device that has just been opened. */
void interface_find(struct interface *interface, const char *device);

/* Whether a kernel's interface is up and has a carrier, which DPDK 22.11 says of all of them. */
bool interface_is_up(const struct interface *interface);

/* The MTU of a kernel's interface; DPDK believes that those of af_packet have at most 1500 bytes. 0, or -errno; -ENOTSUP: there is none. */
int interface_get_mtu(const struct interface *interface, unsigned *mtu);
int interface_set_mtu(const struct interface *interface, unsigned mtu);

/* What was lost so far does not count. */
void interface_forget(struct interface *interface);

/* Frames that came in and found the ring full, and frames that the interface took and did not send, since it was found or forgot. */
void interface_losses(struct interface *interface, uint64_t *missed, uint64_t *unsent);

#endif
