//! One scenario and one seed have one outcome: whatever the engine, the number of threads, the probes and the compiler
//! profile.
mod combined;
mod combined_draws;
mod draws;
mod fingerprint;
mod fixed;
mod jobs;
mod lanes;
mod loaded;
mod looked_at;
mod puts;
mod puts_draws;
mod ranks;
mod ranks_draws;
mod seeds;
mod swarm;
mod user;
