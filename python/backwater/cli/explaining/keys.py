"""Keys of scenarios and the words that they can have, from the JSON Schema (`backwater schema`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from backwater import _core
from backwater.cli.explaining.entry import Entry

Schema = dict[str, Any]

#: How quantities are written, by what the schema calls them.
_TYPES = {"string": "text", "array": "list", "object": "table"}
_QUANTITIES = {"Rate": "a rate such as 40Gbps", "Size": "a size such as 320KB", "Span": "a time such as 4us"}


def entries() -> list[Entry]:
    """Every key by its path, every table, and every word of an enumeration as `KEY=WORD`.

    A key that several kinds of a table have is one entry, which says what it is with each of them.
    """
    found: dict[str, list[Entry]] = {}
    for entry in by_kind():
        found.setdefault(entry.word, []).append(entry)
    return [_merged(same) for same in found.values()]


def by_kind() -> Iterator[Entry]:
    """Every key, table and word as `entries` has them, but each of them once for each kind of its table."""
    schema: Schema = json.loads(_core.schema())
    yield from _table(schema, schema["$defs"], "", "")


def _merged(same: list[Entry]) -> Entry:
    first, *others = same
    if not others:
        return first
    # Kinds that say the same of a key are told together.
    told: dict[tuple[str, str], list[str]] = {}
    for entry in same:
        facts = ", ".join(f"{name} {value}" for name, value in entry.facts.items() if name in ("default", "range"))
        told.setdefault((entry.summary, facts), []).append(entry.facts.get("kinds", ""))
    if len(told) == 1:
        kinds = ", ".join(kind for kind in next(iter(told.values())) if kind)
        return Entry(
            first.word, first.kind, first.summary, first.text, first.facts | {"kinds": kinds}, defaults=first.defaults
        )
    lines = [
        f"{', '.join(filter(None, kinds)) or 'always'}: {summary}{f' ({facts})' if facts else ''}"
        for (summary, facts), kinds in told.items()
    ]
    kinds = ", ".join(dict.fromkeys(kind for kinds in told.values() for kind in kinds if kind))
    return Entry(
        first.word,
        first.kind,
        f"{first.summary.split('. ')[0].rstrip('.')}, and other things with other kinds.",
        "\n".join(lines),
        {"type": first.facts.get("type", ""), "kinds": kinds},
        defaults=first.defaults,
    )


@cache
def profiles() -> dict[str, dict[str, Any]]:
    """By profile what its keys are if a scenario does not say, by their paths."""
    return {name: dict(_flat(table)) for name, table in json.loads(_core.profile_defaults()).items()}


def _flat(table: Schema, path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


@cache
def _default_profile() -> str:
    """That of a scenario that names none."""
    return str(json.loads(_core.schema())["properties"]["profile"]["default"])


def defaults(word: str) -> dict[str, Any]:
    """By profile what a key is if a scenario does not say; empty of one that no profile has."""
    found = {name: profile.get(word) for name, profile in profiles().items()}
    return {} if all(value is None for value in found.values()) else found


def by_value(of: Mapping[str, Any], quote: str = "") -> dict[str, list[str]]:
    """Each value, between quotes, with the profiles that have it; that of most profiles first."""
    found: dict[str, list[str]] = {}
    for name, value in of.items():
        text = "none" if value is None else f"{quote}{json.dumps(value, ensure_ascii=False)}{quote}"
        found.setdefault(text, []).append(name)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[1])))


def _told(of: Mapping[str, Any], default: str) -> str:
    """The value of the default profile, and of the others those that have another one."""
    found = by_value(of)
    if len(found) == 1:
        return next(iter(found))
    first = {text: names for text, names in found.items() if default in names}
    return "; ".join(
        f"{', '.join(sorted(names, key=lambda name: name != default))}: {text}"
        for text, names in (first | found).items()
    )


def _table(table: Schema, defs: Schema, path: str, kind: str) -> Iterator[Entry]:
    """The keys of a table, and below; `kind` is set within one of several kinds of it."""
    for key, raw in table.get("properties", {}).items():
        if "const" in raw:
            # The kind itself: it is told once for the table.
            continue
        word = f"{path}.{key}" if path else key
        value = _resolved(raw, defs)
        below = list(_below(value, defs, word))
        parts = [entry.word[len(word) + 1 :] for entry in below if entry.kind == "key"]
        own = dict.fromkeys(part for part in parts if "." not in part)
        keys = f"Its keys: {', '.join(own)}" if own else ""
        facts = _facts(value, defs)
        of = defaults(word)
        if of:
            facts["default"] = _told(of, _default_profile())
        own_values = of if len(by_value(of)) > 1 else {}
        yield Entry(word, "key", _line(value), keys, facts | ({"kinds": kind} if kind else {}), defaults=own_values)
        yield from _values(value, defs, word)
        yield from below
    kinds = [choice for choice in table.get("oneOf", ()) if "properties" in choice]
    if kinds:
        names = [_kind(choice) for choice in kinds]
        facts = {"type": "text", "values": ", ".join(names)}
        yield Entry(f"{path}.kind", "key", f"Which kind: {', '.join(names)}.", "", facts)
    for choice in kinds:
        name = _kind(choice)
        listed = ", ".join(key for key in choice["properties"] if key != "kind")
        told = f"Keys of its own: {listed}." if listed else ""
        yield Entry(f"{path}.kind={name}", "value", _line(choice), told, {}, (name,))
        yield from _table(choice, defs, path, name)


def _kind(choice: Schema) -> str:
    return str(choice["properties"]["kind"]["const"])


def _below(value: Schema, defs: Schema, word: str) -> Iterator[Entry]:
    """The keys of a table, or of the tables of a list, that stands at a key."""
    for inner in (value, *(_resolved(branch, defs) for branch in value.get("anyOf", ()))):
        table = _resolved(inner["items"], defs) if isinstance(inner.get("items"), dict) else inner
        if "properties" in table or any("properties" in choice for choice in table.get("oneOf", ())):
            yield from _table(table, defs, word, "")


def _values(value: Schema, defs: Schema, word: str) -> Iterator[Entry]:
    for inner in (value, *(_resolved(branch, defs) for branch in value.get("anyOf", ()))):
        item = _resolved(inner["items"], defs) if isinstance(inner.get("items"), dict) else {}
        for choice in (*inner.get("oneOf", ()), *item.get("oneOf", ())):
            if "const" in choice:
                name = str(choice["const"])
                yield Entry(f"{word}={name}", "value", _line(choice), "", {}, (name,))


def _resolved(value: Schema, defs: Schema) -> Schema:
    """A schema together with what it refers to; its own words count first."""
    if "$ref" in value:
        target = defs[value["$ref"].rsplit("/", 1)[1]]
        return {**target, **{key: text for key, text in value.items() if key != "$ref"}}
    return value


def _line(value: Schema) -> str:
    return " ".join(str(value.get("description", "")).split())


def _facts(value: Schema, defs: Schema) -> dict[str, str]:
    facts = {"type": " or ".join(dict.fromkeys(_types(value, defs)))}
    words = [str(choice["const"]) for choice in value.get("oneOf", ()) if "const" in choice]
    if words:
        facts["values"] = ", ".join(words)
    if value.get("default") is not None:
        facts["default"] = json.dumps(value["default"], ensure_ascii=False)
    ends = [value.get(f"x-{end}", value.get(end)) for end in ("minimum", "maximum")]
    if ends != [None, None]:
        low, high = ends
        facts["range"] = f"{low} to {high}" if None not in ends else f"up to {high}" if low is None else f"from {low}"
    return facts


def _types(value: Schema, defs: Schema) -> Iterator[str]:
    if "anyOf" in value:
        for branch in value["anyOf"]:
            if branch.get("type") != "null":
                yield from _types(_resolved(branch, defs), defs)
    elif "x-quantity" in value:
        yield _QUANTITIES[value["x-quantity"]]
    elif "const" in value:
        yield json.dumps(value["const"])
    elif "enum" in value or any("const" in choice for choice in value.get("oneOf", ())):
        yield "text"
    elif "oneOf" in value or "properties" in value:
        yield "table"
    else:
        kind = value.get("type", "any")
        for one in kind if isinstance(kind, list) else [kind]:
            if one != "null":
                yield _TYPES.get(one, str(one))
