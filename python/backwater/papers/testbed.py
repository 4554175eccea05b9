"""What the software switches of ``make testbed`` measured: marks of each flow in windows, from the JSON of a run."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.common.late import NDArray, np
from backwater.errors import UsageError, reason

#: Where `make testbed` writes and `backwater reproduce` looks.
FOLDER = Path("results/testbed")
#: The flow controls of Figure 11, and under which profile the paper's figure has each.
PROFILES = {"pfc": "ideal", "credits": "infiniband"}
#: What a code point is called in the columns of a receiver.
_COLUMNS = ("not_capable_packets", "capable_packets", "ue_packets", "ce_packets")


class Windows(ABC):
    """Marks on the testbed of Figure 11 in windows of a run, simulated or not."""

    @property
    @abstractmethod
    def edges_ps(self) -> NDArray[np.int64]:
        """Where the windows begin and end."""

    @property
    @abstractmethod
    def a0_ps(self) -> tuple[int, int]:
        """When A0 began and when its last byte arrived."""

    @abstractmethod
    def f0_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: the share of F0's packets with the mark."""

    @abstractmethod
    def f1_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: the share of F1's packets with the mark."""

    @property
    def during(self) -> NDArray[np.bool_]:
        """The windows in all of which A0 sends."""
        start, finish = self.a0_ps
        return (self.edges_ps[:-1] >= start) & (self.edges_ps[1:] <= finish)

    @property
    def outside(self) -> NDArray[np.bool_]:
        """The windows in none of which A0 sends."""
        start, finish = self.a0_ps
        return (self.edges_ps[1:] <= start) | (self.edges_ps[:-1] >= finish)


@dataclass(frozen=True)
class SwitchRun(Windows):
    """One run of `backwater-switch` on the compact testbed: what it printed at its end."""

    document: dict[str, Any]

    @classmethod
    def load(cls, file: Path) -> SwitchRun:
        """Read a result; raises UsageError where it is none."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            run = cls(document)
            run.edges_ps, run.a0_ps, run.received("F0"), run.received("F1")
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({reason(error)}); `make testbed` writes it") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"{file} is no result of the testbed; remove it and call `make testbed`") from None
        return run

    @property
    def clock(self) -> str:
        """Which clock the run had: step, clamp, lockstep or wall."""
        return str(self.document["clock"])

    @property
    def disturbed(self) -> bool:
        """Whether the machine stood still for so long that the timing of the run means nothing (wall clock only)."""
        return bool(self.document["disturbed"])

    @property
    def edges_ps(self) -> NDArray[np.int64]:
        """Where the windows of the receivers begin and end."""
        width = int(self._receiver("F0")["window_ps"])
        count = len(self.received("F0")["ue_packets"])
        return np.arange(count + 1, dtype=np.int64) * width

    @property
    def a0_ps(self) -> tuple[int, int]:
        """When A0's first byte left and its last one arrived."""
        return int(self.sent("A0")["first_ps"]), int(self.received("A0")["last_ps"])

    def f0_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: the share of F0's packets with the mark, at R0."""
        return self.percent("F0", code)

    def f1_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: the share of F1's packets with the mark, at R1."""
        return self.percent("F1", code)

    def percent(self, flow: str, code: str) -> NDArray[np.float64]:
        """Per window: the share of a flow's packets that arrived with `UE` or `CE`."""
        return 100 * self.packets(flow, code) / np.maximum(self.packets(flow), 1)

    def packets(self, flow: str, code: str | None = None) -> NDArray[np.float64]:
        """Per window: packets of a flow that arrived, all or with one code point (`UE` or `CE`)."""
        columns = _COLUMNS if code is None else (f"{code.lower()}_packets",)
        counted = [self.received(flow)[column] for column in columns]
        return np.asarray(np.sum(np.asarray(counted, dtype=np.float64), axis=0), dtype=np.float64)

    def received(self, flow: str) -> dict[str, Any]:
        """What the receiver of a flow counted."""
        return self._entry("received", flow)

    def sent(self, flow: str) -> dict[str, Any]:
        """What the sender of a flow counted."""
        return self._entry("sent", flow)

    def port(self, node: str, name: str) -> dict[str, Any]:
        """The counters of a port."""
        return next(p for n in self.nodes if n["name"] == node for p in n["ports"] if p["name"] == name)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """All nodes, with their ports."""
        return list(self.document["nodes"])

    def losses(self) -> list[str]:
        """Frames that were lost, each with its place: empty in a lossless network that works."""
        found = [
            f"{node['name']} {port['name']}: {count} frames dropped ({reason})"
            for node in self.nodes
            for port in node["ports"]
            for reason, count in port["drops"].items()
            if count and reason != "shutdown"
        ]
        for node in self.nodes:
            if node.get("unaccounted_frames"):
                found.append(f"{node['name']}: {node['unaccounted_frames']} frames are not accounted for")
            for flow in node.get("received", ()):
                found += [
                    f"{flow['flow']}: {flow[what]} packets {what}"
                    for what in ("missing", "late", "damaged")
                    if flow[what]
                ]
        if self.document["leaked_frames"]:
            found.append(f"{self.document['leaked_frames']} frames were not freed")
        return found

    def _entry(self, side: str, flow: str) -> dict[str, Any]:
        for node in self.nodes:
            for entry in node.get(side, ()):
                if entry["flow"] == flow:
                    return dict(entry)
        raise KeyError(flow)

    def _receiver(self, flow: str) -> dict[str, Any]:
        return next(n for n in self.nodes if any(entry["flow"] == flow for entry in n.get("received", ())))


def find(flow_control: str, folder: Path = FOLDER) -> SwitchRun | None:
    """The run under a flow control (`pfc` or `credits`) that `make testbed` left, if there is one."""
    file = folder / f"{flow_control}.json"
    return SwitchRun.load(file) if file.exists() else None
