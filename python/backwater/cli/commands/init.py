"""``backwater init``: a folder with a first scenario of one's own."""

from __future__ import annotations

from pathlib import Path

from backwater.cli.commands.import_ import finish
from backwater.cli.options import Json
from backwater.errors import UsageError
from backwater.io import first_cluster
from backwater.io.first_scenario import begin


def init(
    folder: Path = Path("mine"),
    /,
    *,
    topology: Path | None = None,
    flows: Path | None = None,
    gpus: int | None = None,
    nic: str | None = None,
    json_: Json = False,
) -> None:
    """Make a folder with a first scenario: your own network and flows, an AI cluster, or an example.

    Parameters
    ----------
    folder
        The folder to make; it must not exist yet, or be empty.
    topology
        Your network, in the format of the HPCC simulator (ns-3): a line `nodes switches links`, a line with the ids of
        the switches, then a line `a b 100Gbps 0.001ms 0` for each link. A fat tree of 16 hosts if not given. With
        --gpus one of rails, fat-tree, leaf-spine, clos; rails if not given.
    flows
        Your flows: a line with their number, then a line `src dst priority dport bytes start_s` for each. An incast to
        the first host beside other flows if not given.
    gpus
        An AI cluster of so many GPUs, each with a NIC of its own.
    nic
        With --gpus: the rate of a NIC, such as 400Gbps, which is the default.
    json_
        Print JSON.
    """
    if gpus is None:
        if nic is not None:
            raise UsageError("--nic is the rate of the NICs of a cluster: add --gpus N, or remove --nic")
        return finish(begin(folder, topology, flows), folder, "the folder", as_json=json_)
    if flows is not None:
        raise UsageError("--gpus makes a cluster with traffic of its own: remove --flows")
    made = first_cluster.begin(folder, gpus, nic or "400Gbps", str(topology or "rails"))
    return finish(made, folder, "the folder", as_json=json_)
