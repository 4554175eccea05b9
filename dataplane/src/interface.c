/* See interface.h. */
#include "interface.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kernel, Documentation/networking/packet_mmap.rst: the header and address before the frame, aligned to 16, so that IP is aligned, too. */
#define BEFORE_FRAME 66
/* Between the begin of a place and what the driver takes for data: TPACKET2_HDRLEN - sizeof(struct sockaddr_ll). */
#define BEFORE_DATA 32
/* Places of 256 bytes come to whole pages by sixteens. */
#define PLACE_UNIT 256
#define PLACES_PER_BLOCK 16
#define PLACES 512

static bool is_af_packet(const char *device)
{
	return strncmp(device, "net_af_packet", 13) == 0 || strncmp(device, "eth_af_packet", 13) == 0;
}

static unsigned place_bytes(unsigned frame_bytes)
{
	return (frame_bytes + BEFORE_FRAME + PLACE_UNIT - 1) / PLACE_UNIT * PLACE_UNIT;
}

unsigned interface_buffer_bytes(unsigned frame_bytes)
{
	return place_bytes(frame_bytes) - BEFORE_DATA;
}

/* The value of `key=` in the arguments of a device, up to the next comma; NULL if there is none. */
static const char *argument(const char *device, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = strchr(device, ','); at; at = strchr(at + 1, ','))
		if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=')
			return at + length + 2;
	return NULL;
}

static void name_of(const char *device, char name[IFNAMSIZ])
{
	const char *value = argument(device, "iface");

	snprintf(name, IFNAMSIZ, "%.*s", value ? (int)strcspn(value, ",") : 0, value ? value : "");
}

/* The driver joins a "fanout" group, though there is one queue, and names it by the number of the process and of the interface, one XOR the
 * other: two processes that start together often come to the same name, and the second is refused. And the kernel would put fragments
 * of IP packets together on their way to a group. A program's own function comes before the C library's, also for the driver (meson.build
 * exports it): without this one request there is no group. */
int setsockopt(int file, int level, int option, const void *value, socklen_t length)
{
	if (level == SOL_PACKET && option == PACKET_FANOUT)
		return 0;
	return (int)syscall(SYS_setsockopt, file, level, option, value, length);
}

/* What stands in the way of an interface, with what to do about it; NULL: nothing. */
static const char *obstacle(const char *name)
{
	int probe;

	if (!*name)
		return "iface=NAME is missing: write net_af_packet0,iface=veth0";
	if (!if_nametoindex(name))
		return "there is no such network interface here (ip link shows all)";
	probe = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return "no right to open packet sockets: run as root, or give the program CAP_NET_RAW and CAP_NET_ADMIN";
	close(probe);
	return NULL;
}

char *interface_arguments(const char *device, unsigned frame_bytes)
{
	unsigned place = place_bytes(frame_bytes);
	const char *own = argument(device, "framesz"), *wrong;
	char name[IFNAMSIZ], *made = NULL;

	if (!is_af_packet(device))
		return strdup(device);
	name_of(device, name);
	wrong = obstacle(name);
	if (wrong) {
		fprintf(stderr, "%s: %s\n", device, wrong);
		return NULL;
	}
	if (argument(device, "qpairs") && strtoul(argument(device, "qpairs"), NULL, 10) != 1) {
		fprintf(stderr, "%s: qpairs: one queue is read; allowed: 1, or leave it out\n", device);
		return NULL;
	}
	if (own && strtoul(own, NULL, 10) < frame_bytes + BEFORE_FRAME) {
		fprintf(stderr, "%s: framesz: longer frames than %lu bytes would be cut, run.frame-bytes is %u; allowed: at least %u, or leave it out\n",
			device, strtoul(own, NULL, 10) > BEFORE_FRAME ? strtoul(own, NULL, 10) - BEFORE_FRAME : 0, frame_bytes, place);
		return NULL;
	}
	if (own || argument(device, "blocksz") || argument(device, "framecnt"))
		return strdup(device);
	if (asprintf(&made, "%s,framesz=%u,blocksz=%u,framecnt=%u", device, place, place * PLACES_PER_BLOCK, PLACES) < 0)
		return NULL;
	return made;
}

static bool is_socket_of(int file, unsigned index)
{
	struct sockaddr_ll address = { 0 };
	socklen_t length = sizeof(address);

	return getsockname(file, (struct sockaddr *)&address, &length) == 0 && address.sll_family == AF_PACKET &&
	       address.sll_ifindex == (int)index && address.sll_protocol == htons(ETH_P_ALL);
}

static int find_socket(unsigned index)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	while (folder && found < 0 && (entry = readdir(folder))) {
		int file = atoi(entry->d_name);

		if (file > 0 && is_socket_of(file, index))
			found = file;
	}
	if (folder)
		closedir(folder);
	return found;
}

static int ask(const struct interface *interface, unsigned long request, struct ifreq *with)
{
	if (interface->socket < 0)
		return -ENOTSUP;
	strcpy(with->ifr_name, interface->name);
	return ioctl(interface->socket, request, with) < 0 ? -errno : 0;
}

int interface_get_mtu(const struct interface *interface, unsigned *mtu)
{
	struct ifreq with = { 0 };
	int error = ask(interface, SIOCGIFMTU, &with);

	*mtu = (unsigned)with.ifr_mtu;
	return error;
}

int interface_set_mtu(const struct interface *interface, unsigned mtu)
{
	struct ifreq with = { .ifr_mtu = (int)mtu };

	return ask(interface, SIOCSIFMTU, &with);
}

bool interface_is_up(const struct interface *interface)
{
	struct ifreq with = { 0 };

	return ask(interface, SIOCGIFFLAGS, &with) == 0 && with.ifr_flags & IFF_UP && with.ifr_flags & IFF_RUNNING;
}

static uint32_t tx_lost(const struct interface *interface)
{
	struct ifaddrs *all;
	uint32_t lost = interface->tx_before;

	if (getifaddrs(&all) < 0)
		return lost;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next)
		if (one->ifa_addr && one->ifa_addr->sa_family == AF_PACKET && one->ifa_data && strcmp(one->ifa_name, interface->name) == 0) {
			const struct rtnl_link_stats *stats = one->ifa_data;

			lost = stats->tx_dropped + stats->tx_errors;
		}
	freeifaddrs(all);
	return lost;
}

void interface_find(struct interface *interface, const char *device)
{
	*interface = (struct interface){ .socket = -1 };
	if (!is_af_packet(device))
		return;
	name_of(device, interface->name);
	interface->socket = find_socket(if_nametoindex(interface->name));
	interface->tx_before = tx_lost(interface);
}

void interface_forget(struct interface *interface)
{
	uint64_t missed, unsent;

	interface_losses(interface, &missed, &unsent);
	interface->ring_drops = interface->tx_total = 0;
}

void interface_losses(struct interface *interface, uint64_t *missed, uint64_t *unsent)
{
	struct tpacket_stats ring = { 0 };
	socklen_t length = sizeof(ring);

	*missed = *unsent = 0;
	if (interface->socket < 0)
		return;
	if (getsockopt(interface->socket, SOL_PACKET, PACKET_STATISTICS, &ring, &length) == 0)
		interface->ring_drops += ring.tp_drops;
	uint32_t now = tx_lost(interface);

	/* The kernel tells 32 bits of it. */
	interface->tx_total += now - interface->tx_before;
	interface->tx_before = now;
	*missed = interface->ring_drops;
	*unsent = interface->tx_total;
}
