"""Reads what an explanation of a case is taken from: the case as a view knows it, or the look that closed it."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda_core.domain.ids import ConflictId
from corrigenda_core.domain.slots import CaseView
from corrigenda_core.domain.snapshots import CaseSnapshot
from corrigenda_core.persistence.conflict_store import ConflictReading, read_conflicts
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_values import support_of
from corrigenda_core.persistence.view_store import ReadView
from corrigenda_core.policy.case_review import decide_snapshot, decide_staying
from corrigenda_core.policy.snapshot_codec import decode_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCase:
    """A case with the snapshot that explains it; ``closing`` says that it is the one of the look that closed it."""

    reading: ConflictReading
    snapshot: CaseSnapshot
    closing: bool
    revision: int


async def read_explained_case(
    transaction: ReadTransaction, view: ReadView, conflict_id: ConflictId, *, present: bool
) -> ExplainedCase | None:
    """The case as the view knows it, or ``None`` if it does not.

    Args:
        transaction: the snapshot that answers.
        view: as of when.
        conflict_id: the case.
        present: whether the view is that of the latest revision, which a look would evaluate at the present time
            rather than at the time of that revision.
    """
    reading = await read_conflicts(transaction, view.recorded_by, conflict_ids=[conflict_id])
    shown = reading.cases.get(conflict_id)
    if shown is None:
        return None
    sql, parameters = load_sql("case_explanation.sql"), {"team_id": transaction.team_id, "conflict_id": conflict_id}
    if not shown.case.live:
        (row,) = await transaction.fetch(sql.query("last_evaluation", **parameters, revision=view.revision))
        snapshot = decode_snapshot(row["snapshot"])
        return ExplainedCase(reading=reading, snapshot=snapshot, closing=True, revision=view.revision)
    supports = await transaction.fetch(sql.query("case_supports_in_view", **parameters, at=view.recorded_by))
    at = view.valid_at if present or view.known_at is None else view.known_at
    seen = CaseView(
        case=shown.case,
        rows=tuple(member.row for member in shown.members.values()),
        supports=tuple(support_of(row) for row in supports),
    )
    return ExplainedCase(
        reading=reading,
        snapshot=decide_snapshot(decide_staying(seen, at), at),
        closing=False,
        revision=view.revision,
    )
