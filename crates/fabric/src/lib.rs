//! For model builders: the fabric itself — links, ports, switches, NICs and queue pairs on the event core.
pub mod record;
