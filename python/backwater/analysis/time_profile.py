"""Where the time of a profiled run went, and what other numbers of threads would bring, in words."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from backwater.common import quantities, terminal
from backwater.results import Results


def lines(results: Results) -> list[str]:
    """What the threads did; nothing of a run that was not profiled."""
    profile: dict[str, Any] | None = results.meta.get("profile")
    if profile is None:
        return []
    shards, windows = profile["shards"], profile["windows"]
    hops = f", {results.meta['packet_hops'] / windows:.0f} packet-hops in each" if windows else ""
    told = [
        f"time: {quantities.counted(windows, 'window')} in {_time(profile['wall_s'])} on "
        f"{quantities.counted(len(shards), 'thread')}{hops}; writing tables {_time(profile.get('tables_s', 0.0))}"
    ]
    if len(shards) > 1:
        each = "; ".join(
            f"{_time(shard['work_s'])} nodes, {_time(shard['mail_s'])} messages, {_time(shard['wait_s'])} waiting"
            for shard in shards
        )
        told.append(f"time: by thread: {each}")
        told.append(
            f"time: the busiest thread of a window has {profile['imbalance']:.2f} times the work of the mean; "
            f"threads meet in {_time(profile['meeting_s'])}"
        )
    return told


def table(results: Results) -> Table | None:
    """What other numbers of threads would bring, each on a core of its own."""
    profile: dict[str, Any] | None = results.meta.get("profile")
    if profile is None or not profile["predictions"]:
        return None
    headings = ("windows take", "speed-up", "busiest / mean", "messages between threads", "meeting")
    made = terminal.table("Predicted for threads with a core each", ["threads"], headings)
    for row in profile["predictions"]:
        made.add_row(
            str(row["threads"]),
            _time(row["wall_s"]),
            f"{row['speedup']:.1f}",
            f"{row['imbalance']:.2f}",
            f"{row['messages_between']:.0%}",
            _time(row["meet_s"]),
        )
    return made


def _time(seconds: float) -> str:
    return quantities.time(seconds * 1e12)
