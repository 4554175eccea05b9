"""Tables of results and their columns, from the dictionary of the core, as docs/reference/columns.md."""

from __future__ import annotations

import json

from backwater import _core
from backwater.cli.explaining.entry import Entry


def entries() -> list[Entry]:
    """Each table, then each of its columns."""
    tables: dict[str, list[dict[str, str]]] = {}
    for row in json.loads(_core.dictionary()):
        tables.setdefault(row["table"], []).append(row)
    found = []
    for table, rows in tables.items():
        width = max(len(row["column"]) for row in rows)
        listed = "\n".join(f"{row['column']:<{width}}  {row['unit']}" for row in rows)
        found.append(
            Entry(f"{table}.parquet", "table", f"A table of results with {len(rows)} columns.", listed, {}, (table,))
        )
        found += [
            Entry(
                f"{table}.{row['column']}",
                "column",
                row["doc"],
                "",
                {"type": row["type"], "unit": row["unit"], "table": f"{table}.parquet"},
            )
            for row in rows
        ]
    return found
