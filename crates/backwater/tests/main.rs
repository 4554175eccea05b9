//! Scenarios from their text to results, through the library.
mod checkpoint;
mod errors;
mod estimate;
mod headroom;
mod roce;
mod stepped;
