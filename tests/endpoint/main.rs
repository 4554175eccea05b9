//! PUT streams to endpoints slower than their links, against arithmetic and the independent simulation in `oracle/`.
mod marks;
