"""``backwater init``: a folder with a first scenario of one's own."""

from __future__ import annotations

from pathlib import Path

from backwater.cli.commands.import_ import finish
from backwater.cli.options import Json
from backwater.io.first_scenario import begin


def init(
    folder: Path = Path("mine"),
    /,
    *,
    topology: Path | None = None,
    flows: Path | None = None,
    json_: Json = False,
) -> None:
    """Make a folder with a first scenario: your own network and flows, or an example with a congestion tree.

    Parameters
    ----------
    folder
        The folder to make; it must not exist yet, or be empty.
    topology
        Your network, in the format of the HPCC simulator (ns-3): a line `nodes switches links`, a line with the ids of
        the switches, then a line `a b 100Gbps 0.001ms 0` for each link. A fat tree of 16 hosts if not given.
    flows
        Your flows: a line with their number, then a line `src dst priority dport bytes start_s` for each. An incast to
        the first host beside other flows if not given.
    json_
        Print JSON.
    """
    finish(begin(folder, topology, flows), folder, "the folder", as_json=json_)
