/* Controllers and detectors for Backwater in C, or in anything that can make a shared library.
 *
 * Export one table per function and name it in a scenario:
 *
 *     [cc]
 *     kind = "custom"
 *     function = "my_cc.so:my_controller"
 *
 * All times are in ps since the start of the run, all sizes in bytes on the wire. A function returns 0; anything else ends the
 * run with that number. It keeps nothing but its words: the same flow with the same words and the same event must give the same
 * answer, whatever was called before it and by whichever thread.
 */
#ifndef BACKWATER_H
#define BACKWATER_H

#include <stdint.h>

#define BACKWATER_VERSION 1u
#define BACKWATER_NEVER INT64_MAX

/* What happened to a flow; `events` of a controller is a sum of the first three. A timer is always an event. */
enum { BACKWATER_SEND = 1, BACKWATER_ACK = 2, BACKWATER_CNP = 4, BACKWATER_TIMER = 8 };
/* What happened at a port. */
enum { BACKWATER_DEPARTURE = 1, BACKWATER_RESUME = 2 };
/* Code points of packets. */
enum { BACKWATER_UE = 2, BACKWATER_CE = 3 };
/* Verdicts on a port. */
enum { BACKWATER_NON_CONGESTION = 0, BACKWATER_CONGESTION = 1, BACKWATER_UNDETERMINED = 2, BACKWATER_JUDGING = 3 };

/* A word of what a function remembers. */
union backwater_word {
    double f;
    int64_t i;
};

struct backwater_flow {
    double rate_bps;  /* from 1; more than line rate is line rate */
    int64_t timer_ps; /* deadline; BACKWATER_NEVER: no timer. Before TIMER it is set to that. */
    double line_bps;  /* read only */
    union backwater_word state[29];
};

struct backwater_event {
    int64_t kind;
    int64_t now_ps;
    int64_t bytes;  /* SEND */
    int64_t code;   /* ACK, CNP */
    int64_t rtt_ps; /* ACK; -1: not measured */
};

struct backwater_controller {
    uint32_t version;
    uint32_t events;
    double initial_rate_bps; /* 0: line rate */
    const char *state;       /* names and first values of the words in order: "target_bps=0.0 count=0" */
    uint32_t (*function)(struct backwater_flow *, const struct backwater_event *);
};

struct backwater_queue {
    int64_t state;    /* verdict */
    int64_t watch_ps; /* until then every departure is shown, also one that leaves an empty queue */
    double ce;        /* probability of a CE mark; 0 before each call */
    int64_t ue;       /* not 0: UE, unless CE is marked; 0 before each call */
    union backwater_word words[12];
};

struct backwater_port_event {
    int64_t kind;
    int64_t now_ps;
    int64_t queue_bytes; /* without the packet that leaves */
    int64_t size_bytes;
    int64_t code;
    int64_t last_hold_ps; /* when this switch last held back an upstream port; now_ps if it does, 0 if never */
};

struct backwater_detector {
    uint32_t version;
    uint32_t reserved;
    double reserved_too;
    const char *state;
    uint32_t (*function)(struct backwater_queue *, const struct backwater_port_event *);
};

#endif
