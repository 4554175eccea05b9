//! What must hold in every run, whatever is sent: nothing is lost or reordered, every PAUSE ends, a fabric that can not go
//! on says so.
mod aside;
mod books;
mod circles;
mod conservation;
mod credits;
mod deadlock;
mod drops;
mod holds;
mod jams;
mod lossy_draws;
mod mixed;
mod parts;
mod pauses;
mod priorities;
mod shares;
mod slow_hosts;
mod sources;
mod stuck;
