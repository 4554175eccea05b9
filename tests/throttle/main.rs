//! NICs that throttle themselves by the credits that they use: when packets leave, who is slowed down, what is recorded of it.
mod alike;
mod crowded;
mod gaps;
mod lanes;
mod ports;
mod stopped;
