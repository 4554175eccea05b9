"""Table 2: the quantities of the ON-OFF model with their values in runs, measured and by formula."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.tcd import schematic
from papers.tcd.schematic import OnOff

#: The rates of the source beside.
RATES = ("10Gbps", "20Gbps", "40Gbps")
#: Symbol, the paper's words, how it is written here.
ROWS = (
    ("C", "link capacity", lambda q: f"{q.c / 1e9:.1f} Gbps"),
    ("B1", "ingress queue that triggers OFF", lambda q: f"{q.b1 / 1e3:.1f} KB"),
    ("B0", "ingress queue that triggers ON", lambda q: f"{q.b0 / 1e3:.1f} KB"),
    ("Ri", "average input rate", lambda q: f"{q.ri / 1e9:.2f} Gbps"),
    ("Rd", "average draining rate", lambda q: f"{q.rd / 1e9:.2f} Gbps"),
    ("", "while packets come in, while none does", lambda q: f"{q.rd_on / 1e9:.1f}, {q.rd_off / 1e9:.1f} Gbps"),
    ("τ", "response time, to stop and to start", lambda q: f"{q.tau_off * 1e6:.2f}, {q.tau_on * 1e6:.2f} µs"),
    ("", "the shortest and the longest of any", lambda q: f"{q.tau_shortest * 1e6:.2f}, {q.tau_longest * 1e6:.2f} µs"),
    ("ε", "congestion degree, (Ri − Rd)/C", lambda q: f"{q.epsilon:.3f}"),
    ("Ton", "ON period, mean of the run", lambda q: f"{q.ton * 1e6:.2f} µs"),
    ("", "by Equation 1", lambda q: f"{q.model_ton * 1e6:.2f} µs"),
    ("Toff", "OFF period, mean of the run", lambda q: f"{q.toff * 1e6:.2f} µs"),
    ("", "by the same model", lambda q: f"{q.model_toff * 1e6:.2f} µs"),
)


def measured(runs: Runs) -> dict[str, OnOff]:
    """The quantities by the rate beside."""
    return {rate: schematic.on_off(runs[f"pfc {rate}"]) for rate in RATES}


def metrics(runs: Runs) -> Measurements:
    found = measured(runs)
    return {
        "periods": min(q.periods for q in found.values()),
        **schematic.by_rate(
            "ton_off_by_percent", {rate: 100 * abs(q.ton / q.model_ton - 1) for rate, q in found.items()}
        ),
        **schematic.by_rate(
            "toff_off_by_percent", {rate: 100 * abs(q.toff / q.model_toff - 1) for rate, q in found.items()}
        ),
        "longest_tau_us": {rate: 1e6 * q.tau_longest for rate, q in found.items()},
        "least_tau_us": {rate: 1e6 * q.tau_shortest for rate, q in found.items()},
    }


def headings() -> tuple[str, ...]:
    """Those of the table."""
    return ("", "parameter", *(f"A0 at {rate.replace('Gbps', ' Gbps')}" for rate in RATES))


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """Symbol, words and a value per rate beside."""
    found = measured(runs)
    return [(symbol, words, *(written(q) for q in found.values())) for symbol, words, written in ROWS]


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    title = "Parameters of the ON-OFF model, in the runs of the first seed"
    return [NumberTable(title, headings(), tuple(rows(seeds[0])), words=2)]


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Table 2: the parameters of the ON-OFF model, in runs", 8.8, 4.0) as made:
        axes = made.add_subplot()
        axes.set_axis_off()
        table = axes.table(
            rows(seeds[0]), colLabels=headings(), loc="center", cellLoc="right", colWidths=[0.08, 0.4, 0.18, 0.18, 0.18]
        )
        table.auto_set_font_size(False)
        table.set_fontsize(9)
        table.scale(1, 1.35)
        for (row, column), cell in table.get_celld().items():
            cell.set_edgecolor("#D9D9D9")
            if column < 2:
                cell.set_text_props(ha="left")
            if row == 0 or column == 0:
                cell.set_text_props(fontweight="bold")
