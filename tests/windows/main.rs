//! Reaction points that limit what is under way (DCTCP, Swift, HPCC), in a fabric: what their papers promise of queues and links, and
//! one course on every engine.
mod acks;
mod alike;
mod laws;
mod settings;
