//! Scenarios from their text to results, through the library.
mod estimate;
mod headroom;
mod roce;
