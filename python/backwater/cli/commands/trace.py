"""``backwater trace``: what programs do, recorded as they run."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from backwater.cli.commands.import_ import Delay, Network, Profile, Tables, finish_mpi
from backwater.cli.options import Count, Flag, Json
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import store
from backwater.io import tracing
from backwater.io.importing.workloads import Place


def mpi(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Path = Path("traced"),
    records: Path | None = None,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    fold: Flag = False,
    limit: Count = 1_000_000,
    mpicc: str = "mpicc",
    json_: Json = False,
) -> int:
    """Record an MPI program as it runs, and make a scenario of what its ranks called and computed.

    Parameters
    ----------
    command
        What to run, after `--`, such as `-- mpirun -n 4 ./app`. Ranks on other machines need the environment, too: with
        Open MPI `mpirun -x LD_PRELOAD -x BACKWATER_MPI_FOLDER -x BACKWATER_MPI_LIMIT`.
    out
        The folder to make.
    records
        The folder for the records of the ranks, which is kept; that of --out with `.records` behind it if not given.
    fold
        Make loops of calls that repeat; each turn then computes for the mean of all.
    limit
        How many calls of a rank are recorded.
    mpicc
        The compiler of the MPI that the program is linked with.
    json_
        Print JSON.
    """
    if not command:
        raise UsageError("no command is given; write it after --, such as `-- mpirun -n 4 ./app`")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} exists and is not an empty folder; name another one")
    # What is wrong with the network is said before the program runs, which may take long.
    place = Place(topology, profile, lfts, delay)
    place.network({})
    library = tracing.library(mpicc, store.default_folder())
    folder = records or out.with_name(f"{out.name}.records")
    if folder.exists() and any(folder.iterdir()):
        if records is not None or any(not file.name.endswith(".bwmpi") for file in folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name another folder with --records")
        shutil.rmtree(folder)
    require_folder(folder, "--records")
    code = tracing.record(list(command), library, folder, limit, sys.stderr if json_ else None)
    again = shlex.join(["backwater", "import", "mpi", str(folder)])
    ended = f"{command[0]} ended with exit code {code}"
    try:
        finish_mpi(folder, place, out, fold=fold, as_json=json_, notes=[ended] if code else [])
    except UsageError as error:
        raise UsageError(f"{error}\n  = help: {ended}; what was recorded: {again}") from None
    if not json_:
        print(f"records: {folder} ({again} reads them again)")
    return Exit.CAVEATS if code else Exit.OK
