//! Every code, and what it means.
use crate::{Explained, Kind};

/// Makes the enum with its texts.
macro_rules! codes {
    ($($name:ident: $kind:ident $id:literal { short: $short:literal, means: $means:literal, todo: $todo:literal, })*) => {
        /// The code of a message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $short] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What it means and what to do about it.
            pub fn explained(self) -> Explained {
                match self {
                    $(Self::$name => Explained { id: $id, kind: Kind::$kind, short: $short, means: $means, todo: $todo },)*
                }
            }
        }
    };
}

codes! {
// Problems of a file: nothing was run.
Syntax: Error "syntax" {
    short: "The file is no TOML, is empty, or is not text.",
    means: "The place that is shown is where reading stopped; what is wrong may stand shortly before it.",
    todo: "Look for a missing quote, bracket or =. Quantities are texts: rate = \"40Gbps\".",
}
UnknownKey: Error "unknown-key" {
    short: "A key that its table does not have.",
    means: "Every key is checked, so that a slip does not leave a default in force. Some keys are known under another name or in another table; the message says so.",
    todo: "Take the key that is suggested, or look the table up: backwater explain switch.detector.",
}
MissingKey: Error "missing-key" {
    short: "A table lacks a key that has no default, such as its kind.",
    means: "Networks and traffic have no defaults: what they are must be said.",
    todo: "Add the key; its meaning is in the message.",
}
WrongType: Error "wrong-type" {
    short: "A value of another type than the key has: a number for a text, a text for a list.",
    means: "Quantities are texts with their units, so that nobody has to guess them.",
    todo: "Write the value as the message says.",
}
UnknownWord: Error "unknown-word" {
    short: "A word that is none of those that the key can have.",
    means: "The words are listed in the message, and by backwater explain KEY.",
    todo: "Take one of them.",
}
OutOfRange: Error "out-of-range" {
    short: "A number or quantity outside of what is allowed, or without a unit that is known.",
    means: "Ranges keep out what the model does not mean; each is in the message.",
    todo: "Give a value within the range.",
}
Override: Error "override" {
    short: "A --set that names nothing, or has no value.",
    means: "An override is KEY=VALUE with the key's full path: --set switch.detector.kind=red. An entry of a list is named by its name or number: traffic.bursts.load.",
    todo: "Write the path as it would stand in the file.",
}
File: Error "file" {
    short: "The scenario's file cannot be read as a whole, or its parts do not fit together.",
    means: "The message says what was looked for and where.",
    todo: "Paths count from the folder of the scenario's file.",
}
// Broken promises of the model, which end a run.
BufferOverflow: Invariant "buffer-overflow" {
    short: "A switch that must not lose packets has no room for one.",
    means: "Under PFC the buffer holds thresholds and headroom of all ports. If they do not fit, or flow control is off, a lossless network would lose packets; the run stops instead of doing so.",
    todo: "Raise switch.buffer or lower the thresholds, as the message computes; or say that losses are meant: switch.overflow = \"drop\".",
}
HeadroomOverflow: Invariant "headroom-overflow" {
    short: "More arrived after a PAUSE than the headroom of the port holds.",
    means: "Until a PAUSE works, 2 · delay · rate, two packets and the PFC frame are under way (backwater pfc headroom computes it).",
    todo: "Set switch.pfc.headroom to what the message says, or \"auto\".",
}
RegionOverflow: Invariant "region-overflow" {
    short: "The ingress region of a port of a switch with combined queueing is full.",
    means: "PFC's stop leaves less room than what arrives after a PAUSE.",
    todo: "Lower the thresholds (stop), or raise switch.combined.ingress.",
}
CreditOverflow: Invariant "credit-overflow" {
    short: "A packet came for which there were no credits: a bug of Backwater.",
    means: "Both ends of a link count credits; they disagree. No scenario should be able to do that.",
    todo: "Please report it with the output of backwater doctor and the scenario.",
}
OutOfOrder: Invariant "out-of-order" {
    short: "Packets of one flow came in another order than they were sent: a bug of Backwater.",
    means: "Every path keeps the order of a flow, with ECMP, isolation and replays.",
    todo: "Please report it with the output of backwater doctor and the scenario.",
}
ReceiveOverflow: Invariant "receive-overflow" {
    short: "A slow host's receive queue has no room for a frame, in a network that must not lose any.",
    means: "The host drains more slowly than packets come, and nothing holds the sender back in time.",
    todo: "Raise host.queue or host.drain, or let flow control guard it; the message says which.",
}
NoProgress: Invariant "no-progress" {
    short: "Hosts hold packets that they will never drain.",
    means: "Their drain rate is 0 and stays 0, so their flows cannot finish.",
    todo: "Raise host.drain, or let host.pattern end at a rate above 0.",
}
NoAck: Invariant "no-ack" {
    short: "A PUT expired again and again, and nothing of its stream got through.",
    means: "Something drops every copy: the target's queue, or a switch.",
    todo: "Look at probe.puts and probe.drops; raise host.drain, host.queue, switch.port-buffer or put.retry. put.retries is the limit.",
}
RanksWait: Invariant "ranks-wait" {
    short: "Ranks wait for calls of other ranks that never come.",
    means: "A send without its receive, a barrier that not all call, a circle of blocking sends: the program would hang on a real machine as well.",
    todo: "The message names each rank, its place in the program and what it waits for.",
}
TooMuchOpen: Invariant "too-much-open" {
    short: "A rank has more requests or unreceived messages open than there may be.",
    means: "Its loop posts without ever waiting, or nobody receives what is sent.",
    todo: "Wait in each turn for what it posts, or set run.until.",
}
Truncated: Invariant "truncated" {
    short: "A message is longer than its receive has room for.",
    means: "MPI makes that an error (MPI_ERR_TRUNCATE), and so does this.",
    todo: "Give the receive as many bytes as the send.",
}
Deadlock: Invariant "deadlock" {
    short: "Egress ports wait for each other in a circle, and no packet moves.",
    means: "Flow control holds each port back for the next one of the circle. Up-and-down routes, or lanes that change, have no such circles: backwater topology FILE says which routing is free of them.",
    todo: "Change the routing or the topology; before the run the caveat deadlock-possible names such a circle.",
}
Throttled: Invariant "throttled" {
    short: "NICs throttle themselves to nothing, and no credit comes back that would change it.",
    means: "PFT's function of the credits in use is so steep that the NIC never sends again.",
    todo: "Lower host.throttle.pft.m or host.throttle.pft.k.",
}
TooLong: Invariant "too-long" {
    short: "Simulated time is used up before the flows are done.",
    means: "Simulated time ends after 18 014 s (2^54 ps).",
    todo: "Set run.until, send less, or raise the rates.",
}
PacketsMissing: Invariant "packets-missing" {
    short: "At the end of a run packets of a flow or a link are missing, or counted twice: a bug of Backwater.",
    means: "The packets sent must be those delivered, dropped by a reason, come twice, and still under way. This is added up for each flow and each link.",
    todo: "Do not use the results. Please report it with the output of backwater doctor and the scenario; if the core has code of your own, look there first.",
}
Audit: Invariant "audit" {
    short: "A bug of Backwater, such as a counter that does not add up at the end of a run.",
    means: "Bytes, credits, tables and frames are added up at the end of each run.",
    todo: "Please report it with the output of backwater doctor and the scenario.",
}
UserFunction: Invariant "user-function" {
    short: "A congestion control or detector of yours raised an error or gave what makes no sense.",
    means: "The message shows the function, its line and what it got.",
    todo: "See docs/extend.md; the check of a function before the run finds most of it.",
}
Results: Invariant "results" {
    short: "Results could not be written.",
    means: "The disk is full, or the folder has gone or may not be written to.",
    todo: "Make room or name another folder (--out).",
}
// What to know before results are used.
NoEffect: Caveat "no-effect" {
    short: "Keys were written that this run does not read.",
    means: "For example cc.timely.beta beside cc.kind = \"dcqcn\", switch.pfc.xoff under credits, or a fault that loses a share of 0. The run is what it would be without them.",
    todo: "Take them out, or choose the kind that reads them.",
}
RailsDiffer: Caveat "rails-differ" {
    short: "Ranks send by rails that their destinations are not at.",
    means: "Hosts have other numbers of ports than those that they send to, and no switch in common with them. The number of the receiving rank then chooses a port, but none is at its rail.",
    todo: "Write host.nic.port = \"hash\", or give all hosts as many ports.",
}
DeadlockPossible: Caveat "deadlock-possible" {
    short: "The routes of this traffic have a circle of buffers that can wait for each other.",
    means: "Whether it happens depends on the load; if it does the run ends with the error deadlock.",
    todo: "backwater topology FILE shows which routing has no circles.",
}
UnreachableThreshold: Caveat "unreachable-threshold" {
    short: "A port that one link fills cannot have a queue above K, the threshold of the ground truth.",
    means: "Such a port is no root, and its flows are no culprits: backwater blame may name nobody, and precision and recall count little. Ports that several links fill may still be roots.",
    todo: "Leave probe.blame-threshold at \"auto\" or lower it, or give the switches more memory (switch.credits.buffer, switch.pfc.xoff, switch.buffer).",
}
StormHolds: Caveat "storm-holds" {
    short: "When the run ended a NIC still sent PAUSE without end, and packets waited behind it.",
    means: "Nothing opened that port before the end: what waits there, and behind it, had not arrived.",
    todo: "Set switch.pfc.watchdog.action. If it is set, lower switch.pfc.watchdog.detect: it looks so long after the gate has closed. Or let the storm end before (until).",
}
RoutesStay: Caveat "routes-stay" {
    short: "Links fail in a network whose routes are not computed again.",
    means: "Switches leave a failed port out where they choose among several. Packets with one way alone are lost until the link is up.",
    todo: "Let the links come up again (for, until), or set topology.routing = \"ecmp\" where the topology has it.",
}
WatchdogFlaps: Caveat "watchdog-flaps" {
    short: "A PFC watchdog takes a storm for over between two of its PAUSEs.",
    means: "PAUSEs that end by themselves are renewed at half of their length. With a shorter restore the watchdog closes and opens again and again during one storm.",
    todo: "Raise restore above half of switch.pfc.pause, and above switch.pfc.poll.",
}
NotLossless: Caveat "not-lossless" {
    short: "A priority carries traffic that flow control does not guard.",
    means: "Its packets are not held back; a full switch stops the run, or drops them with switch.overflow = \"drop\".",
    todo: "Add the priority to switch.pfc.priorities or switch.credits.priorities.",
}
ShortHeadroom: Caveat "short-headroom" {
    short: "The headroom rule of the HPCC simulator leaves less than what can arrive after a PAUSE.",
    means: "Its rule counts no packets. Often nothing happens; an overflow stops the run.",
    todo: "Write switch.pfc.headroom = \"802.1qbb\", or a size of your own.",
}
OtherLineRate: Caveat "other-line-rate" {
    short: "The profile's buffer, thresholds and increments are those of links of another rate.",
    means: "PAUSE comes too early or too late, ECN marks too early or too late, and DCQCN comes back too slowly or too fast: its numbers say little of links as fast as these.",
    todo: "Give your own values, or make the profile's follow with line-rate.scale = true.",
}
TargetForgotten: Caveat "target-forgotten" {
    short: "A flow that meets UE after a cut forgets the rate that it had.",
    means: "With reset-hold the target falls to the rate, and the increments lead back in more time than the flows take.",
    todo: "Set cc.dcqcn.on-ue = \"timer-hold\" (the TCD paper's words), or larger increments.",
}
SlowCredits: Caveat "slow-credits" {
    short: "A link cannot reach its rate with the credits that its lane has.",
    means: "Credits return after a round trip and a period; a smaller buffer runs dry before (backwater cbfc feasibility computes it).",
    todo: "Raise switch.credits.buffer, or shorten switch.credits.period.",
}
LongCreditPeriod: Caveat "long-credit-period" {
    short: "The period of credit updates is longer than InfiniBand allows.",
    means: "The specification sends one at least every 65 536 symbol times.",
    todo: "Shorten switch.credits.period, unless the paper that you follow has it.",
}
HostNotGuarded: Caveat "host-not-guarded" {
    short: "A slow host has no flow control in front of it.",
    means: "Queue pairs do not send again what is lost, so that a full receive queue stops the run.",
    todo: "Set switch.flow-control, or use PUTs (transport = \"put\"), which send again.",
}
DrainTooFast: Caveat "drain-too-fast" {
    short: "The drain of a host is faster than its link: it has no effect.",
    means: "No more than a packet ever waits there, as with \"unlimited\".",
    todo: "Set host.drain below the rate of the link.",
}
TwoMarkers: Caveat "two-markers" {
    short: "A detector marks beside ICI+, which marks only what isolation cannot manage.",
    means: "Reaction points then hear of both.",
    todo: "As in the ICI paper: switch.detector.kind = \"none\".",
}
NobodyListens: Caveat "nobody-listens" {
    short: "Packets are marked, but no sender reacts to marks.",
    means: "With cc.kind = \"none\" or timely, ICI+ is ICI.",
    todo: "Choose a reaction point that listens, such as dcqcn.",
}
NoMarks: Caveat "no-marks" {
    short: "A controller that is guided by marks gets none, as no detector marks.",
    means: "DCTCP's window then only grows, and PCN's rate, until flow control holds the host back.",
    todo: "Set switch.detector.kind = \"red\", with kmin and kmax.",
}
TcdWithoutOff: Caveat "tcd-without-off" {
    short: "TCD tells apart what waits for PAUSEs or credits, and nothing waits for them here.",
    means: "Without flow control no port is ever OFF. So TCD never says UE, and marks CE as ECN with the same thresholds.",
    todo: "Set switch.detector.kind = \"red\", or switch.flow-control = \"pfc\".",
}
DropsBeforeMarks: Caveat "drops-before-marks" {
    short: "Switches drop packets before their queues are as long as marking needs.",
    means: "Congestion control then hears of losses, and of few marks or none.",
    todo: "Lower switch.detector.kmax below switch.port-buffer, or raise that.",
}
WindowsForOthers: Caveat "windows-for-others" {
    short: "One window serves flows whose paths or links are quite unlike.",
    means: "It follows from the longest round trip and the fastest sender; flows with less may have more under way than fits their path, and fill queues.",
    todo: "Give their [[traffic]] a cc of its own with a window (swift: base-target and hop too) that fits, or set the value for all.",
}
RampForDctcp: Caveat "ramp-for-dctcp" {
    short: "DCTCP runs with RED's ramp instead of its one threshold.",
    means: "Its α is the share of marked packets; from a ramp, few are marked until queues are long.",
    todo: "Set switch.detector.kmin and kmax to 30 KB for each 10 Gbps.",
}
FreeTelemetry: Caveat "free-telemetry" {
    short: "HPCC's telemetry costs no bytes in this run.",
    means: "Its packets carry 42 B for 5 hops, its ACKs too: 4 % of a packet of 1000 B.",
    todo: "Set packet.header = \"62B\" and ack.size = \"106B\".",
}
TargetOff: Caveat "target-off" {
    short: "A target or round trip that was set does not fit this network.",
    means: "A Swift target below the empty network's round trip shrinks windows for ever; HPCC's windows are T times the rate.",
    todo: "Leave the keys out (auto), or compute them from the delays of the links.",
}
PutsNotIsolated: Caveat "puts-not-isolated" {
    short: "NICs isolate queue pairs, not PUT streams.",
    means: "PUTs leave their hosts in the priority of their traffic, and are isolated from the first switch on.",
    todo: "Nothing, if that is what you study.",
}
NoSlots: Caveat "no-slots" {
    short: "The congested-flow table is too small for a single entry.",
    means: "Every attempt to isolate a flow is refused.",
    todo: "Raise switch.isolation.slots.",
}
StartsLate: Caveat "starts-late" {
    short: "Traffic starts after the end of the run.",
    means: "None of it is in the results.",
    todo: "Raise run.until, or let it start earlier.",
}
WeightsRounded: Caveat "weights-rounded" {
    short: "Weights of virtual lanes act otherwise than they look, as packets are sent whole.",
    means: "A weight counts 64 B; a packet that begins within it takes all of its bytes.",
    todo: "Use multiples of what the message names.",
}
Overload: Caveat "overload" {
    short: "More is offered than links carry: messages wait ever longer.",
    means: "Slowdowns then grow with the length of the run and say little about congestion control.",
    todo: "Lower the load, or count headers in it: load-counts = \"wire\".",
}
RetryTooShort: Caveat "retry-too-short" {
    short: "Packets expire before their ACK can be back.",
    means: "What is not lost is sent again.",
    todo: "Raise put.retry, or the timeouts of [transport], above the round trip that the message names.",
}
ReliabilityIdle: Caveat "reliability-idle" {
    short: "Queue pairs would send again what is lost, and nothing can be lost.",
    means: "The timers and the cap of what is under way act all the same.",
    todo: "Let switches drop packets (switch.overflow = \"drop\"), or write transport.reliability = \"none\".",
}
BlameWithoutPauses: Caveat "blame-without-pauses" {
    short: "Blame needs the table of closed gates, which is not recorded.",
    means: "backwater blame will refuse this run.",
    todo: "Set both probe.blame and probe.pauses, or neither.",
}
ThrottleIdle: Caveat "throttle-idle" {
    short: "PFT never throttles: its function is 0 for all the credits that a port has.",
    means: "f(c) = ((c << m) >> n) + k.",
    todo: "Raise host.throttle.pft.m, lower host.throttle.pft.n, or raise switch.credits.buffer.",
}
ThrottleStops: Caveat "throttle-stops" {
    short: "PFT's fixed interval is so long that a port that becomes congested stops.",
    means: "The PFT paper has m = 0 and n from 8 to 12.",
    todo: "Lower host.throttle.pft.m or raise host.throttle.pft.n.",
}
ThrottleAlways: Caveat "throttle-always" {
    short: "A host at line rate uses so many credits without congestion that PFT may throttle it.",
    means: "Credits come back after a round trip and a period; long links have many under way.",
    todo: "Raise host.throttle.pft.enter, or shorten the period of the credits.",
}
ThrottleClock: Caveat "throttle-clock" {
    short: "PFT's clock does not fit a host's link: a cycle is the time of several flits, or of a part of one.",
    means: "f(c) counts cycles of 700 MHz in the PFT paper, in which a link of 100 Gbps carries one flit. Gaps are too long, or too short.",
    todo: "Set host.throttle.pft.clock-mhz to the flits that the link carries in a microsecond.",
}
Budget: Caveat "budget" {
    short: "A table reached the bytes of results that were allowed; later rows are missing.",
    means: "probe.budget bounds what a run may write, so that no run fills the disk.",
    todo: "Raise probe.budget, or record less: fewer ports, a longer probe.sample.",
}
UnlikePreset: Caveat "unlike-preset" {
    short: "A size of your own is four times as large or as small as what is published of the switch.",
    means: "switch.preset names a device; this switch has little in common with it. The message has both values.",
    todo: "Check the unit, take the value out of the file, or take switch.preset out.",
}
HoldsTooLong: Caveat "holds-too-long" {
    short: "What is held upstream is let go so late that the link idles meanwhile.",
    means: "After a queue lets go, a round trip of the hop passes until the next packet comes. What is left in the queue has to last for so long.",
    todo: "Raise low, in switch.isolation.dst-pfc, pyrrha or recn, to 1 hop or more.",
}
UplinksNotHeld: Caveat "uplinks-not-held" {
    short: "Ports of a switch to higher tiers are never roots of congestion, so that nothing is held upstream for their sake.",
    means: "Such a port is a root only with switch.isolation.pyrrha.hol times the mean queue of these ports, which few ports cannot reach. What they cannot send waits in the memory of the switch, which may run out and stop the run.",
    todo: "Set switch.isolation.pyrrha.hol = 0 and only-down = false, or give the switch more links to higher tiers.",
}
ReuseIdle: Caveat "reuse-idle" {
    short: "run.reuse = true has counted no iteration: all were simulated.",
    means: "Iterations are counted if the network starts from the same state as in an earlier one, byte by byte. Draws, ways that switches choose by the number of a flow, clocks of their own and other traffic keep states apart; the message says what did, as far as that is known.",
    todo: "Write run.reuse = false, which also brings back the tables of single events, or take away what keeps iterations apart. What there is are the results of the whole run.",
}
// What is said besides, and changes nothing.
UnlikeLineRate: Note "unlike-line-rate" {
    short: "The profile's thresholds and increments are those of links of another rate, less than four times as fast or slow.",
    means: "Such links are near enough that results seldom mislead; further away it is the caveat other-line-rate.",
    todo: "Give your own values, or make the profile's follow with line-rate.scale = true.",
}
FollowsLineRate: Note "follows-line-rate" {
    short: "Values of the profile follow the rate of the links.",
    means: "With line-rate.scale = true they are in proportion to the rate of most hosts' links; the message has what came of it.",
    todo: "Nothing; a value of your own stays as you give it.",
}
ByServersFirst: Note "by-servers-first" {
    short: "A collective that names no algorithm goes by scale-up switches first.",
    means: "Where ranks next to each other share a scale-up switch, hierarchical is the default: what can stay in a server stays there.",
    todo: "Nothing; write algorithm = \"ring\", or another of those without servers, to have it instead.",
}
OwnAtLineRate: Note "own-at-line-rate" {
    short: "Values of your own stand where the profile has others at the rate of these links.",
    means: "What you give never follows the rate; in brackets is what the profile would have.",
    todo: "Take them out of the file if they should follow.",
}
SameAtEveryRate: Note "same-at-every-rate" {
    short: "An override of the detector's ramp counts at every rate, also in the rows of the file.",
    means: "switch.detector.kmin, kmax and pmax of a scheme or of --set replace those in switch.detector.by-rate.",
    todo: "Override the rows themselves to keep them apart.",
}}
