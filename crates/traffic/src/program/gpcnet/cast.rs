//! Who does what: all that is drawn.
use backwater_engine::{Stream, stream};

use super::Gpcnet;
use crate::stream::{GPCNET, below, entity};

/// Communicators and rings, by ranks.
pub(super) struct Cast {
    /// For each slice the ranks that test.
    pub(super) slices: Vec<Vec<u32>>,
    /// For each slice and each of its rings the neighbours before and after each member.
    pub(super) rings: Vec<Vec<Neighbours>>,
    /// For each kind of congestor and each slice its ranks, the first of which is the root of what has one.
    pub(super) congestors: Vec<Vec<Vec<u32>>>,
}

/// By place in a slice the ranks before and after it in a ring.
pub(super) type Neighbours = Vec<(u32, u32)>;

impl Cast {
    pub(super) fn draw(settings: &Gpcnet, hosts: u32, group: u16, seed: u64) -> Self {
        let random = |number| stream(seed, GPCNET, entity(group, number));
        let per_host = settings.ranks_per_host;
        let mut nodes: Vec<u32> = (0..hosts).collect();
        shuffle(&mut nodes, &mut random(0));
        let (congesting, testing) = nodes.split_at(settings.congestor_hosts(hosts) as usize);
        let mut kind_of: Vec<u32> = (0..congesting.len() as u32).collect();
        shuffle(&mut kind_of, &mut random(1));
        let slices_of = |nodes: &[u32]| -> Vec<Vec<u32>> {
            (0..per_host).map(|j| nodes.iter().map(|node| node * per_host + j).collect()).collect()
        };
        let kinds = settings.congestors.len() as u32;
        let of_kind = |kind| {
            let nodes = congesting.iter().zip(&kind_of).filter(|(_, number)| **number % kinds == kind);
            slices_of(&nodes.map(|(node, _)| *node).collect::<Vec<_>>())
        };
        let congestors = (0..kinds).map(of_kind).collect();
        let slices = slices_of(testing);
        let rings = (2..).zip(&slices).map(|(number, slice)| {
            let mut random = random(number);
            (0..settings.rings).map(|_| ring(slice, &mut random)).collect()
        });
        let rings = rings.collect();
        Self { slices, rings, congestors }
    }
}

/// A random ring.
fn ring(slice: &[u32], random: &mut Stream) -> Neighbours {
    let n = slice.len();
    let mut places: Vec<u32> = (0..n as u32).collect();
    shuffle(&mut places, random);
    let mut neighbours = vec![(0, 0); n];
    for (at, place) in places.iter().enumerate() {
        let rank = |at: usize| slice[places[at % n] as usize];
        neighbours[*place as usize] = (rank(at + n - 1), rank(at + 1));
    }
    neighbours
}

/// A uniformly random cyclic permutation (Sattolo 1986): nothing stays where it is.
pub(super) fn shuffle(list: &mut [u32], random: &mut Stream) {
    for last in (1..list.len()).rev() {
        list.swap(last, below(random, last as u32) as usize);
    }
}
