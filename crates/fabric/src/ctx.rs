//! What an event gives to whoever handles it: its instant, what all nodes share, and where frames and signals go.
use crate::world::World;

pub(crate) struct Ctx<'a, P> {
    pub(crate) now: u64,
    pub(crate) world: &'a World,
    pub(crate) post: &'a mut P,
}

impl<P> Ctx<'_, P> {
    /// The same for what happens at another instant.
    #[inline]
    pub(crate) fn at(&mut self, now: u64) -> Ctx<'_, P> {
        Ctx { now, world: self.world, post: self.post }
    }
}
