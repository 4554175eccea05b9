//! `ibdiagnet2.lst`: a line for each end of each cable, with both nodes. LIDs, port numbers and GUIDs are hexadecimal.
//!
//! ```text
//! { CA Ports:01 … NodeGUID:0c42a10300a1b2c4 … {node01 mlx5_0} LID:0005 PN:01 } { SW … LID:0001 PN:0A } PHY=4x LOG=ACT SPD=50
//! ```
use super::{Joint, Kind, Raw, Record, Subnet, SubnetError, data_rate, wrong};

/// Reads one.
///
/// # Errors
/// [`SubnetError`] with the line.
pub fn listed(text: &str) -> Result<Subnet, SubnetError> {
    let mut raw = Raw::default();
    let mut down = 0usize;
    for (line, content) in (1..).zip(text.lines()) {
        raw.lines = line;
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let Some((from, rest)) = End::read(content) else { return wrong(line, SHAPE) };
        let Some((to, link)) = End::read(rest) else { return wrong(line, SHAPE) };
        let value = |key: &str| link.split_whitespace().find_map(|word| word.strip_prefix(key));
        let (Some(width), Some(state), Some(speed)) = (value("PHY="), value("LOG="), value("SPD=")) else {
            return wrong(line, SHAPE);
        };
        if state != "ACT" {
            down += 1;
            continue;
        }
        let rate = width.strip_suffix('x').and_then(|lanes| data_rate(lanes, generation(speed)?));
        let Some(rate) = rate else {
            return wrong(
                line,
                format!("PHY={width} SPD={speed} is no width and speed of a lane, such as PHY=4x SPD=50"),
            );
        };
        for end in [&from, &to] {
            end.note(&mut raw, line)?;
        }
        raw.joint(&from.id(), from.port, Joint { to: to.id(), port: to.port, rate: Some(rate), line })?;
    }
    let mut found = raw.finish()?;
    if down > 0 {
        found.notes.push(format!("ends of cables that are not active (LOG=ACT) are left out: {down}"));
    }
    Ok(found)
}

const SHAPE: &str = "expected { CA|SW|RT Ports:… NodeGUID:… {description} LID:… PN:… } { … } PHY=… LOG=… SPD=…, as ibdiagnet2.lst has it";

/// One end of a cable.
struct End<'a> {
    kind: Kind,
    letter: char,
    guid: u64,
    description: &'a str,
    lid: u32,
    port: u8,
}

impl<'a> End<'a> {
    /// The first end of a text, and what follows.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let inner = text.trim_start().strip_prefix('{')?.trim_start();
        let (kind, letter) = match inner.get(..2)? {
            "CA" => (Kind::Host, 'H'),
            "SW" => (Kind::Switch, 'S'),
            "RT" => (Kind::Router, 'R'),
            _ => return None,
        };
        let (before, rest) = inner.split_once(" LID:")?;
        let (before, description) = before.split_once('{').unwrap_or((before, ""));
        let (own, after) = rest.split_once('}')?;
        let (lid, port) = own.split_once("PN:")?;
        let guid = before.split_whitespace().find_map(|word| word.strip_prefix("NodeGUID:"))?;
        let end = End {
            kind,
            letter,
            guid: u64::from_str_radix(guid, 16).ok()?,
            description: description.trim_end().trim_end_matches('}'),
            lid: u32::from_str_radix(lid.trim(), 16).ok()?,
            port: u8::from_str_radix(port.trim(), 16).ok()?,
        };
        Some((end, after))
    }

    fn id(&self) -> String {
        format!("{}-{:016x}", self.letter, self.guid)
    }

    /// Remembers the node, if it is new, and its LID.
    fn note(&self, raw: &mut Raw, line: usize) -> Result<(), SubnetError> {
        let id = self.id();
        if !raw.index.contains_key(&id) {
            let description = self.description.to_owned();
            raw.node(Record { kind: self.kind, id: id.clone(), guid: Some(self.guid), description, line })?;
        }
        if self.lid > 0 {
            raw.lids.entry(id).or_insert(self.lid);
        }
        Ok(())
    }
}

/// The generation of a lane's signalling rate in Gbps.
fn generation(speed: &str) -> Option<&'static str> {
    Some(match speed {
        "2.5" => "SDR",
        "5" => "DDR",
        "10" => "QDR",
        "FDR10" => "FDR10",
        "14" => "FDR",
        "25" => "EDR",
        "50" => "HDR",
        "100" => "NDR",
        "200" => "XDR",
        _ => return None,
    })
}
