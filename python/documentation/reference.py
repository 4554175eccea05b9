"""The pages of the reference, made from the code: those in docs/reference, and those that only `make docs` makes."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from backwater.cli.explaining.entry import Entry
    from cyclopts import App

_ROOMS = ("detector", "reaction", "reaction/pft", "flow_control", "isolation", "arbitration", "notify", "transport")


#: What a generated page of the repository says of itself.
_MADE = "<!-- Generated from the code: do not edit. `make reference` writes it anew. -->"


def kept() -> dict[str, str]:
    """The pages that are in the repository, by their place in docs/."""
    made = {
        "reference/scenario.md": scenario(),
        "reference/commands.md": commands(),
        "reference/sweeps.md": sweeps(),
        "reference/measures.md": measures(),
        "reference/codes.md": codes(),
        "reference/presets.md": presets(),
    }
    return {place: text.replace("\n", f"\n\n{_MADE}\n", 1) for place, text in made.items()}


def pages(root: Path) -> dict[str, str]:
    """The pages that are not in the repository, by their place among the pages."""
    return {
        "reference/algorithms.md": algorithms(root / "crates" / "control" / "src"),
        "reference/python.md": python(),
    }


def commands() -> str:
    """The help of every command."""
    parts = ["# Commands", "Each section shows what `--help` prints. [What you can do](../commands.md) shows examples."]
    for words in [(), *_words()]:
        parts += [f"## backwater {' '.join(words)}".rstrip(), f"```text\n{_help(words)}\n```"]
    return "\n\n".join(parts) + "\n"


def command_line() -> App:
    """The command line as cyclopts knows it, made already or when it is asked for."""
    from backwater import cli

    made = vars(cli)["app"]
    return cast("App", made if hasattr(made, "parse_args") else made())


def _words() -> Iterator[tuple[str, ...]]:
    app = command_line()
    for name in app:
        if name.startswith("-"):
            continue
        yield (name,)
        yield from ((name, inner) for inner in app[name] if not inner.startswith("-"))


def _help(words: tuple[str, ...]) -> str:
    from rich.console import Console

    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        command_line().help_print(
            list(words), console=Console(file=said, width=76, color_system=None, force_terminal=False)
        )
    return said.getvalue().strip()


def scenario() -> str:
    """Every key of a scenario, table by table."""
    from backwater.cli.explaining import keys

    every = [entry for entry in keys.by_kind() if not entry.word.startswith(_REPEATED)]
    parts = [
        "# Keys of a scenario",
        "`backwater explain KEY` prints one key; `backwater schema` prints the JSON Schema, with which an editor "
        "completes keys. [Scenarios and results](../scenarios.md) is an introduction.",
        'A size, a time and a rate are texts with their unit: `"320KB"`, `"4us"`, `"40Gbps"`.',
        "The column *default* has the value of most profiles first, then each profile that has another one. The "
        f"profiles are {', '.join(f'`{name}`' for name in keys.profiles())}; the last column names the source of each "
        "value. "
        "A key without a default is needed, or has no value until it is given.",
    ]
    tables: dict[str, dict[str, list[Entry]]] = {}
    for entry in every:
        if entry.kind == "key":
            table = entry.word.rpartition(".")[0]
            tables.setdefault(table, {}).setdefault(entry.facts.get("kinds", ""), []).append(entry)
    about = {entry.word: entry for entry in every}
    for table, kinds in sorted(tables.items()):
        title = f"`[{table}]`" if table else "The file itself"
        parts += [f"## {title}", _line(about[table].summary) if table else ""]
        for kind, entries in sorted(kinds.items()):
            if kind:
                parts += [f'### `{table}.kind = "{kind}"`', _line(about[f"{table}.kind={kind}"].summary)]
            parts.append(_table({entry.word: entry for entry in entries}, every))
    return "\n\n".join(part for part in parts if part) + "\n"


#: A traffic entry may have tables of its own with the keys of these tables.
_REPEATED = ("traffic.cc.", "traffic.put.")


def _table(entries: dict[str, Entry], every: list[Entry]) -> str:
    rows = ["| key | takes | range | default | meaning and source |", "|---|---|---|---|---|"]
    for word, entry in sorted(entries.items()):
        key = word.rpartition(".")[2]
        words = {other.word: other for other in every if other.kind == "value" and other.word.startswith(f"{word}=")}
        meanings = [f"`{other.aliases[0]}`: {other.summary}" if other.summary else "" for other in words.values()]
        takes = ", ".join(f"`{name}`" for name in entry.facts["values"].split(", ")) if "values" in entry.facts else ""
        meaning = " ".join([entry.summary, *meanings] if key != "kind" else [entry.summary])
        cells = [
            f"`{key}`",
            takes or re.sub(r"\ban? (\w+) such as \S+", r"\1", entry.facts.get("type", "")),
            entry.facts.get("range", ""),
            _default(entry),
            _line(meaning),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _default(entry: Entry) -> str:
    """What a key is without being written: the value of most profiles, then those of the others."""
    from backwater.cli.explaining import keys

    of, told = keys.defaults(entry.word), entry.facts.get("default", "")
    (first, _), *others = keys.by_value(of, "`").items() or [(f"`{told}`" if told else "", [])]
    rest = sorted((", ".join(names), value) for value, names in others)
    return "; ".join([first, *(f"{names}: {value}" for names, value in rest)]).replace("|", "\\|")


def _prose(text: str) -> str:
    return re.sub(r"(?<!`)<", "&lt;", text)


def _line(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", "\\|")


def sweeps() -> str:
    """Keys of sweep files and of tuning files."""
    from documentation.sweeps import keys

    parts = ["# Keys of sweep and tuning files", "[Sweeps and tuning](../sweeps.md) shows how they are used."]
    return "\n\n".join([*parts, *(f"## {title}\n\n{text}" for title, text in keys().items())]) + "\n"


def measures() -> str:
    """Every measure of tables, sweeps and comparisons."""
    from documentation.sweeps import measures as table

    parts = [
        "# Measures",
        "`backwater sweep`, `tune`, `compare` and `run --seeds` compute these numbers from the [tables](columns.md) of "
        "a run. The end of a name is the unit: `_ps`, `_bps`, `_bytes`. *Better* says which way `tune` looks.",
        table(),
    ]
    return "\n\n".join(parts) + "\n"


def presets() -> str:
    """Switches and NICs whose published values a scenario may take."""
    from backwater.cli.explaining.presets import carries
    from backwater.scenario import presets as devices

    parts = [
        "# Presets",
        "A preset has what is published of a switch or a NIC. What the scenario gives stands, and the profile has what "
        "the preset lacks. [AI clusters](../cluster.md) shows how they are used.",
    ]
    for preset in devices.presets():
        parts.append(f'## `{preset.key} = "{preset.name}"`')
        parts.append(_line(f"{preset.title}: {carries(preset)}. Source: {preset.sources['device']}."))
        rows = [f"| `{key}` | {value} | {_line(preset.source(key))} |" for key, value in preset.values.items()]
        rows += [f"| `{key}` | not set | {_line(why)} |" for key, why in preset.not_set.items()]
        parts.append("\n".join(["| key | value | source, or why it is not set |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def codes() -> str:
    """Exit codes, exceptions, codes of messages."""
    from backwater import InvariantError, ScenarioError, UserCodeError
    from backwater.errors import MEANS, Exit, UsageError

    rows = [f"| {code.value} | `{code.name}` | {MEANS[code]} |" for code in Exit]
    errors = (ScenarioError, UsageError, UserCodeError, InvariantError)
    kinds = [f"| `backwater.{error.__name__}` | {_line((error.__doc__ or '').split('.')[0])} |" for error in errors]
    parts = [
        "# Codes",
        "\n".join(["## Exit codes", "", "| code | name | means |", "|---|---|---|", *rows]),
        "\n".join(["## Exceptions of Python", "", "| exception | means |", "|---|---|", *kinds]),
        "## Codes of messages",
        "A message has its code in brackets: `caveat[budget]: …`. `backwater explain CODE` prints the row of a code.",
        "\n".join(["| code | kind | exit code | means | what to do |", "|---|---|---|---|---|", *_messages()]),
    ]
    return "\n\n".join(parts) + "\n"


def _messages() -> Iterator[str]:
    from backwater.cli.explaining import codes as messages

    for entry in messages.entries():
        if entry.kind != "exit code":
            means, _, todo = entry.text.partition("\nWhat to do: ")
            cells = [f"`{entry.word}`", entry.kind, entry.facts["exit code"], _line(f"{entry.summary} {means}")]
            yield f"| {' | '.join([*cells, _line(todo)])} |"


def algorithms(source: Path) -> str:
    """What each algorithm says of itself: its idea, its reference."""
    parts = [
        "# Algorithms",
        "What the files of `crates/control` say of themselves: the idea, the paper, what was read into it.",
    ]
    for room in _ROOMS:
        parts.append(f"## {room.replace('_', ' ').replace('/', ': ')}")
        for file in sorted((source / room).glob("*.rs")):
            head = re.match(r"(?://!.*\n)+", file.read_text(encoding="utf-8"))
            if head and file.stem != "mod":
                text = re.sub(r"^//! ?", "", head[0], flags=re.MULTILINE)
                parts += [f"### `{room}/{file.name}`", re.sub(r"\[(`[^`]*`)\](?!\()(?:\([^)]*\))?", r"\1", text)]
    return "\n\n".join(parts) + "\n"


def python() -> str:
    """The interface for Python, by mkdocstrings."""
    import backwater
    from backwater import _HOMES

    parts = ["# Python", "`import backwater as bw`. [Python](../python.md) shows how it is used."]
    of_core = {"InvariantError", "ScenarioError", "__version__"}
    parts += [
        f"::: {_HOMES.get(name, 'backwater.extend')}.{name}"
        for name in backwater.__all__
        if name not in of_core and not name.isupper()
    ]
    return "\n\n".join(parts) + "\n"
