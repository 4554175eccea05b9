"""Runs Figure 11 on the software switches and judges it by the claims of the figure: what ``make testbed`` does."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.common import atomic_files
from backwater.errors import UsageError
from backwater.papers import claims, paper_figure, testbed_parts
from backwater.papers.testbed import PROFILES, SwitchRun
from backwater.scenario import toml_writer

#: Longest time on the clock of the wall for one run: a second of the testbed takes one to three.
TIMEOUT_S = 600


@dataclass(frozen=True)
class Measured:
    """The runs under one flow control, and what came of the claims in all of them, and in each that counts."""

    flow_control: str
    runs: tuple[SwitchRun, ...]
    judged: tuple[claims.Judged, ...]
    each: tuple[tuple[claims.Judged, ...], ...]

    @property
    def counted(self) -> tuple[SwitchRun, ...]:
        """The runs whose timing was not disturbed."""
        return tuple(run for run in self.runs if not run.disturbed)

    def held(self, claim: str) -> int:
        """In how many runs a claim held."""
        return sum(
            judged.claim.id == claim and judged.verdict is claims.Verdict.HOLDS for run in self.each for judged in run
        )

    @property
    def holds(self) -> bool:
        """Whether every run that was asked for counts, and every claim holds in each."""
        return len(self.counted) == len(self.runs) and all(j.verdict is claims.Verdict.HOLDS for j in self.judged)

    @property
    def shown(self) -> SwitchRun | None:
        """The run that stands for all: the first in which a claim does not hold, otherwise the last."""
        differs = (
            run
            for run, judged in zip(self.counted, self.each, strict=True)
            if any(item.verdict is claims.Verdict.DIFFERS for item in judged)
        )
        return next(differs, self.counted[-1] if self.counted else None)

    @property
    def losses(self) -> list[str]:
        """Frames that were lost, run by run."""
        return [f"{self.flow_control}, run {i}: {loss}" for i, run in enumerate(self.runs, 1) for loss in run.losses()]


def measure(switch: Path, examples: Path, flow_control: str, runs: int, clock: str | None, out: Path) -> Measured:
    """Run the testbed `runs` times under a flow control; `<flow control>.json` becomes what is `shown` of them."""
    config = examples / f"fig11-{flow_control}.toml"
    if not config.exists():
        raise UsageError(
            f"{config} does not exist; name the folder with fig11-pfc.toml and fig11-credits.toml by --examples"
        )
    done = []
    for number in range(1, runs + 1):
        print(f"{flow_control}: run {number} of {runs}", file=sys.stderr)
        done.append(_run_in_parts(switch, config) if clock == "lockstep" else _run(switch, config, clock))
    counted = [run for run in done if not run.disturbed]
    each = tuple(_judge(flow_control, [run]) for run in counted)
    measured = Measured(flow_control, tuple(done), _judge(flow_control, counted), each)
    kept = out / f"{flow_control}.json"
    # A result of earlier runs must not stand for these.
    kept.unlink(missing_ok=True)
    if measured.shown:
        atomic_files.write_text(kept, json.dumps(measured.shown.document) + "\n")
    return measured


def _run(switch: Path, config: Path, clock: str | None) -> SwitchRun:
    return SwitchRun(_results([_command(switch, config, *(() if clock is None else ("--clock", clock)))])[0])


def _run_in_parts(switch: Path, config: Path) -> SwitchRun:
    """Each switch of a file with its hosts in a process of its own."""
    shared = Path("/dev/shm")  # noqa: S108  where memory is shared, in a folder of this run's own
    with tempfile.TemporaryDirectory(prefix="backwater-", dir=shared if shared.is_dir() else None) as folder:
        commands: list[list[str]] = []
        for part in testbed_parts.split(tomllib.loads(config.read_text(encoding="utf-8")), Path(folder)):
            file = Path(folder) / f"{len(commands)}.toml"
            atomic_files.write_text(file, toml_writer.toml(part))
            commands.append(_command(switch, file))
        return SwitchRun(testbed_parts.merged(_results(commands)))


def _command(switch: Path, config: Path, *options: str) -> list[str]:
    return [str(switch), "--config", str(config), "--stats", "json", *options]


def _results(commands: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """What processes that run at the same time print at their ends; raises UsageError with what went wrong in each."""
    with ThreadPoolExecutor(len(commands)) as pool:
        running = [pool.submit(_result, command) for command in commands]
    wrong = [str(error) for process in running if (error := process.exception()) is not None]
    if wrong:
        raise UsageError("\n".join(wrong))
    return [process.result() for process in running]


def _result(command: Sequence[str]) -> dict[str, Any]:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
    except FileNotFoundError:
        raise UsageError(f"{command[0]} does not exist; `make testbed` builds it, --switch names another") from None
    except PermissionError:
        raise UsageError(f"{command[0]} may not be executed; --switch names another") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{' '.join(command)} did not end within {TIMEOUT_S} s") from None
    if ended.returncode != 0:
        raise UsageError(f"{' '.join(command)} failed (exit code {ended.returncode}):\n{ended.stderr.strip()}")
    try:
        document: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise UsageError(
            f"{' '.join(command)} printed no result:\n{ended.stdout[-500:]}{ended.stderr[-500:]}"
        ) from None
    return document


def _judge(flow_control: str, runs: Sequence[SwitchRun]) -> tuple[claims.Judged, ...]:
    figure = _figure()
    per_run = [figure.module().switch_metrics(run) for run in runs]  # type: ignore[attr-defined]
    profile = f"{PROFILES[flow_control]}, switches"
    return tuple(claims.judge(claim, figure.name, profile, per_run, each=True) for claim in figure.claims)


def _figure() -> paper_figure.Figure:
    return paper_figure.discover("tcd", ["fig11"])[0]


def write(measured: Sequence[Measured], out: Path) -> list[Path]:
    """Write the picture, the verdicts and the marks of all windows; returns the files."""
    files = [out / name for name in ("fig11.png", "claims.json", "fig11.csv")]
    for file in files:
        file.unlink(missing_ok=True)
    shown = [(item.flow_control, item.shown) for item in measured if item.shown]
    verdicts = [
        judged.as_json()
        | {"flow_control": item.flow_control, "runs": len(item.runs), "held_in_runs": item.held(judged.claim.id)}
        for item in measured
        for judged in item.judged
    ]
    atomic_files.write_text(files[1], json.dumps(verdicts, indent=2) + "\n")
    _write_csv(shown, files[2])
    if shown:
        names = {"pfc": "under PFC", "credits": "under credits"}
        rows = [(names[flow_control], run) for flow_control, run in shown]
        title = f"Figure 11 on software switches (DPDK), {shown[0][1].clock} clock"
        _figure().module().draw_rows(rows, title, files[0])  # type: ignore[attr-defined]
    return [file for file in files if file.exists()]


def _write_csv(shown: Sequence[tuple[str, SwitchRun]], file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(
            ("flow_control", "flow", "window_start_ps", "window_end_ps", "packets", "ue_packets", "ce_packets")
        )
        for flow_control, run in shown:
            edges = run.edges_ps.tolist()
            for flow in ("F0", "F1", "A0"):
                columns: list[Any] = [run.packets(flow, code).astype(int).tolist() for code in (None, "UE", "CE")]
                for start, end, *counts in zip(edges[:-1], edges[1:], *columns, strict=True):
                    table.writerow((flow_control, flow, start, end, *counts))
