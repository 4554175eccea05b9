//! `InfiniBand` subnets as the tools of their operators print them: nodes and cables of `ibnetdiscover` ([`discovered`]), of
//! `ibdiagnet2.db_csv` ([`diagnosed`]) or `ibdiagnet2.lst` ([`listed`]), forwarding tables of `dump_lfts` or `ibdiagnet2.fdbs` ([`tables`]).
//!
//! Nodes get the names of their descriptions, links the data rate of their lanes. Lengths of cables are in none of these files.
mod diagnosed;
mod discovered;
mod listed;
mod tables;

use std::collections::BTreeMap;

use backwater_units::Rate;

use crate::MAX_NODES;

pub use self::diagnosed::diagnosed;
pub use self::discovered::discovered;
pub use self::listed::listed;
pub use self::tables::tables;

/// What is wrong with a file, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SubnetError {
    /// Line of the file, from 1; the last one if something is missing.
    pub line: usize,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// Reads a file of any of the tools: which one's it is, is seen from its lines.
///
/// # Errors
/// [`SubnetError`] with the line.
pub fn read(text: &str) -> Result<Subnet, SubnetError> {
    let begins = |with: &str| text.lines().any(|line| line.trim_start().starts_with(with));
    if begins("START_NODES") {
        diagnosed(text)
    } else if begins("{ ") {
        listed(text)
    } else {
        discovered(text)
    }
}

fn wrong<T>(line: usize, what: impl Into<String>) -> Result<T, SubnetError> {
    Err(SubnetError { line, what: what.into() })
}

/// A subnet: hosts, switches, cables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// The cables, in the order of the file.
    pub cables: Vec<Cable>,
    /// What is left out, and why.
    pub notes: Vec<String>,
    /// Hosts by the LIDs of their ports.
    by_lid: BTreeMap<u32, String>,
    /// Switches by their GUIDs.
    by_guid: BTreeMap<u64, String>,
    /// What is behind a switch's port: as [`crate::Network::port_name`] has it after the arrow.
    behind: BTreeMap<(String, u8), String>,
}

/// A cable between two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Data rate of its lanes.
    pub rate: Rate,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Host,
    Switch,
    Router,
}

/// A node as a file has it.
#[derive(Debug)]
struct Record {
    kind: Kind,
    id: String,
    guid: Option<u64>,
    description: String,
    line: usize,
}

/// A port and what it is joined to.
#[derive(Clone, Debug)]
struct Joint {
    to: String,
    port: u8,
    rate: Option<Rate>,
    line: usize,
}

/// What a file says before it has been put together. Nodes are known by their ids.
#[derive(Debug, Default)]
struct Raw {
    records: Vec<Record>,
    index: BTreeMap<String, usize>,
    joints: BTreeMap<(String, u8), Joint>,
    /// Ports in the order of the file.
    order: Vec<(String, u8)>,
    lids: BTreeMap<String, u32>,
    /// Lines of the file.
    lines: usize,
}

impl Raw {
    fn node(&mut self, record: Record) -> Result<(), SubnetError> {
        let line = record.line;
        if plain(&record.id) != record.id {
            return wrong(line, format!("the id {:?} has characters that no id of a node has", record.id));
        }
        if let Some(&first) = self.index.get(&record.id) {
            let first = self.records[first].line;
            return wrong(line, format!("{} has a record already, in line {first}; remove one", record.id));
        }
        if self.records.len() == MAX_NODES {
            return wrong(line, format!("this is node {}; at most {MAX_NODES} are supported", MAX_NODES + 1));
        }
        self.index.insert(record.id.clone(), self.records.len());
        self.records.push(record);
        Ok(())
    }

    fn joint(&mut self, id: &str, port: u8, joint: Joint) -> Result<(), SubnetError> {
        let key = (id.to_owned(), port);
        if let Some(other) = self.joints.get(&key) {
            let first = other.line;
            return wrong(
                joint.line,
                format!("port {port} of {id} is joined in line {first} already; remove one"),
            );
        }
        self.order.push(key.clone());
        self.joints.insert(key, joint);
        Ok(())
    }

    fn record(&self, id: &str, line: usize) -> Result<&Record, SubnetError> {
        match self.index.get(id) {
            Some(&index) => Ok(&self.records[index]),
            None => wrong(
                line,
                format!(
                    "{id} has no record of its own in this file; give the whole output, from its first to its last line"
                ),
            ),
        }
    }

    /// The subnet, if everything fits together.
    fn finish(self) -> Result<Subnet, SubnetError> {
        let mut notes = Vec::new();
        for (what, count) in [
            ("aggregation nodes of SHARP", self.records.iter().filter(|one| one.aggregates()).count()),
            ("routers", self.records.iter().filter(|one| one.kind == Kind::Router).count()),
        ] {
            if count > 0 {
                notes.push(format!("{what} are left out: {count}"));
            }
        }
        let joined = self.joined()?;
        let used: Vec<bool> = {
            let mut used = vec![false; self.records.len()];
            joined.iter().flat_map(|cable| [cable.a.0, cable.b.0]).for_each(|node| used[node] = true);
            used
        };
        let alone = self.records.iter().zip(&used).filter(|(one, used)| one.counts() && !**used).count();
        if alone > 0 {
            notes.push(format!("nodes without a cable are left out: {alone}"));
        }
        let names = self.names(&used);
        let of = |kind: Kind| {
            let here = |node: &usize| self.records[*node].kind == kind && used[*node];
            (0..used.len()).filter(here).map(|node| names[node].clone()).collect::<Vec<_>>()
        };
        let (hosts, switches) = (of(Kind::Host), of(Kind::Switch));
        if hosts.is_empty() {
            return wrong(self.lines.max(1), "there is no host (Ca) with a cable in this file");
        }
        let host = |id: &String| {
            let node = self.index.get(id).copied()?;
            (self.records[node].kind == Kind::Host && used[node]).then(|| names[node].clone())
        };
        let by_lid = self.lids.iter().filter_map(|(id, &lid)| Some((lid, host(id)?))).collect();
        let by_guid = (0..used.len())
            .filter(|&node| self.records[node].kind == Kind::Switch && used[node])
            .filter_map(|node| Some((self.records[node].guid?, names[node].clone())))
            .collect();
        let behind = behind(&joined, &names);
        let named =
            |one: Joined| Cable { a: names[one.a.0].clone(), b: names[one.b.0].clone(), rate: one.rate };
        let cables = joined.into_iter().map(named).collect();
        Ok(Subnet { hosts, switches, cables, notes, by_lid, by_guid, behind })
    }

    /// Each cable once, between nodes that count.
    fn joined(&self) -> Result<Vec<Joined>, SubnetError> {
        let mut joined: Vec<Joined> = Vec::new();
        let mut used: Vec<Option<(u8, usize)>> = vec![None; self.records.len()];
        for key in &self.order {
            let (id, port) = (&key.0, key.1);
            let joint = &self.joints[key];
            let line = joint.line;
            let (from, to) = (self.record(id, line)?, self.record(&joint.to, line)?);
            let back = self.joints.get(&(joint.to.clone(), joint.port));
            if let Some(back) = back
                && (back.to != *id || back.port != port)
            {
                return wrong(
                    line,
                    format!(
                        "port {} of {} is joined to port {port} of {id} here, and to port {} of {} in line {}; correct one",
                        joint.port, joint.to, back.port, back.to, back.line
                    ),
                );
            }
            if joint.to == *id {
                return wrong(line, format!("{id} is joined to itself; remove this cable"));
            }
            // The other end has told it already.
            if back.is_some_and(|back| back.line < line) || !from.counts() || !to.counts() {
                continue;
            }
            let (a, b) = ((self.index[id], port), (self.index[&joint.to], joint.port));
            for (node, port) in [a, b] {
                let record = &self.records[node];
                if let Some((other, first)) = used[node].filter(|_| record.kind == Kind::Host) {
                    return wrong(
                        line,
                        format!(
                            "{} ({}) has a second cable, at port {port} beside port {other} of line {first}, and a host has one here; \
                         remove the lines of one of its ports",
                            record.id, record.description
                        ),
                    );
                }
                used[node] = Some((port, line));
            }
            let rate = match (joint.rate, back.and_then(|back| back.rate)) {
                (Some(one), Some(other)) if one != other => {
                    return wrong(
                        line,
                        format!("this cable has {one} here and {other} at its other end; correct one"),
                    );
                }
                (Some(rate), _) | (None, Some(rate)) => rate,
                (None, None) => {
                    return wrong(
                        line,
                        "this cable has no width and speed, such as 4xHDR; add them at its end",
                    );
                }
            };
            joined.push(Joined { a, b, rate });
        }
        Ok(joined)
    }

    /// A name for each node: the short one of its description if no other node has it, else the whole description, else its id.
    fn names(&self, used: &[bool]) -> Vec<String> {
        let count = |of: &dyn Fn(&Record) -> String| {
            let mut times = BTreeMap::<String, usize>::new();
            for (record, _) in self.records.iter().zip(used).filter(|(_, used)| **used) {
                *times.entry(of(record)).or_default() += 1;
            }
            times
        };
        let (short, long) = (count(&Record::short), count(&Record::long));
        let mut taken = std::collections::BTreeSet::new();
        let ids: std::collections::BTreeSet<&String> = self.records.iter().map(|record| &record.id).collect();
        let name = |record: &Record| {
            let free = |name: &String, times: &BTreeMap<String, usize>| {
                !name.is_empty() && times.get(name) == Some(&1) && !ids.contains(name)
            };
            let mut wanted = [(record.short(), &short), (record.long(), &long)].into_iter();
            let found = wanted.find(|(name, times)| free(name, times) && !taken.contains(name));
            let name = found.map_or_else(|| record.id.clone(), |(name, _)| name);
            taken.insert(name.clone());
            name
        };
        self.records.iter().map(name).collect()
    }
}

/// A cable: node and port of either end.
#[derive(Clone, Copy)]
struct Joined {
    a: (usize, u8),
    b: (usize, u8),
    rate: Rate,
}

/// By switch and port number the node at the other end, with its number among the cables that join the same two.
fn behind(cables: &[Joined], names: &[String]) -> BTreeMap<(String, u8), String> {
    let pair = |cable: &Joined| (cable.a.0.min(cable.b.0), cable.a.0.max(cable.b.0));
    let mut together = BTreeMap::<(usize, usize), usize>::new();
    for cable in cables {
        *together.entry(pair(cable)).or_default() += 1;
    }
    let mut next = BTreeMap::<(usize, usize), usize>::new();
    let mut found = BTreeMap::new();
    for cable in cables {
        let here = next.entry(pair(cable)).or_default();
        let suffix = if together[&pair(cable)] > 1 { format!(":{here}") } else { String::new() };
        *here += 1;
        for ((node, port), (other, _)) in [(cable.a, cable.b), (cable.b, cable.a)] {
            found.insert((names[node].clone(), port), format!("{}{suffix}", names[other]));
        }
    }
    found
}

impl Record {
    fn counts(&self) -> bool {
        self.kind != Kind::Router && !self.aggregates()
    }

    /// Switches with SHARP show an adapter of their own.
    fn aggregates(&self) -> bool {
        self.kind == Kind::Host && self.description.contains("Aggregation Node")
    }

    /// `MF0;NAME:MODEL/U1` of a managed switch is NAME; of a host the first word is its host name.
    fn short(&self) -> String {
        let text = self.description.as_str();
        let inner = text.split_once(';').and_then(|(_, rest)| rest.split_once(':')).map(|(name, _)| name);
        match self.kind {
            Kind::Switch => plain(inner.unwrap_or(text)),
            _ => plain(text.split_whitespace().next().unwrap_or_default()),
        }
    }

    fn long(&self) -> String {
        plain(&self.description)
    }
}

/// What a text is as the name of a node.
fn plain(text: &str) -> String {
    let refused = |c: char| c.is_whitespace() || c.is_control() || "!*?[]:,>\"\\;#".contains(c);
    text.trim().chars().map(|c| if refused(c) { '-' } else { c }).collect()
}

/// The data rate of so many lanes of a generation.
fn data_rate(lanes: &str, speed: &str) -> Option<Rate> {
    let lanes: u64 = lanes.parse().ok().filter(|lanes| [1, 2, 4, 8, 12].contains(lanes))?;
    // FDR: 14.0625 Gbps with 64b/66b. FDR10: 10.3125 Gbps with 64b/66b.
    let lane = match speed {
        "SDR" => 2_000_000_000,
        "DDR" => 4_000_000_000,
        "QDR" => 8_000_000_000,
        "FDR10" => 10_000_000_000,
        "FDR" => 13_636_363_636,
        "EDR" => 25_000_000_000,
        "HDR" => 50_000_000_000,
        "NDR" => 100_000_000_000,
        "XDR" => 200_000_000_000,
        _ => return None,
    };
    Some(Rate::from_bps(lanes * lane))
}

/// `0x` and hexadecimal digits.
fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
