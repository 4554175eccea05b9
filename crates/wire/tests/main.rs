//! Frames, against fixtures, against tshark, and there and back.
mod fixtures;
mod refused;
mod round_trips;
mod tshark;
