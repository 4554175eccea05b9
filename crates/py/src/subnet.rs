//! `InfiniBand` subnets of other tools' files as networks of ours.
use backwater_topology::read::subnet;
use pyo3::prelude::*;

use crate::errors::bad_input;

/// Hosts, switches, cables with their rates in bit/s, the file of the forwarding tables if they are given, what the user should know.
type Made = (Vec<String>, Vec<String>, Vec<(String, String, u64)>, Option<String>, Vec<String>);

/// A subnet from what `ibnetdiscover` prints, from `ibdiagnet2.db_csv` or `ibdiagnet2.lst`, and its tables from what `dump_lfts` prints or
/// from `ibdiagnet2.fdbs`. Each text has the name of its file with it, for messages.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python hands over belongs to the function")]
pub(crate) fn import_subnet(
    py: Python<'_>,
    topology: (String, String),
    tables: Option<(String, String)>,
) -> PyResult<Made> {
    py.detach(|| {
        let (origin, text) = &topology;
        let mut found = subnet::read(text).map_err(|error| bad_input(format!("error: {origin}, {error}")))?;
        let mut notes = std::mem::take(&mut found.notes);
        let table = match &tables {
            None => None,
            Some((origin, text)) => {
                let (table, told) = subnet::tables(&found, text)
                    .map_err(|error| bad_input(format!("error: {origin}, {error}")))?;
                notes.extend(told);
                Some(table)
            }
        };
        let cables = found.cables.into_iter().map(|cable| (cable.a, cable.b, cable.rate.as_bps())).collect();
        Ok((found.hosts, found.switches, cables, table, notes))
    })
}
