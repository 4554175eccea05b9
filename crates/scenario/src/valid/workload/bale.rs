//! `kind = "bale"`: PEs at hosts, and what a kernel has.
use backwater_traffic::generate::{Bale, Kernel};
use backwater_traffic::{Flow, Group};

use super::Entry;
use crate::settings::{BaleKernel, PeerOrder, Workload};

/// The flows of the kernel; its steps go to the context.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group, seed: u64) -> Option<Vec<Flow>> {
    let settings = entry.context.settings;
    let Workload::Bale { kernel, hosts, updates, size, order, blocking, compute } =
        &settings.traffic[entry.index].workload
    else {
        return None;
    };
    let hosts = entry.hosts("hosts", hosts)?;
    if hosts.len() < 2 {
        entry.report("hosts", "a kernel needs at least two PEs", "only one host", "name more hosts");
        return None;
    }
    let Some(updates) = *updates else {
        let help = "add updates = 1000: how many elements each PE changes or reads";
        entry.report("kernel", "there is no number of updates", "how many?", help);
        return None;
    };
    let kernel = match (kernel, order) {
        (BaleKernel::Histogram, None) => Kernel::Histogram,
        (BaleKernel::IndexGather, None) => Kernel::IndexGather,
        (BaleKernel::AllToAll, Some(PeerOrder::Random)) => Kernel::Shuffled,
        (BaleKernel::AllToAll, _) => Kernel::Rotated,
        (_, Some(_)) => {
            let message =
                "the order of a PE's blocks is a thing of all-to-all; other kernels draw each PE at random";
            entry.report("order", message, "no blocks here", "remove this line");
            return None;
        }
    };
    let (pes, blocking) = (hosts.len() as u32, *blocking);
    let mut bale = Bale { kernel, pes, updates, size: size.0, blocking, compute: compute.0 };
    entry.count(bale.most_messages(), "updates")?;
    bale.updates = entry.outlined(updates, bale.most_messages() / f64::from(updates.max(1)));
    match bale.trace(group.id, seed).expand() {
        Ok(program) => {
            let (flows, steps) = program.on(&hosts, group);
            entry.context.steps = steps;
            Some(flows)
        }
        Err(error) => unreachable!("a program without a circle: {error}"),
    }
}
