"""What the HPCC simulator loses and sends again: `ERROR_RATE_PER_LINK`, `LINK_DOWN`, `L2_*`, links that lose frames.

Its receivers answer a gap with a NACK at once, and again 500 us later; senders go back to what is expected. It has no
timer for what is lost at the end of a flow. Both were seen in its runs (docs/fidelity.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backwater.io.importing.hpcc_config import ORIGIN_S, Config

_NACK_INTERVAL = "500us"
#: The longest there is: past the end of a run there, which lasts 4 s as a rule.
_TIMEOUT = "10s"
#: Routes are others there in the instant in which a link goes down.
_AT_ONCE = ["[fault-handling]", 'detect = "0ns"', 'converge = "0ns"', ""]
_NO_TIMER = (
    f"transport.go-back-n.timeout: that simulator has no timer, so a flow whose last packet is lost never ends there;"
    f" here it goes on after {_TIMEOUT}, the longest time there is"
)
_SPARED = "PFC frames are lost there, too; here they are not, as a lost RESUME would hold a port for good"


@dataclass
class Losses:
    """Lines of the scenario, the topology without its losses, and notes."""

    topology: str
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(config: Config, topology: str) -> Losses:
    """What of a configuration and its topology loses packets, and how they are sent again."""
    made = Losses(topology)
    common = config.values.get("ERROR_RATE_PER_LINK")
    rate = config.number("ERROR_RATE_PER_LINK") or 0.0
    if rate > 1:
        config.refuse("ERROR_RATE_PER_LINK", f"ERROR_RATE_PER_LINK {rate:g} is no share of the frames, 0 to 1")
    if common and not rate:
        config.used.discard("ERROR_RATE_PER_LINK")
    faults = _links(made, rate)
    if faults:
        made.notes.append(_SPARED)
    down = _down(config, made)
    if down:
        faults += down
        made.lines += _AT_ONCE
    if not faults:
        return made
    made.lines += ["[transport]", 'reliability = "go-back-n"', ""]
    timers = [f'nack-interval = "{_NACK_INTERVAL}"', f'timeout = "{_TIMEOUT}"']
    made.lines += ["[transport.go-back-n]", *timers, "", *faults]
    made.notes.append(_NO_TIMER)
    back = config.number("L2_BACK_TO_ZERO")
    chunk = config.values.get("L2_CHUNK_SIZE")
    if back:
        told = f"L2_BACK_TO_ZERO {back:g} (line {config.values['L2_BACK_TO_ZERO'].line})"
        made.notes.append(
            f"{told} is not carried over: receivers forget what they have of a chunk there; here senders go back to the"
            " first lost packet"
        )
    elif back is not None:
        line = config.values["L2_BACK_TO_ZERO"].line
        made.notes.append(f"L2_BACK_TO_ZERO 0 (line {line}): so it is here: go-back-N (transport.reliability)")
    if chunk:
        config.used.add("L2_CHUNK_SIZE")
        told = f"L2_CHUNK_SIZE {' '.join(chunk.words)} (line {chunk.line})"
        why = "is not carried over: it goes with L2_BACK_TO_ZERO" if back else "says nothing without L2_BACK_TO_ZERO"
        made.notes.append(f"{told} {why}")
    return made


def _links(made: Losses, common: float) -> list[str]:
    """Faults of the links that lose frames; their column of the topology becomes 0. What is wrong there stays."""
    rows = made.topology.splitlines()
    faults = list[str]()
    for at, row in enumerate(rows):
        words = row.split()
        # Of the lines before the links none has a rate.
        if len(words) != 5 or "bps" not in words[2]:
            continue
        try:
            own = float(words[4])
        except ValueError:
            continue
        if not 0 <= own <= 1:
            continue
        if own:
            rows[at] = " ".join([*words[:4], "0"])
            made.topology = "\n".join([*rows, ""])
        # A link's own rate goes before that of all.
        share = own or common
        if share:
            faults += [
                "[[fault]]",
                'kind = "loss"',
                f'link = ["n{words[0]}", "n{words[1]}"]',
                f"frames = {share:.12g}",
                "",
            ]
    return faults


def _down(config: Config, made: Losses) -> list[str]:
    """The fault of `LINK_DOWN us a b`; the time counts from when flows start, 2 s there, and 0 is none."""
    value = config.values.get("LINK_DOWN")
    if value is None or value.words[0].strip("0.") == "":
        return []
    config.used.add("LINK_DOWN")
    if len(value.words) != 3 or not all(word.isdecimal() for word in value.words):
        told = " ".join(value.words)[:40]
        config.refuse("LINK_DOWN", f"LINK_DOWN {told!r} is not a time in us and two nodes")
    time, first, second = value.words
    links = [
        set(words[:2]) for words in map(str.split, made.topology.splitlines()) if len(words) == 5 and "bps" in words[2]
    ]
    if links and {first, second} not in links:
        ends = sorted({end for link in links if first in link for end in link - {first}}, key=len)
        has = f"{first} has links to {', '.join(ends[:5])}" if ends else f"it has no link of {first}"
        config.refuse("LINK_DOWN", f"LINK_DOWN {time} {first} {second}: no link of the topology joins them; {has}")
    stop = config.number("SIMULATOR_STOP_TIME")
    if stop is not None and int(time) >= (stop - ORIGIN_S) * 1e6:
        told = f"LINK_DOWN {time} {first} {second} (line {value.line})"
        made.notes.append(
            f"{told} says nothing: its time is in us from {ORIGIN_S:g} s on, when flows start, and the run ends at"
            f" {stop:g} s"
        )
        return []
    return ["[[fault]]", 'kind = "link-down"', f'link = ["n{first}", "n{second}"]', f'at = "{int(time)}us"', ""]
