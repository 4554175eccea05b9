//! Exact reuse: iterations that start from the same state are counted, not simulated.
//!
//! ```text
//!   iteration      0  1  2  3  4  5  6  ·  ·  ·  ·  ·  ·  98  99
//!   state          a  b  c  d  e  f  d        the state of iteration 6 is that of iteration 3: what follows is what followed then
//!   simulated      █  █  █  █  █  █  ░  ░  ░  ░  ░  ░  ░  █   █
//! ```
//! What happens follows from the state of the network and from what is still to be sent ([`laps`]), by rules that no instant is a part of.
//! So where all of both is the same but for the time that has passed, and for the numbers of flows, what happens is the same, too.
//! State is compared byte by byte, as [`relative`] writes it; a hash finds candidates only. What follows is not made up: the last
//! iterations are simulated to the end, and the iterations between are those of the period again ([`crate::simulation::reuse`]).
//!
//! A field of state that nobody thought of is written as it is: it differs where instants do, which only prevents reuse. Whoever adds
//! one that holds an instant, a flow or a count says so by `serialize_with` (`backwater_units::relative`, [`relative`]).
pub(crate) mod laps;
pub(crate) mod relative;
