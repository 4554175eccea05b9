//! The header, and a program in C that uses it.
mod c;
#[path = "../../capi/tests/header.rs"]
mod header;
