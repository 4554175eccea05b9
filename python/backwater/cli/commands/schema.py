"""``backwater schema``: the JSON Schema of a scenario, for editors."""

from __future__ import annotations

from backwater import _core
from backwater.cli.options import Json


def schema(*, json_: Json = False) -> None:
    """Print the JSON Schema of a scenario file.

    An editor that knows TOML schemas then completes keys and shows what they mean: write it to a file and put
    `#:schema scenario.schema.json` on the first line of a scenario.

    Parameters
    ----------
    json_
        Print JSON, which a schema is anyway.
    """
    del json_

    print(_core.schema())
