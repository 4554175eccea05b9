//! Networks and the ways through them.
mod ai_pod;
mod computed;
mod deadlock;
mod generators;
mod hpcc_reader;
mod multistage;
mod network;
mod reroutes;
mod routing;
mod several_ports;
mod structured;
mod subnet;
mod xgft;
