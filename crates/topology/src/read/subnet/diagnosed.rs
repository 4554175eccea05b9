//! `ibdiagnet2.db_csv`: sections of comma-separated values between `START_NAME` and `END_NAME`, each with the names of its columns. Read are
//! `NODES`, `PORTS` and `LINKS`.
use std::collections::BTreeMap;

use backwater_units::Rate;

use super::{Joint, Kind, Raw, Record, Subnet, SubnetError, data_rate, hexadecimal, wrong};

/// Reads one.
///
/// # Errors
/// [`SubnetError`] with the line.
pub fn diagnosed(text: &str) -> Result<Subnet, SubnetError> {
    let mut raw = Raw::default();
    let mut ids = BTreeMap::new();
    let mut rates = BTreeMap::new();
    let mut links = Vec::new();
    let mut section: Option<(&str, Option<Vec<&str>>)> = None;
    for (line, content) in (1..).zip(text.lines()) {
        raw.lines = line;
        let content = content.trim_end();
        if let Some(name) = content.strip_prefix("START_") {
            section = Some((name, None));
        } else if content.starts_with("END_") {
            section = None;
        } else if let Some((name @ ("NODES" | "PORTS" | "LINKS"), columns)) = &mut section {
            let fields = fields(content);
            let Some(columns) = columns else {
                *columns = Some(fields);
                continue;
            };
            if content.is_empty() {
                continue;
            }
            let row = Row { columns, fields: &fields, line };
            match *name {
                "NODES" => node(&mut raw, &mut ids, &row)?,
                "PORTS" => port(&mut raw, &ids, &mut rates, &row)?,
                _ => links.push((link(&row)?, line)),
            }
        }
    }
    if let Some((name, _)) = section {
        return wrong(raw.lines, format!("section {name} has no END_{name}; the file ends too early"));
    }
    for ([(a, at), (b, of)], line) in links {
        let id = |guid: u64| match ids.get(&guid) {
            Some(id) => Ok(String::clone(id)),
            None => wrong(line, format!("no node of section NODES has the GUID {guid:#x}")),
        };
        let (one, other) = (id(a)?, id(b)?);
        let (here, there) = (rates.get(&(a, at)), rates.get(&(b, of)));
        if let (Some(here), Some(there)) = (here, there)
            && here != there
        {
            return wrong(
                line,
                format!(
                    "section PORTS has {here} at one end of this cable and {there} at the other; correct one"
                ),
            );
        }
        let rate = here.or(there).copied();
        raw.joint(&one, at, Joint { to: other, port: of, rate, line })?;
    }
    raw.finish()
}

/// A line with the names of its columns.
struct Row<'a> {
    columns: &'a [&'a str],
    fields: &'a [&'a str],
    line: usize,
}

impl<'a> Row<'a> {
    fn get(&self, column: &str) -> Result<&'a str, SubnetError> {
        let index = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column));
        let field = index.and_then(|index| self.fields.get(index));
        field
            .map_or_else(|| wrong(self.line, format!("this line has no column {column}")), |field| Ok(*field))
    }

    fn number(&self, column: &str) -> Result<u64, SubnetError> {
        let text = self.get(column)?;
        let number = hexadecimal(text).or_else(|| text.parse().ok());
        number.map_or_else(|| wrong(self.line, format!("{column} is {text:?}, which is no number")), Ok)
    }

    fn port(&self, column: &str) -> Result<u8, SubnetError> {
        let number = self.number(column)?;
        u8::try_from(number)
            .or_else(|_| wrong(self.line, format!("{column} is {number}; ports have 0 to 255")))
    }
}

fn node(raw: &mut Raw, ids: &mut BTreeMap<u64, String>, row: &Row<'_>) -> Result<(), SubnetError> {
    let (kind, letter) = match row.number("NodeType")? {
        1 => (Kind::Host, 'H'),
        2 => (Kind::Switch, 'S'),
        3 => (Kind::Router, 'R'),
        other => return wrong(row.line, format!("NodeType is {other}; 1 is a host, 2 a switch, 3 a router")),
    };
    let guid = row.number("NodeGUID")?;
    let id = format!("{letter}-{guid:016x}");
    ids.insert(guid, id.clone());
    let description = row.get("NodeDesc")?.to_owned();
    raw.node(Record { kind, id, guid: Some(guid), description, line: row.line })
}

fn port(
    raw: &mut Raw,
    ids: &BTreeMap<u64, String>,
    rates: &mut BTreeMap<(u64, u8), Rate>,
    row: &Row<'_>,
) -> Result<(), SubnetError> {
    let (guid, port) = (row.number("NodeGuid")?, row.port("PortNum")?);
    let lid = row.number("LID").ok().and_then(|lid| u32::try_from(lid).ok()).filter(|lid| *lid > 0);
    if let (Some(id), Some(lid)) = (ids.get(&guid), lid) {
        raw.lids.entry(id.clone()).or_insert(lid);
    }
    // Widths and speeds are bits, as PortInfo has them; extended speeds are in the second byte, those of a vendor in the third.
    let lanes = match row.number("LinkWidthActv").unwrap_or(0) {
        1 => "1",
        2 => "4",
        4 => "8",
        8 => "12",
        16 => "2",
        _ => return Ok(()),
    };
    let speed = match row.number("LinkSpeedActv").unwrap_or(0) {
        1 => "SDR",
        2 => "DDR",
        4 => "QDR",
        0x100 => "FDR",
        0x200 => "EDR",
        0x400 => "HDR",
        0x800 => "NDR",
        0x1_0000 => "FDR10",
        0x100_0000 => "XDR",
        _ => return Ok(()),
    };
    rates.extend(data_rate(lanes, speed).map(|rate| ((guid, port), rate)));
    Ok(())
}

fn link(row: &Row<'_>) -> Result<[(u64, u8); 2], SubnetError> {
    Ok([(row.number("NodeGuid1")?, row.port("PortNum1")?), (row.number("NodeGuid2")?, row.port("PortNum2")?)])
}

/// The fields of a line; commas between quotes belong to a field, the quotes do not.
fn fields(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = line.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(|part| part.trim().trim_matches('"')).collect()
}
