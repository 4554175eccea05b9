//! Two switches and one link between them.
use backwater_units::{Rate, Span};

use crate::{Builder, Network, TopologyError};

/// Hosts `l0`, `l1`, … on switch `left`, hosts `r0`, `r1`, … on switch `right`, and one link between the switches, of
/// `bottleneck_rate` (that of the hosts if not given). The alias `bottleneck` is the port `left->right`.
///
/// # Errors
/// `left` and `right` must be from 1 to 1023.
pub fn dumbbell(
    left: u32,
    right: u32,
    rate: Rate,
    delay: Span,
    bottleneck_rate: Option<Rate>,
) -> Result<Network, TopologyError> {
    for (parameter, value) in [("left", left), ("right", right)] {
        if !(1..=1023).contains(&value) {
            let allowed = "a number from 1 to 1023";
            return Err(TopologyError::Parameter {
                topology: "dumbbell",
                parameter,
                value: value.into(),
                allowed,
            });
        }
    }
    let mut b = Builder::new();
    let left = b.hosts("l", left);
    let right = b.hosts("r", right);
    let (sl, sr) = (b.switch("left"), b.switch("right"));
    for host in left {
        b.link(host, sl, rate, delay);
    }
    for host in right {
        b.link(host, sr, rate, delay);
    }
    b.link(sl, sr, bottleneck_rate.unwrap_or(rate), delay);
    b.alias("bottleneck", sl, sr);
    b.build()
}
