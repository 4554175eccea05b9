//! Kinds of routers: who is served when, what head-of-line blocking costs, whose memory it is; and one course on every engine.
mod booksim;
mod engines;
mod memory;
mod order;
mod saturation;

use backwater_fabric::Queueing;

const ROUTERS: [Queueing; 5] =
    [Queueing::Output, Queueing::VirtualOutput, Queueing::OldestFirst, Queueing::Input, Queueing::Shared];
