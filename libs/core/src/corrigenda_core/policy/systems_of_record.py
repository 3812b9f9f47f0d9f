"""Who may end what a system of record says."""

from __future__ import annotations

from collections.abc import Iterable

from corrigenda_core.domain.relationships import Statement


def may_end_record(statement: Statement, said: Iterable[Statement]) -> bool:
    """Whether a statement may end what these say: of a system of record, only a record of the same source may."""
    sources = {other.source for other in said if other.record}
    return not sources or (statement.record and sources == {statement.source})
