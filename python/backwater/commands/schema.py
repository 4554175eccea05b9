"""``backwater schema``: the JSON Schema of a scenario, for editors."""


def schema() -> None:
    """Print the JSON Schema of a scenario file.

    An editor that knows TOML schemas then completes keys and shows what they mean: write it to a file and put
    `#:schema scenario.schema.json` on the first line of a scenario.
    """
    from backwater import _core

    print(_core.schema())
