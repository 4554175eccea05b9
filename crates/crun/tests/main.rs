//! The header, and programs that use it.
mod astra;
mod c;
#[path = "../../capi/tests/header.rs"]
mod header;
