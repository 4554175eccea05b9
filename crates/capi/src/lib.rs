//! For a data plane in C: the algorithms of `control` and the frames of `wire` behind plain functions and structs.
//!
//! `include/backwater.h` is generated from this crate (`tests/header.rs` keeps it in step). Structs are the caller's; nothing is
//! allocated by a call that a packet needs; times are picoseconds. A panic aborts the program: no call unwinds into C.
#![allow(non_camel_case_types, reason = "the names of the C header, which is generated from these types")]
#![allow(unsafe_code, reason = "a C interface is made of pointers")]
#![allow(clippy::doc_markdown, reason = "the comments are those of the C header, which has no markup")]

pub mod credits;
pub mod detector;
pub mod frame;
pub mod pfc;
pub mod testbed;
mod text;
mod write_text;
