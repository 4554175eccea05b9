//! How many links up a switch needs for an oversubscription.
use backwater_units::Rate;

use crate::{Oversubscription, TopologyError};

/// A switch with links down, and what its links up are to carry.
pub(super) struct Uplinks {
    pub(super) topology: &'static str,
    /// The parameter with the ratio.
    pub(super) parameter: &'static str,
    /// Its place in a list of ratios.
    pub(super) place: Option<u8>,
    /// Which kind of switch, with its article.
    pub(super) of: &'static str,
    /// Capacity down over capacity up.
    pub(super) ratio: f64,
    /// Number and rate of the links down.
    pub(super) down: (u32, Rate),
    /// Rate of the links up.
    pub(super) up: Rate,
}

impl Uplinks {
    /// Their number: a whole one, from 1 to 1024.
    pub(super) fn number(&self) -> Result<u32, TopologyError> {
        let capacity = f64::from(self.down.0) * self.down.1.as_bps() as f64;
        // At a rate of nothing, which is refused when the links are checked, there is no number to find.
        let unit = (self.up.as_bps() as f64).max(1.0);
        let (exact, most) = (capacity / (self.ratio * unit), crate::MAX_PORTS as f64);
        let near = exact.round();
        if (1.0..=most).contains(&near) && (exact - near).abs() <= 1e-6 * near {
            return Ok(near as u32);
        }
        let below = exact.floor().clamp(1.0, most - 1.0);
        let ratio = |links: f64| short(capacity / (links * unit));
        Err(TopologyError::Oversubscription(Box::new(Oversubscription {
            topology: self.topology,
            parameter: match self.place {
                None => self.parameter.to_owned(),
                Some(place) => format!("{}[{place}]", self.parameter),
            },
            ratio: short(self.ratio),
            of: self.of,
            links: short(exact),
            rate: self.up,
            near: [(below as u32, ratio(below)), (below as u32 + 1, ratio(below + 1.0))],
        })))
    }
}

/// A number with up to four decimal places.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
