//! What measures: the ranks of the tests, alone and then beside the congestors.
use backwater_units::Bytes;

use super::super::{Builder, Communicator};
use super::cast::Cast;
use super::{Gpcnet, RingTest};

/// Payload of the messages that start the congestors and of their answers, which stand for the non-blocking barriers of `GPCNeT`.
pub(super) const WORD: Bytes = Bytes::new(8);
/// Tag of a message to the neighbour on the right; that to the left has the next one.
const RING: u32 = 0;
/// Tag of the message that starts a congestor.
pub(super) const START: u32 = 2;
/// Tag of its answer when it has warmed up.
pub(super) const READY: u32 = 3;
/// Set of all requests of a test.
const SET: u8 = 0;
/// The stopwatch.
const TIMER: u8 = 0;

/// One rank that tests.
struct Victim<'a> {
    settings: &'a Gpcnet,
    /// All ranks that test.
    tests: &'a Communicator,
    place: usize,
    /// Its number slice by slice, by which congestors are spread.
    number: usize,
    /// Its slice.
    slice: &'a Communicator,
    place_in_slice: usize,
    /// In each ring of its slice the neighbours on its left and right.
    neighbours: Vec<(u32, u32)>,
}

impl Cast {
    /// All ranks that test, in the order of their numbers.
    fn tests(&self) -> Vec<u32> {
        let mut tests = self.slices.concat();
        tests.sort_unstable();
        tests
    }

    /// The rank that starts a congestor: they are spread over all that test.
    pub(super) fn caller(&self, congestor: usize) -> u32 {
        let (slices, members) = (self.slices.len(), self.slices[0].len());
        let number = congestor % (slices * members);
        self.slices[number / members][number % members]
    }

    /// The congestors that a test rank starts.
    fn called(&self, test: usize) -> impl Iterator<Item = u32> + '_ {
        let tests = self.slices.len() * self.slices[0].len();
        self.congestors.iter().flatten().flatten().copied().skip(test).step_by(tests)
    }
}

impl Gpcnet {
    /// Names of what is timed, in the order of the tests.
    pub(super) fn series(&self) -> Vec<String> {
        let tests =
            [self.latency.map(|_| "lat"), self.bandwidth.map(|_| "bw"), self.allreduce.map(|_| "allreduce")];
        let phases = [(self.isolated, "isolated"), (self.congested, "congested")];
        let run = phases.into_iter().filter(|(run, _)| *run);
        run.flat_map(|(_, phase)| tests.iter().flatten().map(move |test| format!("{phase}/{test}"))).collect()
    }

    /// The programs of all ranks that test.
    pub(super) fn victims(&self, cast: &Cast, builders: &mut [Builder]) {
        let tests = Communicator::new(0, cast.tests());
        for (number, (members, rings)) in cast.slices.iter().zip(&cast.rings).enumerate() {
            let slice = Communicator::new(number as u32 + 1, members.clone());
            for (place_in_slice, rank) in members.iter().enumerate() {
                let neighbours = rings.iter().map(|ring| ring[place_in_slice]).collect();
                let victim = Victim {
                    settings: self,
                    tests: &tests,
                    place: tests.place(*rank).expect("a rank that tests"),
                    number: number * members.len() + place_in_slice,
                    slice: &slice,
                    place_in_slice,
                    neighbours,
                };
                victim.write(cast, &mut builders[*rank as usize]);
            }
        }
    }
}

impl Victim<'_> {
    fn write(&self, cast: &Cast, builder: &mut Builder) {
        let mut series = 0;
        if self.settings.isolated {
            self.measure(&mut series, builder);
        }
        if self.settings.congested {
            builder.barrier(self.tests, self.place);
            self.raise(cast, builder);
            self.measure(&mut series, builder);
        }
    }

    /// Starts the congestors and waits until they have warmed up.
    fn raise(&self, cast: &Cast, builder: &mut Builder) {
        for congestor in cast.called(self.number) {
            builder.isend(congestor, WORD, START, SET);
        }
        for congestor in cast.called(self.number) {
            builder.irecv(congestor, WORD, READY, SET);
        }
        builder.wait(1 << SET);
    }

    /// All tests; all ranks begin each of them, and each ring, together.
    fn measure(&self, series: &mut u16, builder: &mut Builder) {
        if let Some(test) = self.settings.latency {
            self.rings(test, false, *series, builder);
            *series += 1;
        }
        if let Some(test) = self.settings.bandwidth {
            self.rings(test, true, *series, builder);
            *series += 1;
        }
        if let Some(test) = self.settings.allreduce {
            builder.barrier(self.tests, self.place);
            turns(test.warm_up, builder, |builder| {
                builder.allreduce(self.slice, self.place_in_slice, test.size);
            });
            turns(test.timed, builder, |builder| {
                builder.start(TIMER).allreduce(self.slice, self.place_in_slice, test.size);
                builder.stop(TIMER, *series, 0);
            });
            builder.barrier(self.tests, self.place);
            *series += 1;
        }
    }

    fn rings(&self, test: RingTest, together: bool, series: u16, builder: &mut Builder) {
        for (ring, neighbours) in (0..).zip(&self.neighbours) {
            builder.barrier(self.tests, self.place);
            turns(test.warm_up, builder, |builder| self.turn(test, together, *neighbours, builder));
            turns(test.timed, builder, |builder| {
                builder.start(TIMER);
                self.turn(test, together, *neighbours, builder);
                builder.stop(TIMER, series, ring);
            });
            builder.barrier(self.slice, self.place_in_slice);
        }
    }

    /// Messages to and from both neighbours; then all of the slice may wait for each other.
    fn turn(&self, test: RingTest, together: bool, (left, right): (u32, u32), builder: &mut Builder) {
        for _ in 0..test.messages {
            builder.irecv(left, test.size, RING, SET).irecv(right, test.size, RING + 1, SET);
        }
        for _ in 0..test.messages {
            builder.isend(left, test.size, RING + 1, SET).isend(right, test.size, RING, SET);
        }
        builder.wait(1 << SET);
        if together {
            builder.barrier(self.slice, self.place_in_slice);
        }
    }
}

/// Repeats something so many times.
fn turns(times: u32, builder: &mut Builder, body: impl FnOnce(&mut Builder)) {
    if times > 0 {
        builder.repeat(times);
        body(builder);
        builder.end();
    }
}
