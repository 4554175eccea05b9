//! `write_capture`: recorded frames as a pcapng file.
use std::fs::File;
use std::io::BufWriter;

use backwater_capture::{CaptureError, Frame, Kind, LEAST_SNAP};
use pyo3::prelude::*;

use crate::errors::bad_input;

/// A frame: interface, when it was sent (ps), bytes, kind, two numbers of that kind, a third, flow, source, destination, ECN.
type Row = (u32, u64, u16, String, u64, u64, u64, u32, u32, u32, u8);

/// Writes frames, in the order of their times, to a file; returns how many. The three numbers are, by kind: `data` (packet, whether
/// it is the last), `ack` and `nack` (packets received), `pfc` (priorities paused, let go, quanta), `credit` (lane, FCTBS, FCCL).
#[pyfunction]
pub(crate) fn write_capture(
    py: Python<'_>,
    out: &str,
    interfaces: Vec<String>,
    frames: Vec<Row>,
    snap: u32,
) -> PyResult<u64> {
    if snap < LEAST_SNAP {
        return Err(bad_input(format!(
            "error: {snap} bytes are too few to dissect; keep at least {LEAST_SNAP} of each frame"
        )));
    }
    let frames = frames.into_iter().map(frame).collect::<Result<Vec<_>, _>>()?;
    let written = py.detach(move || {
        let file = BufWriter::new(File::create(out)?);
        backwater_capture::write(file, &interfaces, frames, snap)
    });
    written.map_err(|error| match error {
        // Python names the file: this one is under way and has another name.
        CaptureError::File(error) => error.into(),
        CaptureError::Format(_) | CaptureError::Frame(_) => bad_input(format!("error: {error}")),
    })
}

fn frame(row: Row) -> PyResult<Frame> {
    let (interface, sent_ps, size, kind, a, b, c, flow, source, destination, ecn) = row;
    let kind = match kind.as_str() {
        "data" => Kind::Data { seq: a as u32, last: b > 0 },
        "ack" => Kind::Ack { received: a as u32, negative: false },
        "nack" => Kind::Ack { received: a as u32, negative: true },
        "cnp" => Kind::Cnp,
        "pfc" => Kind::Pfc { paused: a as u8, resumed: b as u8, quanta: c.min(u64::from(u16::MAX)) as u16 },
        "credit" => Kind::Credit { lane: a as u8, fctbs: b, fccl: c },
        "cim" => Kind::Cim,
        _ => return Err(bad_input(format!("error: no frame is called {kind:?}"))),
    };
    Ok(Frame { interface, sent_ps, size, kind, flow, source, destination, ecn })
}
