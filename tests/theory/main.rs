//! What theory says about a network, the fabric must say too: store-and-forward arithmetic, the M/D/1 queue, the ON
//! periods of the TCD paper under PFC and credits, the headroom of IEEE 802.1Qbb, the shares of flows under DCQCN and TIMELY and of virtual
//! lanes under their weights, static routes on a fat tree, the calls of rank programs, also where a packet is
//! lost.
mod credits;
mod headroom;
mod lanes;
mod lone_flow;
mod md1;
mod on_off;
mod ranks;
mod resent;
mod sharing;
mod static_routes;
