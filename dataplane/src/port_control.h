/* What flow control does to a port: used by port.c only. */
#ifndef BACKWATER_PORT_CONTROL_H
#define BACKWATER_PORT_CONTROL_H

#include "port.h"

/* Counts a frame into the ingress buffer; false (and the frame is gone) if it does not fit. */
bool port_charge(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps);

/* Its place in the ingress buffer is free, or for a flooded copy as soon as all have left. */
void port_release(struct rte_mbuf *mbuf, uint64_t now_ps);

/* A MAC control frame or a credit message arrived; frees it. */
void port_take_control(struct port *port, struct rte_mbuf *mbuf, uint64_t now_ps);

/* Takes credit for the first frame of a lane; false, and the gate closes, if there is too little. */
bool port_take_credit(struct port *port, unsigned priority, uint64_t now_ps);

/* A PAUSE or RESUME for a priority goes with the next PFC frame. */
void port_pfc_is_due(struct port *port, unsigned priority, uint64_t now_ps);

/* Empties the queue of a lane (port.c). */
void port_empty_lane(struct port *port, unsigned priority, enum drop_reason reason, uint64_t now_ps);

/* The gate of a lane, which is closed, opens. */
void port_open_gate(struct port *port, unsigned priority, uint64_t now_ps);

/* The registers of credits as of a link that has just come up, if the port has any. */
void port_begin_credits(struct port *port, uint64_t now_ps);

/* PAUSEs that are over, PAUSEs to be sent again, the next credit message, the watchdog. */
void port_timers(struct port *port, uint64_t now_ps);

/* Sends the PFC frame or credit message that is due; false if the wire is busy or no mbuf is left. */
bool port_send_control(struct port *port, uint64_t now_ps);

#endif
