"""Duplicates: what the same owner says again from the same text."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda_core.domain.evidence import Support
from corrigenda_core.domain.ids import StatementId
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.slots import SlotView


def decide_duplicate(view: SlotView, statement: Statement, supports: Sequence[Support]) -> Statement | None:
    """The owner's statement that says the same from the same text, if there is one (R4.12).

    Such a statement adds an occurrence and nothing else, whatever has become of the first one: saying it again revives
    nothing. The text is the same where the fragment is, and the passages that are cited have something in common.
    """
    fragment_ids = {support.fragment_id for support in supports}
    theirs: dict[StatementId, list[Support]] = {}
    for support in view.supports:
        if support.statement_id is not None and support.fragment_id in fragment_ids:
            theirs.setdefault(support.statement_id, []).append(support)
    said = (statement.owner_id, statement.object.key, statement.polarity)
    for other in view.statements:
        found = theirs.get(other.statement_id)
        if (
            found is not None
            and (other.owner_id, other.object.key, other.polarity) == said
            and all(any(_is_same_passage(support, one) for one in found) for support in supports)
        ):
            return other
    return None


def _is_same_passage(first: Support, second: Support) -> bool:
    if first.fragment_id != second.fragment_id:
        return False
    if not first.spans or not second.spans:
        return True
    return any(a.start < b.end and b.start < a.end for a in first.spans for b in second.spans)
