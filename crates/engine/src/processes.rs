//! The processes that share the nodes of a model, on one machine or on many, and how they talk.
use std::fmt::Debug;

use borsh::{BorshDeserialize, BorshSerialize};

/// How the processes of a run talk to each other. All of them make the same calls in the same order.
pub trait Processes: Debug + Send + Sync {
    /// The number of this one, from 0.
    fn rank(&self) -> usize;
    /// How many there are, at least 1.
    fn count(&self) -> usize;
    /// Sends `to[peer]` to each of these other processes, does `meanwhile`, and puts into `from[peer]` what each of them has sent in its
    /// call. Both lists have an entry for each process; those of others stay as they are. If one process names another, that one names it
    /// in the same call.
    fn exchange(
        &self,
        peers: &[usize],
        to: &mut [Vec<u8>],
        meanwhile: &mut dyn FnMut(),
        from: &mut [Vec<u8>],
    );
    /// Tells all other processes `own`, does `meanwhile`, and puts into `all` what each process has told, one after the other. All tell
    /// as many bytes.
    fn share(&self, own: &[u8], meanwhile: &mut dyn FnMut(), all: &mut Vec<u8>);
}

/// One process, which has all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Processes for Alone {
    fn rank(&self) -> usize {
        0
    }
    fn count(&self) -> usize {
        1
    }
    fn exchange(&self, _: &[usize], _: &mut [Vec<u8>], meanwhile: &mut dyn FnMut(), _: &mut [Vec<u8>]) {
        meanwhile();
    }
    fn share(&self, own: &[u8], meanwhile: &mut dyn FnMut(), all: &mut Vec<u8>) {
        meanwhile();
        all.clear();
        all.extend_from_slice(own);
    }
}

impl dyn Processes + '_ {
    /// The numbers of all others.
    pub(crate) fn others(&self) -> Vec<usize> {
        (0..self.count()).filter(|other| *other != self.rank()).collect()
    }

    /// The lists of all processes, one after the other; the same in each.
    pub fn gather<T: BorshSerialize + BorshDeserialize>(&self, own: Vec<T>) -> Vec<T> {
        self.collect(own, |_| true)
    }

    /// The same for the first process alone; the others get nothing.
    pub fn gather_at_first<T: BorshSerialize + BorshDeserialize>(&self, own: Vec<T>) -> Vec<T> {
        self.collect(own, |rank| rank == 0)
    }

    /// Lists of all processes for those that are among `readers`.
    fn collect<T: BorshSerialize + BorshDeserialize>(
        &self,
        own: Vec<T>,
        readers: impl Fn(usize) -> bool,
    ) -> Vec<T> {
        let (me, count) = (self.rank(), self.count());
        if count == 1 {
            return own;
        }
        let mut bytes = Vec::new();
        write(&own, &mut bytes);
        let mut to = vec![Vec::new(); count];
        for (_, each) in to.iter_mut().enumerate().filter(|(rank, _)| *rank != me && readers(*rank)) {
            each.clone_from(&bytes);
        }
        let mut from = vec![Vec::new(); count];
        self.exchange(&self.others(), &mut to, &mut || {}, &mut from);
        if !readers(me) {
            return Vec::new();
        }
        let mut all = Vec::new();
        let mut own = Some(own);
        for (rank, bytes) in from.iter().enumerate() {
            if rank == me {
                all.append(own.as_mut().expect("once"));
                own = None;
            } else {
                all.append(&mut read(&mut &bytes[..]));
            }
        }
        all
    }

    /// The sum over all processes.
    pub fn sum(&self, own: u64) -> u64 {
        self.gather(vec![own]).into_iter().sum()
    }

    /// Whether it is true in one of them.
    pub fn any(&self, own: bool) -> bool {
        self.gather(vec![own]).contains(&true)
    }
}

/// Appends the bytes of a value, as snapshots have them.
pub(crate) fn write<T: BorshSerialize + ?Sized>(value: &T, to: &mut Vec<u8>) {
    value.serialize(to).expect("memory takes all");
}

/// Reads what another process has written, and leaves what follows.
pub(crate) fn read<T: BorshDeserialize>(from: &mut &[u8]) -> T {
    T::deserialize(from).expect("the processes are of one build")
}

/// For tests: processes that are threads of one.
#[cfg(feature = "reference")]
#[derive(Debug)]
pub struct Together {
    rank: usize,
    to: Vec<std::sync::mpsc::Sender<Vec<u8>>>,
    from: Vec<std::sync::Mutex<std::sync::mpsc::Receiver<Vec<u8>>>>,
}

#[cfg(feature = "reference")]
impl Together {
    /// Lets `count` of them work, each on a thread; what each of them gives back.
    ///
    /// # Panics
    /// If one of them panics.
    pub fn run<T: Send>(count: usize, work: impl Fn(std::sync::Arc<dyn Processes>) -> T + Sync) -> Vec<T> {
        let (mut to, mut from): (Vec<Vec<_>>, Vec<Vec<_>>) =
            (0..count).map(|_| (Vec::new(), Vec::new())).unzip();
        for sender in &mut to {
            for receiver in &mut from {
                let (send, receive) = std::sync::mpsc::channel();
                sender.push(send);
                receiver.push(std::sync::Mutex::new(receive));
            }
        }
        std::thread::scope(|scope| {
            let work = &work;
            let all: Vec<_> = to
                .into_iter()
                .zip(from)
                .enumerate()
                .map(|(rank, (to, from))| {
                    scope.spawn(move || work(std::sync::Arc::new(Self { rank, to, from })))
                })
                .collect();
            all.into_iter().map(|each| each.join().expect("a process failed")).collect()
        })
    }
}

#[cfg(feature = "reference")]
impl Processes for Together {
    fn rank(&self) -> usize {
        self.rank
    }
    fn count(&self) -> usize {
        self.to.len()
    }
    fn exchange(
        &self,
        peers: &[usize],
        to: &mut [Vec<u8>],
        meanwhile: &mut dyn FnMut(),
        from: &mut [Vec<u8>],
    ) {
        for peer in peers {
            self.to[*peer].send(std::mem::take(&mut to[*peer])).expect("the others listen");
        }
        meanwhile();
        for peer in peers {
            from[*peer] = self.from[*peer].lock().expect("one thread talks").recv().expect("the others send");
        }
    }
    fn share(&self, own: &[u8], meanwhile: &mut dyn FnMut(), all: &mut Vec<u8>) {
        let (mut to, mut from) = (vec![own.to_vec(); self.count()], vec![own.to_vec(); self.count()]);
        meanwhile();
        self.exchange(&(self as &dyn Processes).others(), &mut to, &mut || {}, &mut from);
        *all = from.concat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_get_the_lists_of_all_in_the_order_of_the_processes() {
        let found = Together::run(3, |processes| {
            let rank = processes.rank() as u32;
            let own: Vec<u32> = (0..rank).map(|each| 10 * rank + each).collect();
            (processes.gather(own.clone()), processes.gather_at_first(own), processes.sum(rank.into()))
        });
        for (rank, (all, at_first, sum)) in found.into_iter().enumerate() {
            assert_eq!((all, sum), (vec![10, 20, 21], 3));
            assert_eq!(at_first, if rank == 0 { vec![10, 20, 21] } else { vec![] });
        }
    }
}
