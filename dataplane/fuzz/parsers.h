/* One frame through every parser of the data path, in a buffer from malloc of exactly its length, so that AddressSanitizer sees the first
 * byte that is read or written behind it. Used by the fuzzer and by tests/test_parsers.c. */
#ifndef BACKWATER_PARSERS_H
#define BACKWATER_PARSERS_H

#include <stddef.h>
#include <stdint.h>

/* Longer ones are not tried: a packet buffer has at most 16 KiB. */
#define PARSERS_BYTES_MOST 9216

/* frame.h, roce.h and the frames of backwater.h; what each says of itself and of the others must hold. */
void parsers_try(const uint8_t *bytes, size_t length);

/* The same for a frame of two segments of which the first has `first` bytes: it is what those bytes alone are. */
void parsers_try_segments(const uint8_t *bytes, size_t length, size_t first);

/* Starts DPDK, once per program, and makes a switch whose ports have PFC, credits and no flow control. */
void parsers_open(void);

/* The frame arrives at a port of that switch, and 20 us pass. */
void parsers_switch(const uint8_t *bytes, size_t length, unsigned port);

/* Every frame is accounted for, every buffer freed. */
void parsers_close(void);

#endif
