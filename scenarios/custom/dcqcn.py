"""DCQCN as a function of the user's: the same, event for event, as the one that is built in (crates/control/src/reaction/dcqcn.rs).

Run it with `backwater run scenarios/custom/dcqcn.toml`; the digest is that of `--set cc.kind=dcqcn`. The names are those of the paper
(Zhu et al., SIGCOMM 2015): rate_bps is Rc, target_bps is Rt. Constants are globals; what one wants to sweep is a word of state that
nobody changes, such as `g`, which `cc.custom.parameters.g` sets.
"""

import backwater as bw

CUT = 0.5
ALPHA_TIMER_PS = 55_000_000
RATE_TIMER_PS = 55_000_000
BYTE_COUNTER = 10_000_000
FAST_RECOVERY = 5
RATE_AI_BPS = 40e6
RATE_HAI_BPS = 200e6
MIN_RATE_BPS = 100e6

RECOVERY, ADDITIVE, HYPER = 0, 1, 2

STATE = {
    "target_bps": float,
    "alpha": 0.5,
    "alpha_since_ps": bw.NEVER,
    "g": 1 / 256,
    "bytes_left": bw.NEVER,
    "times": int,
    "reloads": int,
    "stage": int,
}


@bw.congestion_control(state=STATE, on=["cnp", "send"])
def dcqcn(flow, event):
    if event.kind == bw.TIMER:
        flow.timer_ps = event.now_ps + (RATE_TIMER_PS // 2 if flow.stage == HYPER else RATE_TIMER_PS)
        flow.times += 1
        if flow.stage == RECOVERY and flow.times < FAST_RECOVERY:
            flow.stage = RECOVERY
        elif flow.stage == HYPER or min(flow.times, flow.reloads) >= FAST_RECOVERY:
            flow.stage = HYPER
        else:
            flow.stage = ADDITIVE
    elif event.kind == bw.SEND:
        if event.bytes <= flow.bytes_left:
            flow.bytes_left -= event.bytes
            return
        flow.bytes_left = BYTE_COUNTER // 2 if flow.stage == HYPER else BYTE_COUNTER
        flow.reloads += 1
        if flow.stage == RECOVERY and flow.reloads >= FAST_RECOVERY:
            flow.stage = HYPER if min(flow.times, flow.reloads) >= FAST_RECOVERY else ADDITIVE
    elif event.kind == bw.CNP:
        # What a CNP does whether it cuts (CE) or holds (UE).
        if flow.alpha_since_ps != bw.NEVER:
            # alpha decays in closed form: by repeated squaring, as the built-in one does it.
            ticks = (event.now_ps - flow.alpha_since_ps) // ALPHA_TIMER_PS
            decay = 1.0
            square = 1.0 - flow.g
            while ticks > 0:
                if ticks % 2 == 1:
                    decay *= square
                square *= square
                ticks //= 2
            flow.alpha = flow.alpha * decay
        flow.alpha_since_ps = event.now_ps
        flow.target_bps = flow.rate_bps
        flow.bytes_left = BYTE_COUNTER
        flow.times = 0
        flow.reloads = 0
        flow.stage = RECOVERY
        flow.timer_ps = event.now_ps + RATE_TIMER_PS
        if event.code == bw.CE:
            flow.alpha = (1.0 - flow.g) * flow.alpha + flow.g
            rate = float(int(flow.rate_bps * (1.0 - CUT * flow.alpha)))
            flow.rate_bps = max(rate, min(MIN_RATE_BPS, flow.line_bps))

    # An increase of the present stage, in whole bits per second.
    if event.kind != bw.CNP:
        just_cut = flow.reloads == 1 or flow.times == 1
        if just_cut and flow.target_bps > 10 * flow.rate_bps:
            flow.target_bps = flow.target_bps // 8
        elif flow.stage == ADDITIVE:
            flow.target_bps += RATE_AI_BPS
        elif flow.stage == HYPER:
            flow.target_bps += RATE_HAI_BPS * (min(flow.times, flow.reloads) + 1 - FAST_RECOVERY)
        flow.rate_bps = min((flow.rate_bps + flow.target_bps) // 2, flow.line_bps)

    # At line rate nothing can be noticed before the next CNP: no timer, no byte counter.
    if flow.rate_bps == flow.line_bps and flow.target_bps >= flow.line_bps:
        flow.timer_ps = bw.NEVER
        flow.bytes_left = bw.NEVER
