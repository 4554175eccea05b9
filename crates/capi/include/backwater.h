/* Backwater for a data plane in C: detectors, PFC, credits, frames, and the configuration of a testbed.
 *
 * Generated from crates/capi; do not edit (BLESS=1 cargo test -p backwater-capi header).
 * Structs are the caller's; nothing is allocated by a call that a packet needs. Times are picoseconds. */

#ifndef BACKWATER_H
#define BACKWATER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 Code point 00: the transport does not take part, switches leave the packet alone. The code points are the ECN bits of IP.
 */
#define BW_CODE_NOT_CAPABLE 0

/*
 Code point 01: what a host sends.
 */
#define BW_CODE_CAPABLE 1

/*
 Code point 10, UE: an undetermined port was crossed.
 */
#define BW_CODE_UNDETERMINED 2

/*
 Code point 11, CE: a congested port was crossed.
 */
#define BW_CODE_CONGESTION 3

/*
 The least frame, without its check sequence.
 */
#define BW_LEAST_FRAME 60

/*
 The longest credit message: eight lanes.
 */
#define BW_CREDIT_FRAME_MOST 146

/*
 Reliable connection, SEND only.
 */
#define BW_OPCODE_SEND_ONLY 4

/*
 Reliable connection, acknowledgement.
 */
#define BW_OPCODE_ACKNOWLEDGE 17

/*
 Congestion notification packet.
 */
#define BW_OPCODE_CNP 129

/*
 Bytes of a name with its end.
 */
#define BW_NAME_BYTES 32

/*
 Bytes of a DPDK device with its end.
 */
#define BW_DEVICE_BYTES 256

/*
 Bytes of a path to a page with its end.
 */
#define BW_PAGE_BYTES 108

/*
 What a credit message does.
 */
enum bw_credit_verdict {
  /*
   Both registers are taken over.
   */
  BW_CREDIT_VERDICT_FINE = 0,
  /*
   The same; units were lost on the way.
   */
  BW_CREDIT_VERDICT_RESYNC = 1,
  /*
   Refused: behind what is known.
   */
  BW_CREDIT_VERDICT_PAST = 2,
  /*
   Refused: beyond what any buffer allows.
   */
  BW_CREDIT_VERDICT_FUTURE = 3,
};

/*
 What a frame is.
 */
enum bw_frame_kind {
  /*
   None of these; only the Ethernet header was read.
   */
  BW_FRAME_KIND_OTHER = 0,
  /*
   IPv4 that is not RoCEv2.
   */
  BW_FRAME_KIND_IPV4 = 1,
  /*
   RoCEv2 (UDP 4791).
   */
  BW_FRAME_KIND_ROCE = 2,
  /*
   PAUSE of the whole link.
   */
  BW_FRAME_KIND_PAUSE = 3,
  /*
   PFC.
   */
  BW_FRAME_KIND_PFC = 4,
  /*
   Credits.
   */
  BW_FRAME_KIND_CREDIT = 5,
};

/*
 What to send to the other end.
 */
enum bw_pfc_decision {
  /*
   Nothing.
   */
  BW_PFC_DECISION_NOTHING = 0,
  /*
   A PAUSE of the configured length.
   */
  BW_PFC_DECISION_PAUSE = 1,
  /*
   A PAUSE of time 0.
   */
  BW_PFC_DECISION_RESUME = 2,
};

/*
 What happened to a gate.
 */
enum bw_gate_change {
  /*
   Nothing.
   */
  BW_GATE_CHANGE_SAME = 0,
  /*
   An OFF period has ended: call bw_detector_on_resume.
   */
  BW_GATE_CHANGE_OPENED = 1,
  /*
   An OFF period begins.
   */
  BW_GATE_CHANGE_CLOSED = 2,
};

/*
 What the watchdog found.
 */
enum bw_storm_change {
  /*
   Nothing.
   */
  BW_STORM_CHANGE_SAME = 0,
  /*
   The gate was closed for too long; it is open now and stays so.
   */
  BW_STORM_CHANGE_BEGINS = 1,
  /*
   No PAUSE has come for long enough: they are obeyed again.
   */
  BW_STORM_CHANGE_ENDS = 2,
};

/*
 Which detector.
 */
enum bw_detector_kind {
  /*
   Nothing is ever marked.
   */
  BW_DETECTOR_KIND_NONE = 0,
  /*
   ECN by queue length.
   */
  BW_DETECTOR_KIND_RED = 1,
  /*
   ECN by queue length, but not for packets that were paused.
   */
  BW_DETECTOR_KIND_NP_ECN = 2,
  /*
   Ternary congestion detection.
   */
  BW_DETECTOR_KIND_TCD = 3,
};

/*
 How TCD recognises a rising queue.
 */
enum bw_trend {
  /*
   Risen by delta since the last OFF period, or within a period (the TCD authors' release).
   */
  BW_TREND_AUTHORS = 0,
  /*
   Risen by more than delta in a period (the paper's flowchart).
   */
  BW_TREND_RISE = 1,
  /*
   Not fallen in a period (the paper's prose).
   */
  BW_TREND_NO_FALL = 2,
  /*
   Risen, or level while this switch held back an upstream port.
   */
  BW_TREND_RISE_BP = 3,
};

/*
 The state of an egress port of one priority.
 */
enum bw_port_state {
  /*
   The port can send what arrives.
   */
  BW_PORT_STATE_NON_CONGESTION = 0,
  /*
   More arrives than the port can send: a root of congestion.
   */
  BW_PORT_STATE_CONGESTION = 1,
  /*
   The port is held back by flow control; its queue says nothing about it.
   */
  BW_PORT_STATE_UNDETERMINED = 2,
  /*
   Released from the ON-OFF pattern, the trend of its queue being watched; nothing is marked.
   */
  BW_PORT_STATE_JUDGING = 3,
};

/*
 Where time comes from.
 */
enum bw_clock_kind {
  /*
   Each visit of a node adds a constant.
   */
  BW_CLOCK_KIND_STEP = 0,
  /*
   The processor's counter, but a visit adds at most a cap.
   */
  BW_CLOCK_KIND_CLAMP = 1,
  /*
   Clamp, and no process is far ahead of the slowest.
   */
  BW_CLOCK_KIND_LOCKSTEP = 2,
  /*
   The processor's counter as it is.
   */
  BW_CLOCK_KIND_WALL = 3,
};

/*
 What a node is.
 */
enum bw_node_kind {
  /*
   Forwards.
   */
  BW_NODE_KIND_SWITCH = 0,
  /*
   Sends.
   */
  BW_NODE_KIND_SENDER = 1,
  /*
   Counts.
   */
  BW_NODE_KIND_RECEIVER = 2,
  /*
   Is in another process or machine: has an address and no ports.
   */
  BW_NODE_KIND_REMOTE = 3,
};

/*
 Who may send when.
 */
enum bw_flow_control {
  /*
   Whoever likes.
   */
  BW_FLOW_CONTROL_NONE = 0,
  /*
   By PAUSEs.
   */
  BW_FLOW_CONTROL_PFC = 1,
  /*
   By credits.
   */
  BW_FLOW_CONTROL_CREDITS = 2,
};

/*
 One virtual lane of a port, in units. Made by bw_credit_init.
 */
struct bw_credit_lane {
  /*
   FCTBS: sent in all.
   */
  uint64_t sent;
  /*
   FCCL of the other end: may be sent in all.
   */
  uint64_t limit;
  /*
   The buffer at the other end.
   */
  uint64_t peer_buffer;
  /*
   ABR: received in all.
   */
  uint64_t received;
  /*
   In the buffer here.
   */
  uint64_t held;
  /*
   The buffer here.
   */
  uint64_t buffer;
  /*
   Bytes of a unit, a power of two.
   */
  uint32_t unit_bytes;
};

/*
 A detector that was made by bw_detector_init: shared by all ports with the same parameters, never changed by a call.
 */
struct bw_detector {
  uint64_t words[16];
};

/*
 Parameters of a detector. Those that its kind does not have are not read.
 */
struct bw_detector_config {
  /*
   One of enum bw_detector_kind.
   */
  uint32_t kind;
  /*
   One of enum bw_trend. Tcd.
   */
  uint32_t trend;
  /*
   No mark up to this queue. Red, NpEcn, Tcd; as the next three.
   */
  uint64_t kmin_bytes;
  /*
   Always a mark above this queue.
   */
  uint64_t kmax_bytes;
  /*
   Bytes of a queue that are not counted.
   */
  uint64_t guaranteed_bytes;
  /*
   Probability of a mark just below kmax, 0 to 1.
   */
  double pmax;
  /*
   Longest ON period of an ON-OFF pattern. Tcd; as all below.
   */
  uint64_t max_ton_ps;
  /*
   T, after which the trend is judged.
   */
  uint64_t period_ps;
  /*
   At or below this queue a released port has drained.
   */
  uint64_t low_bytes;
  /*
   Dead band of the trend.
   */
  uint64_t delta_bytes;
  /*
   Resolution of the time registers.
   */
  uint64_t clock_ps;
};

/*
 What a detector remembers about one egress port and priority. All zero is a port of which nothing is known yet.
 */
struct bw_registers {
  uint64_t words[4];
};

/*
 A packet has just been taken out of an egress queue.
 */
struct bw_departure {
  /*
   The instant of the dequeue.
   */
  uint64_t now_ps;
  /*
   Left in this queue (port and priority) without the packet.
   */
  uint64_t queue_bytes;
  /*
   Last instant at which this switch held back an upstream port in this priority: now if it does, 0 if it never did. Read
   only by Tcd with the trend RiseBp.
   */
  uint64_t last_hold_ps;
  /*
   The packet on the wire.
   */
  uint32_t size_bytes;
  /*
   The two ECN bits of the packet.
   */
  uint8_t code;
};

/*
 A RoCEv2 frame: what was read, or what is to be written.
 */
struct bw_roce_frame {
  /*
   Ethernet addresses.
   */
  uint8_t destination[6];
  /*
   Ethernet addresses.
   */
  uint8_t source[6];
  /*
   IPv4 addresses, as they are written: 10.0.0.1 is {10, 0, 0, 1}.
   */
  uint8_t source_ip[4];
  /*
   IPv4 addresses.
   */
  uint8_t destination_ip[4];
  /*
   Destination queue pair, 24 bits.
   */
  uint32_t destination_qp;
  /*
   Packet sequence number, 24 bits.
   */
  uint32_t psn;
  /*
   Message sequence number, 24 bits. Of an acknowledgement only.
   */
  uint32_t msn;
  /*
   UDP source port.
   */
  uint16_t udp_source;
  /*
   VLAN identifier. Of a tagged frame only.
   */
  uint16_t vlan_id;
  /*
   Partition key; 0xFFFF is the default partition.
   */
  uint16_t pkey;
  /*
   IPv4 identification.
   */
  uint16_t ip_id;
  /*
   Whether there is a VLAN tag.
   */
  bool tagged;
  /*
   PCP of a tagged frame, 0 to 7.
   */
  uint8_t pcp;
  /*
   DSCP, 0 to 63; a class selector is priority times 8.
   */
  uint8_t dscp;
  /*
   ECN bits: BW_CODE_CAPABLE and the others.
   */
  uint8_t code;
  /*
   Hops that are left.
   */
  uint8_t ttl;
  /*
   BTH opcode: BW_OPCODE_SEND_ONLY and the others.
   */
  uint8_t opcode;
  /*
   BTH: backward notification, set in a CNP.
   */
  bool becn;
  /*
   BTH: forward notification.
   */
  bool fecn;
  /*
   BTH: an acknowledgement is asked for.
   */
  bool ack_request;
  /*
   AETH. Of an acknowledgement only.
   */
  uint8_t syndrome;
};

/*
 The times of a PFC frame.
 */
struct bw_pfc_frame {
  /*
   For each priority a time in quanta of 512 bit times; 0 resumes.
   */
  uint16_t quanta[8];
  /*
   Bit p: the time of priority p counts.
   */
  uint8_t enabled;
};

/*
 A credit message.
 */
struct bw_credit_frame {
  /*
   Units sent in all, of each lane.
   */
  uint64_t fctbs[8];
  /*
   Units that the other end may send in all, of each lane.
   */
  uint64_t fccl[8];
  /*
   Bit v: lane v is in the message.
   */
  uint8_t lanes;
};

/*
 What was read from a frame. Of the members behind `ip_offset` only those of its kind are set.
 */
struct bw_frame {
  /*
   What it is.
   */
  enum bw_frame_kind kind;
  /*
   Behind the VLAN tag.
   */
  uint16_t ethertype;
  /*
   Where the IP header begins; 0 if there is none.
   */
  uint16_t ip_offset;
  /*
   Of RoCE.
   */
  struct bw_roce_frame roce;
  /*
   Of RoCE: where its payload begins, and how long it is.
   */
  uint32_t payload_offset;
  /*
   Of RoCE: where its payload begins, and how long it is.
   */
  uint32_t payload_bytes;
  /*
   Of PAUSE: quanta.
   */
  uint16_t pause_quanta;
  /*
   Of PFC.
   */
  struct bw_pfc_frame pfc;
  /*
   Of credits.
   */
  struct bw_credit_frame credit;
};

/*
 When an ingress priority holds back the other end.
 */
struct bw_pfc_config {
  /*
   PAUSE above this many bytes.
   */
  uint64_t xoff_bytes;
  /*
   RESUME at or below this many.
   */
  uint64_t xon_bytes;
  /*
   How long one PAUSE lasts: bw_pfc_quanta_ps of its quanta.
   */
  uint64_t pause_ps;
  /*
   Storm after so long behind a closed gate; 0: no watchdog.
   */
  uint64_t watchdog_detect_ps;
  /*
   The storm is over when no PAUSE has come for so long.
   */
  uint64_t watchdog_restore_ps;
  /*
   The same length in quanta of 512 bit times, as it stands in the frame.
   */
  uint16_t pause_quanta;
};

/*
 The bytes of one ingress priority. All zero is an empty one.
 */
struct bw_pfc_ingress {
  /*
   Held now.
   */
  uint64_t bytes;
  /*
   When the PAUSE in force is to be sent again.
   */
  uint64_t renew_at_ps;
  /*
   Whether one is in force.
   */
  bool holding;
};

/*
 The gate of one egress priority. All zero is an open one.
 */
struct bw_pfc_gate {
  /*
   When the pause ends by itself.
   */
  uint64_t opens_at_ps;
  /*
   Begin of the OFF period.
   */
  uint64_t closed_since_ps;
  /*
   The last PAUSE, obeyed or not.
   */
  uint64_t last_pause_ps;
  /*
   Whether nothing may be sent.
   */
  bool closed;
  /*
   Whether PAUSEs are not obeyed because one never ended.
   */
  bool storm;
};

/*
 A node.
 */
struct bw_node {
  /*
   Its name.
   */
  char name[BW_NAME_BYTES];
  /*
   An enum bw_node_kind.
   */
  uint32_t kind;
  /*
   Its ports follow each other in bw_testbed.ports.
   */
  uint32_t first_port;
  /*
   How many it has.
   */
  uint32_t port_count;
  /*
   Its MAC address.
   */
  uint8_t mac[6];
  /*
   Its IPv4 address: 10.0.0.1 is 0x0A000001.
   */
  uint32_t ip;
  /*
   Switch: forwards by the addresses it has seen; else by bw_testbed.entries.
   */
  bool learning;
  /*
   Switch: how long such an address is kept.
   */
  uint64_t ageing_ps;
  /*
   Switch: what its egress ports mark.
   */
  struct bw_detector_config detector;
  /*
   Receiver: whether CE is answered with CNPs.
   */
  bool cnp;
  /*
   Receiver: least time between two CNPs of a flow.
   */
  uint64_t cnp_interval_ps;
  /*
   Receiver: priority of CNPs.
   */
  uint8_t cnp_priority;
};

/*
 A port of a node.
 */
struct bw_port {
  /*
   Its name, unique within its node.
   */
  char name[BW_NAME_BYTES];
  /*
   Index of its node.
   */
  uint32_t node;
  /*
   Index of the port at the other end; UINT32_MAX if it is on a device.
   */
  uint32_t peer;
  /*
   The device as DPDK calls it; empty if there is none.
   */
  char device[BW_DEVICE_BYTES];
  /*
   Source of its control frames; that of the node for hosts.
   */
  uint8_t mac[6];
  /*
   Emulated rate; 0: as fast as the device.
   */
  uint64_t rate_bps;
  /*
   The rate that times PAUSEs.
   */
  uint64_t nominal_bps;
  /*
   Emulated propagation delay.
   */
  uint64_t delay_ps;
  /*
   What a frame occupies on the wire beside its bytes.
   */
  uint32_t overhead_bytes;
  /*
   An enum bw_flow_control.
   */
  uint32_t flow_control;
  /*
   Bit p: priority p is under flow control.
   */
  uint8_t lossless;
  /*
   Under PFC.
   */
  struct bw_pfc_config pfc;
  /*
   Under PFC, in a storm: 0 drops the frames of the priority, 1 sends them.
   */
  uint32_t watchdog_action;
  /*
   Under credits: Tc.
   */
  uint64_t credit_period_ps;
  /*
   Under credits: when the first message goes.
   */
  uint64_t credit_phase_ps;
  /*
   Under credits: what a lane holds here.
   */
  uint64_t credit_buffer_bytes;
  /*
   Under credits: what a lane holds at the other end.
   */
  uint64_t peer_credit_buffer_bytes;
  /*
   Under PFC: what an ingress priority may hold; 0: as much as there are buffers.
   */
  uint64_t ingress_limit_bytes;
  /*
   What an egress queue without flow control may hold; 0: as much as there are buffers.
   */
  uint64_t lossy_queue_bytes;
};

/*
 A switch knows where a station is.
 */
struct bw_entry {
  /*
   Index of the switch.
   */
  uint32_t node;
  /*
   The port, counted within the switch.
   */
  uint32_t port;
  /*
   The station.
   */
  uint8_t mac[6];
};

/*
 A paced flow of RoCEv2 packets.
 */
struct bw_flow {
  /*
   Its name.
   */
  char name[BW_NAME_BYTES];
  /*
   Index of the sender.
   */
  uint32_t from;
  /*
   Index of the receiver.
   */
  uint32_t to;
  /*
   Of what its packets occupy on the wire; 0: whatever the link allows.
   */
  uint64_t rate_bps;
  /*
   First packet.
   */
  uint64_t start_ps;
  /*
   No packet is due from then on; UINT64_MAX: ever.
   */
  uint64_t stop_ps;
  /*
   Payload in all; 0: no end.
   */
  uint64_t size_bytes;
  /*
   Payload of a packet.
   */
  uint32_t payload_bytes;
  /*
   Destination queue pair.
   */
  uint32_t queue_pair;
  /*
   Variation of the distances between packets, in millionths.
   */
  uint32_t jitter_ppm;
  /*
   Its priority.
   */
  uint8_t priority;
  /*
   ECN bits.
   */
  uint8_t code;
  /*
   Whether what was held up is sent later, above the rate.
   */
  bool catch_up;
};

/*
 A data plane. The arrays belong to it.
 */
struct bw_testbed {
  /*
   When it ends; 0: with SIGTERM.
   */
  uint64_t duration_ps;
  /*
   Receivers count in windows of this length.
   */
  uint64_t window_ps;
  /*
   Of random numbers.
   */
  uint64_t seed;
  /*
   Packet buffers.
   */
  uint32_t frames;
  /*
   Bytes of each.
   */
  uint32_t frame_bytes;
  /*
   An enum bw_clock_kind.
   */
  uint32_t clock;
  /*
   Number of this process, from 0.
   */
  uint32_t process;
  /*
   How many there are.
   */
  uint32_t processes;
  /*
   How long a start waits for the links of devices to come up.
   */
  uint32_t link_timeout_ms;
  /*
   What a visit of a node adds (step) or adds at most; 0: to be computed from the links.
   */
  uint64_t clock_cap_ps;
  /*
   How far a process may be ahead (lockstep).
   */
  uint64_t lookahead_ps;
  /*
   A file that all processes map (lockstep).
   */
  char lockstep_page[BW_PAGE_BYTES];
  /*
   The nodes.
   */
  const struct bw_node *nodes;
  /*
   Their ports.
   */
  const struct bw_port *ports;
  /*
   What switches without learning know.
   */
  const struct bw_entry *entries;
  /*
   Traffic.
   */
  const struct bw_flow *flows;
  /*
   How many.
   */
  uint32_t node_count;
  /*
   How many.
   */
  uint32_t port_count;
  /*
   How many.
   */
  uint32_t entry_count;
  /*
   How many.
   */
  uint32_t flow_count;
};

/*
 Where PFC and credit messages go: 01:80:C2:00:00:01, which bridges do not forward.
 */
#define BW_PAUSE_ADDRESS { 1, 128, 194, 0, 0, 1, }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 A link that has just come up, with buffers of so many bytes here and at the other end. False if `unit_bytes` is no power of two
 up to 4096 or a buffer is smaller than one; then `why` (may be NULL) holds the sentence that says so. InfiniBand: 64.

 # Safety
 `lane` points to one; `why` to `why_size` bytes.
 */
bool bw_credit_init(struct bw_credit_lane *lane,
                    uint32_t unit_bytes,
                    uint64_t buffer_bytes,
                    uint64_t peer_buffer_bytes,
                    char *why,
                    size_t why_size);

/*
 Whether a packet of so many bytes may start.

 # Safety
 `lane` points to one.
 */
bool bw_credit_fits(const struct bw_credit_lane *lane, uint32_t bytes);

/*
 A packet that fits starts.

 # Safety
 `lane` points to one.
 */
void bw_credit_on_sent(struct bw_credit_lane *lane, uint32_t bytes);

/*
 A packet arrived; false if there is no room for it, which a correct other end never lets happen. It is not held then.

 # Safety
 `lane` points to one.
 */
bool bw_credit_on_arrival(struct bw_credit_lane *lane, uint32_t bytes);

/*
 A packet that arrived left the buffer.

 # Safety
 `lane` points to one.
 */
void bw_credit_on_departure(struct bw_credit_lane *lane, uint32_t bytes);

/*
 FCCL for the next message: what the other end may send in all.

 # Safety
 `lane` points to one.
 */
uint64_t bw_credit_granted(const struct bw_credit_lane *lane);

/*
 The other end has begun anew: its messages have been refused for a while, and this one is taken over nevertheless, but for a
 grant that its buffer does not allow.

 # Safety
 `lane` points to one.
 */
void bw_credit_on_restart(struct bw_credit_lane *lane,
                          uint64_t fctbs,
                          uint64_t fccl);

/*
 A message arrived. Takes both registers over, or neither.

 # Safety
 `lane` points to one.
 */
enum bw_credit_verdict bw_credit_on_message(struct bw_credit_lane *lane, uint64_t fctbs, uint64_t fccl);

/*
 Makes a detector of its parameters. False if they are refused; then `why` (may be NULL) holds the sentence that says so, and
 the detector marks nothing.

 # Safety
 `detector` and `config` point to one of each; `why` to `why_size` bytes.
 */
bool bw_detector_init(struct bw_detector *detector,
                      const struct bw_detector_config *config,
                      char *why,
                      size_t why_size);

/*
 Judges the port and returns the new code point of the packet. `random` is the state of a generator of random numbers (any
 value begins a sequence), moved on where the outcome is random. `state` (may be NULL) becomes an enum bw_port_state.

 # Safety
 The pointers point to one of each.
 */
uint8_t bw_detector_on_dequeue(const struct bw_detector *detector,
                               struct bw_registers *registers,
                               const struct bw_departure *departure,
                               uint64_t *random,
                               uint8_t *state);

/*
 The gate of the port opened (a RESUME, the end of a PAUSE, an update that lets a waiting packet go) with `queue_bytes` in
 `packets` frames behind it. Not to be called where the gate was open already.

 # Safety
 The pointers point to one of each.
 */
void bw_detector_on_resume(const struct bw_detector *detector,
                           struct bw_registers *registers,
                           uint64_t now_ps,
                           uint64_t queue_bytes,
                           uint32_t packets);

/*
 Reads a frame (without its check sequence). False if it is too short, too long, or has values that its format does not have; then
 `why` (may be NULL, which is faster) holds the sentence that says so, and `frame` is not written.

 # Safety
 `data` points to `length` bytes, `frame` to one, `why` to `why_size` bytes.
 */
bool bw_frame_parse(const uint8_t *data,
                    size_t length,
                    struct bw_frame *frame,
                    char *why,
                    size_t why_size);

/*
 Writes a line for people about a frame, or why it cannot be read; returns the length of the text.

 # Safety
 `data` points to `length` bytes, `text` to `size` bytes.
 */
size_t bw_frame_describe(const uint8_t *data, size_t length, char *text, size_t size);

/*
 Whether the ICRC of a RoCEv2 frame agrees with its bytes; false for any other frame.

 # Safety
 `data` points to `length` bytes.
 */
bool bw_roce_icrc_good(const uint8_t *data, size_t length);

/*
 Writes a PFC frame; returns its length (60), or 0 if `size` is less.

 # Safety
 `source` points to 6 bytes, `frame` to one, `buffer` to `size` bytes.
 */
size_t bw_pfc_frame_write(uint8_t *buffer, size_t size, const uint8_t *source, const struct bw_pfc_frame *frame);

/*
 Writes a credit message; returns its length (60 to BW_CREDIT_FRAME_MOST), or 0 if `size` is less.

 # Safety
 As bw_pfc_frame_write.
 */
size_t bw_credit_frame_write(uint8_t *buffer, size_t size, const uint8_t *source, const struct bw_credit_frame *frame);

/*
 Writes a RoCEv2 frame with `payload_bytes` of `payload` (NULL: zeros, of which at most 9216) and its ICRC; a CNP has no payload of
 its own. Returns the length, or 0 if there is no room for it.

 # Safety
 The pointers point to what their names say.
 */
size_t bw_roce_frame_write(uint8_t *buffer,
                           size_t size,
                           const struct bw_roce_frame *frame,
                           const uint8_t *payload,
                           size_t payload_bytes);

/*
 Writes the ECN bits of the IPv4 or IPv6 header at `ip` (of which `length` bytes are there); the checksum follows. The ICRC does not
 cover them. False if that is neither.

 # Safety
 `ip` points to `length` bytes.
 */
bool bw_frame_set_code(uint8_t *ip,
                       size_t length,
                       uint8_t code);

/*
 How long so many quanta of 512 bit times are at a rate, rounded up; 0 at rate 0.
 */
uint64_t bw_pfc_quanta_ps(uint64_t rate_bps, uint16_t quanta);

/*
 False if the parameters contradict each other; then `why` (may be NULL) holds the sentence that says so.

 # Safety
 `config` points to one; `why` to `why_size` bytes.
 */
bool bw_pfc_check(const struct bw_pfc_config *config, char *why, size_t why_size);

/*
 A frame came into the buffer of this ingress priority.

 # Safety
 The pointers point to one of each.
 */
enum bw_pfc_decision bw_pfc_on_arrival(struct bw_pfc_ingress *ingress,
                                       const struct bw_pfc_config *config,
                                       uint64_t now_ps,
                                       uint32_t bytes);

/*
 A frame left it.

 # Safety
 The pointers point to one of each.
 */
enum bw_pfc_decision bw_pfc_on_departure(struct bw_pfc_ingress *ingress,
                                         const struct bw_pfc_config *config,
                                         uint32_t bytes);

/*
 Time passes: a PAUSE in force is to be sent again at half of its length (not before renew_at_ps).

 # Safety
 The pointers point to one of each.
 */
enum bw_pfc_decision bw_pfc_on_time(struct bw_pfc_ingress *ingress,
                                    const struct bw_pfc_config *config,
                                    uint64_t now_ps);

/*
 A PAUSE that lasts for `lasts_ps` arrived; 0 is a RESUME. In a storm it changes nothing.

 # Safety
 `gate` points to one.
 */
enum bw_gate_change bw_pfc_gate_on_pause(struct bw_pfc_gate *gate, uint64_t now_ps, uint64_t lasts_ps);

/*
 Time passes: a pause ends by itself (not before opens_at_ps).

 # Safety
 `gate` points to one.
 */
enum bw_gate_change bw_pfc_gate_on_time(struct bw_pfc_gate *gate, uint64_t now_ps);

/*
 Looks for a peer that never resumes; `waiting`: frames are queued behind the gate.

 # Safety
 The pointers point to one of each.
 */
enum bw_storm_change bw_pfc_watch(struct bw_pfc_gate *gate,
                                  const struct bw_pfc_config *config,
                                  uint64_t now_ps,
                                  bool waiting);

/*
 Reads the file at `path`. On success `*testbed` is to be given back to bw_testbed_free, and `why` (may be NULL) holds the warnings, a line
 each, or nothing. Else it is NULL, false is returned, and `why` holds the report: one paragraph per problem with its line, what is allowed
 and a fix (4096 bytes hold most).

 # Safety
 `path` is a text that ends with NUL, `testbed` points to a pointer, `why` to `why_size` bytes.
 */
bool bw_testbed_parse(const char *path,
                      struct bw_testbed **testbed,
                      char *why,
                      size_t why_size);

/*
 Gives back what bw_testbed_parse has made; NULL does nothing.

 # Safety
 `testbed` comes from bw_testbed_parse, unchanged but for its plain numbers, and is not used any more.
 */
void bw_testbed_free(struct bw_testbed *testbed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BACKWATER_H */
