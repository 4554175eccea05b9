//! What congests: closed loops without a pause between messages.
use super::super::{Builder, FOREVER};
use super::cast::Cast;
use super::victims::{READY, START, WORD};
use super::{Congestor, Gpcnet};

/// Set of the requests of an incast's root.
const SET: u8 = 0;
/// Tag of what congestors send each other.
const TAG: u32 = 0;

impl Gpcnet {
    /// The programs of all congestors.
    pub(super) fn congest(&self, cast: &Cast, builders: &mut [Builder]) {
        let communicators = self.congestors.iter().zip(&cast.congestors);
        let communicators =
            communicators.flat_map(|(kind, slices)| slices.iter().map(|slice| (*kind, slice)));
        let everybody = communicators
            .flat_map(|(kind, members)| (0..members.len()).map(move |place| (kind, members, place)));
        for (number, (kind, members, place)) in everybody.enumerate() {
            let builder = &mut builders[members[place] as usize];
            self.go_on(kind, (members, place), cast.caller(number), builder);
        }
    }

    /// A congestor waits for the start message, warms up, says that it is ready and goes on for ever.
    fn go_on(&self, kind: Congestor, (members, place): (&[u32], usize), caller: u32, builder: &mut Builder) {
        builder.receive_blocking(caller, WORD, START);
        // In one-sided operations the root has nothing to do but to be there.
        let idle = place == 0 && matches!(kind, Congestor::PutIncast | Congestor::GetBroadcast);
        if self.warm_up_passes > 0 && !idle {
            builder.repeat(self.warm_up_passes);
            self.iterate(kind, members, place, builder);
            builder.end();
        }
        builder.send_blocking(caller, WORD, READY);
        if !idle {
            builder.repeat(FOREVER);
            self.iterate(kind, members, place, builder);
            builder.end();
        }
    }

    /// One iteration of a member.
    fn iterate(&self, kind: Congestor, members: &[u32], place: usize, builder: &mut Builder) {
        let (n, size, root) = (members.len(), self.congestor_size, members[0]);
        match kind {
            Congestor::AllToAll => {
                for i in 0..n {
                    let (to, from) = if n.is_power_of_two() {
                        (place ^ i, place ^ i)
                    } else {
                        ((place + i) % n, (place + n - i) % n)
                    };
                    builder.sendrecv((members[to], size), (members[from], size), TAG);
                }
            }
            Congestor::Incast if place == 0 => {
                for from in &members[1..] {
                    builder.irecv(*from, size, TAG, SET);
                }
                builder.wait(1 << SET);
            }
            Congestor::Incast => {
                builder.send_blocking(root, size, TAG);
            }
            Congestor::PutIncast => {
                builder.put(root, size).flush();
            }
            Congestor::GetBroadcast => {
                builder.get(root, size).flush();
            }
        }
    }
}
