//! Testbeds as people write them, and their page of the reference.
mod parse;
mod reference;
