"""The controller of the draws, which `tests/corpus/main.rs` has in Rust, too."""

import backwater as bw


@bw.congestion_control(state={"seen": int}, on=["cnp"])
def halve(flow, event):
    """Halve at a CNP and rise every 20 us."""
    if event.kind == bw.CNP:
        flow.rate_bps = max(1e9, flow.rate_bps / 2)
        flow.seen += 1
    else:
        flow.rate_bps = min(flow.line_bps, flow.rate_bps + 1e9)
    flow.timer_ps = event.now_ps + 20_000_000
