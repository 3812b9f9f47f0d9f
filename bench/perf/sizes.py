"""How many bytes a statement takes in the database, table by table: what the sums of docs/SCALE.md are made from.

A team of copies of one real submission (one text of three sentences, one statement, one search document), written with
every constraint and index in force; then the sizes of heap, indexes and out-of-line texts over how many there are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from corrigenda_cli.stack import Stack
from corrigenda_core.config import LogFormat, LogLevel
from corrigenda_core.observability import configure_logging
from corrigenda_core.providers.embedder_minilm import minilm_embedder
from machine import machine_facts
from recall import LargeTeam

_SIZES = """
SELECT c.relname,
       pg_relation_size(c.oid) AS heap,
       pg_indexes_size(c.oid) AS indexes,
       coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0) AS texts
FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
ORDER BY pg_total_relation_size(c.oid) DESC
"""
_SHOWN_FROM = 20.0
"""Tables below so many bytes a statement count in the total only."""


async def measured(size: int, folder: Path) -> dict[str, Any]:
    """The figures of a team of so many statements."""
    stack = Stack(directory=folder, free_ports=True, throw_away=True, without=["conflict", "reviewer", "gateway"])
    embedder = minilm_embedder(threads=2, idle_seconds=None)
    async with stack:
        try:
            team = LargeTeam(stack, embedder)
            await team.prepare()
            await team.grow_to(size)
        finally:
            await embedder.close()
        with psycopg.connect(stack.admin_url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")
            rows = connection.execute(_SIZES).fetchall()
    tables = {
        str(name): {"heap": round(heap / size, 1), "indexes": round(indexes / size, 1), "texts": round(texts / size, 1)}
        for name, heap, indexes, texts in rows
    }
    shown = {name: sizes for name, sizes in tables.items() if sum(sizes.values()) >= _SHOWN_FROM}
    total = {part: round(sum(sizes[part] for sizes in tables.values()), 1) for part in ("heap", "indexes", "texts")}
    return {
        "unit": "bytes a statement",
        "statements": size,
        "tables": shown,
        "total": total,
        "sum": round(sum(total.values())),
        "machine": machine_facts(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--statements", type=int, default=20_000, help="of the team that is measured")
    options = parser.parse_args()
    configure_logging(level=LogLevel.WARNING, format=LogFormat.CONSOLE, process="benchmark")
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measured(options.statements, Path(folder)))
    if options.json:
        print(json.dumps(result))
        return 0
    for name, sizes in {**result["tables"], "all tables": result["total"]}.items():
        print(f"{name:<28} heap {sizes['heap']:>7} indexes {sizes['indexes']:>7} texts {sizes['texts']:>7}")
    print(f"{result['sum']:,} bytes a statement")
    return 0


if __name__ == "__main__":
    sys.exit(main())
