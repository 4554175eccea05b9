//! Defaults of the kinds of `[[traffic]]`; their sources stand at the keys.
use backwater_units::{Bytes, Span};

use super::choices::LoadCounts;
use super::{Congestor, Names, NetworkTest};
use crate::quantity::Quantity;

pub(super) const fn yes() -> bool {
    true
}

pub(crate) const fn ten_us() -> Quantity<Span> {
    Quantity(Span::from_us(10))
}

pub(super) const fn word() -> Quantity<Bytes> {
    Quantity(Bytes::new(8))
}

pub(super) const fn one() -> u32 {
    1
}

pub(super) const fn two() -> u32 {
    2
}

pub(super) const fn four() -> u32 {
    4
}

pub(super) const fn eight() -> u32 {
    8
}

pub(super) const fn ten() -> u32 {
    10
}

pub(super) const fn sixteen() -> u32 {
    16
}

pub(super) const fn tenth() -> f64 {
    0.1
}

pub(super) const fn quarter() -> f64 {
    0.25
}

pub(super) const fn half() -> f64 {
    0.5
}

pub(super) const fn four_fifths() -> f64 {
    0.8
}

pub(super) const fn four_kib() -> Quantity<Bytes> {
    Quantity(Bytes::new(4096))
}

pub(super) fn congestors() -> Vec<Congestor> {
    vec![Congestor::AllToAll, Congestor::Incast, Congestor::PutIncast, Congestor::GetBroadcast]
}

pub(super) fn tests() -> Vec<NetworkTest> {
    vec![NetworkTest::Latency, NetworkTest::Bandwidth, NetworkTest::Allreduce]
}

pub(super) const fn wire() -> LoadCounts {
    LoadCounts::Wire
}

pub(crate) fn everybody() -> Names {
    Names::One("*".to_owned())
}

pub(crate) const fn six_hundred_ns() -> Quantity<Span> {
    Quantity(Span::from_ns(600))
}
