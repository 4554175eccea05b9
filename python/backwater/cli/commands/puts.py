"""``backwater puts``: the PUT streams of a run, and the picture of one packet by packet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from backwater.analysis import pictures, put_trace
from backwater.analysis import puts as measured
from backwater.cli.options import Count, Format, Json, Width
from backwater.common import quantities, terminal
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results


def puts(
    results: Path,
    /,
    *,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    stream: str | None = None,
    from_: Annotated[str, Parameter(name="--from")] = "0us",
    until: str | None = None,
    json_: Json = False,
    top: Count = 16,
) -> None:
    """Print what each PUT stream sent, sent again and got across, and draw one of them packet by packet.

    The table needs `probe.streams`; the picture needs the stream's traffic entry in `probe.puts`.

    Parameters
    ----------
    results
        A results folder.
    plot
        Draw packets and acknowledgements by time and sequence number, over the receive queue of the target, to this
        file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    stream
        The stream that is drawn, such as h1->h0; the one with most events if not given.
    from_
        When the picture begins, such as 2.25ms.
    until
        When it ends; after 2000 events if not given.
    json_
        Print JSON.
    top
        How many streams to print: first those that sent most again.
    """
    plot, paper = pictures.to_plot(plot, format_, width)
    run = Results(results)
    written = []
    if plot is not None:
        start, end = _time("--from", from_), None if until is None else _time("--until", until)
        trace = put_trace.of(run, stream)
        if end is not None and end <= start:
            raise UsageError(f"--until {until} is not after --from {from_}: the picture would end before it begins")
        if trace.end_ps(start) <= start:
            raise UsageError(f"--from {from_}: nothing of {trace.name} was recorded after that")
        written.append(paper.draw("put_picture", trace, plot, start_ps=start, end_ps=end))
    if not run.has("streams"):
        if plot is None:
            put_trace.require_puts(run)
            raise UsageError(
                f"{results} has no sums of PUT streams: run with --set probe.streams=true --set probe.sample=10us"
            )
    elif json_:
        print(json.dumps(measured.by_stream(run).to_dicts(), indent=2))
        return
    else:
        terminal.stdout().print(_table(run, measured.by_stream(run), top))
    for file in written:
        print(f"written: {file}")


def _time(option: str, text: str) -> int:
    try:
        return quantities.parse_time(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _table(run: Results, streams: pl.DataFrame, top: int) -> Table:
    title = "PUT streams" if streams.height <= top else f"{top} of {streams.height} PUT streams"
    several = [name for name in ("priority", "kind") if streams[name].n_unique() > 1]
    made = terminal.table(title, ["stream"], (*several, *_COUNTS.values(), "goodput", "of the link"))
    order = streams.sort("resent_packets", "src", "dst", descending=[True, False, False])
    for row in order.head(top).to_dicts():
        labels = [escape(f"{row['src']}->{row['dst']}"), *(str(row[name]) for name in several)]
        share = f"{quantities.three_digits(100 * row['goodput'])} %"
        counts = (quantities.count(row[name]) for name in _COUNTS)
        made.add_row(*labels, *counts, quantities.rate(row["goodput_bps"]), share)
    depth = run.meta["scenario"].get("host", {}).get("queue")
    notes = [
        "dropped: the receive queue had no room; behind: one before it was missing; twice: accepted before",
        "IACKs, marked ones among them, DACKs and NACKs: those that took effect at the initiator",
    ]
    made.caption = "\n".join(
        notes + ([f"receive queues of {quantities.size(quantities.parse_size(depth))}"] if depth else [])
    )
    return made


#: Columns that are counts, with their headings.
_COUNTS = {
    "sent_packets": "sent",
    "resent_packets": "resent",
    "accepted_packets": "accepted",
    "dropped_packets": "dropped",
    "out_of_order_packets": "behind",
    "duplicate_packets": "twice",
    "iacks": "IACKs",
    "marked_iacks": "marked",
    "dacks": "DACKs",
    "nacks": "NACKs",
    "timeouts": "timeouts",
}
