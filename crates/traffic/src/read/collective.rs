//! How a line says what a collective does: `bytes`, `algorithm`, `root`.
use std::str::FromStr;

use backwater_units::Bytes;

use super::LineError;
use super::line::{Line, shown};
use crate::flow::MAX_SIZE;
use crate::trace::{Algorithm, Op};

/// What a collective of some ranks does.
pub(super) struct Shape {
    /// `None`: the line names none.
    pub(super) algorithm: Option<Algorithm>,
    /// The place of the root among the ranks.
    pub(super) root: usize,
    pub(super) bytes: Bytes,
}

/// Reads it.
pub(super) fn shape(line: &Line<'_>, op: Op, members: &[u32]) -> Result<Shape, LineError> {
    let algorithm = algorithm(line, op, members.len())?;
    let root: Option<u32> = line.value("root", "a rank")?;
    let root = match root {
        Some(_) if !op.has_root() => {
            return Err(line.error(format!("a {} has no root", op.name())));
        }
        Some(root) => members
            .iter()
            .position(|rank| *rank == root)
            .ok_or_else(|| line.error(format!("root {root} is not in the group")))?,
        None => 0,
    };
    let bytes = line.size("bytes")?;
    if bytes.is_none() && op != Op::Barrier {
        return Err(line.error(format!("a {} needs `bytes` and a size", op.name())));
    }
    let bytes = bytes.unwrap_or(Bytes::new(1));
    if bytes.get().saturating_mul(members.len() as u64) > MAX_SIZE.get() {
        return Err(line.error(format!("{bytes} of each of {} ranks are more than 1000TB", members.len())));
    }
    Ok(Shape { algorithm, root, bytes })
}

fn algorithm(line: &Line<'_>, op: Op, members: usize) -> Result<Option<Algorithm>, LineError> {
    let named = line.value::<String>("algorithm", "a name")?;
    let text = named.clone().unwrap_or(op.algorithms()[0].name().to_owned());
    let found = Algorithm::from_str(&text).ok().filter(|algorithm| algorithm.is_for(op));
    let Some(mut algorithm) = found else {
        let names: Vec<&str> = op.algorithms().iter().map(|algorithm| algorithm.name()).collect();
        let (text, op, names) = (shown(&text), op.name(), names.join(", "));
        return Err(line.error(format!("`{text}` is no algorithm for {op}; there are {names}")));
    };
    let within: Option<u32> = line.value("within", "a number of ranks")?;
    match (&mut algorithm, within) {
        (Algorithm::Hierarchical(group), Some(size)) if size > 0 && members.is_multiple_of(size as usize) => {
            *group = size;
        }
        (Algorithm::Hierarchical(_), _) => {
            let what = format!("hierarchical needs `within` and a number that divides {members} ranks");
            return Err(line.error(what));
        }
        (_, Some(_)) => return Err(line.error("`within` is for hierarchical".to_owned())),
        _ => {}
    }
    if !algorithm.does(op, members) {
        let (name, op) = (algorithm.name(), op.name());
        let what = format!("{name} does an {op} only among a power of two, not {members} ranks; take ring");
        return Err(line.error(what));
    }
    Ok(named.map(|_| algorithm))
}
