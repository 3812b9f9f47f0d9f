"""Looks for a text in every table of a database, as a dump would show it."""

from __future__ import annotations

import psycopg


def places_in_tables(url: str, text: str) -> list[str]:
    """Every row that holds the text, in any case and in any encoding of ours: its table and its beginning.

    ``url`` is of a role that sees every team.
    """
    found = []
    needle = text.lower()
    forms = {needle, needle.encode().hex()}
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        ).fetchall()
        for (table,) in tables:
            # What a dump holds: bytes as hexadecimal digits, everything else as text.
            with connection.cursor().copy(f"COPY (SELECT * FROM {table}) TO STDOUT".encode()) as rows:
                for row in rows:
                    dumped = bytes(row).decode().lower()
                    found += [f"{table}: {dumped[:200]}" for form in forms if form in dumped]
    return found
