"""What becomes of statements and conflicts is counted by kind as it is committed, and nothing else of a commit is."""

from __future__ import annotations

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda_core.commit_metrics import CommitMetrics
from corrigenda_core.domain.cases import CaseAction
from corrigenda_core.domain.changes import OutcomeKind
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.notices import NoticeKind
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.transaction import WrittenRow
from prometheus_client import CollectorRegistry

TOLD = {
    CaseAction.OPENED: NoticeKind.CONFLICT_OPENED,
    CaseAction.MARKED_OVERDUE: NoticeKind.CONFLICT_OVERDUE,
    CaseAction.RESOLVED: NoticeKind.CONFLICT_RESOLVED,
    CaseAction.DISMISSED: NoticeKind.CONFLICT_DISMISSED,
    CaseAction.ALERTED: NoticeKind.CONFLICT_ATTEMPTS_EXHAUSTED,
}


def counted(*rows: WrittenRow) -> dict[str, float]:
    """The kinds that a commit of these rows is counted as."""
    registry = CollectorRegistry()
    CommitMetrics(registry).committed(rows)
    values = {
        kind.value: registry.get_sample_value("corrigenda_conflict_events_total", {"event": kind.value})
        for kind in NoticeKind
    }
    assert None not in values.values()
    return {kind: value for kind, value in values.items() if value}


@pytest.mark.parametrize("action", CaseAction)
def test_an_event_of_a_case_is_counted_if_it_is_told(action: CaseAction) -> None:
    expected = {TOLD[action].value: 1.0} if action in TOLD else {}
    assert counted((tables.case_events, {"action": action.value})) == expected


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        (ItemKind.WINNER_WITHDRAWN, 1, {"item.winner_withdrawn": 1.0}),
        # Its answer is another version of the same question.
        (ItemKind.WINNER_WITHDRAWN, 2, {}),
        (ItemKind.RELATIONSHIP, 1, {}),
    ],
)
def test_a_question_is_counted_when_it_is_asked(kind: ItemKind, version: int, expected: dict[str, float]) -> None:
    assert counted((tables.review_items, {"kind": kind.value, "version": version})) == expected


def test_other_rows_are_not_counted() -> None:
    assert counted((tables.conflict_cases, {"version": 1}), (tables.ledger, {})) == {}


def test_every_statement_of_a_submission_is_counted_by_what_became_of_it() -> None:
    outcomes = [placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_HELD, placement_pb2.OUTCOME_INSERTED]
    outcomes.append(placement_pb2.OUTCOME_UNSPECIFIED)
    placed = placement_pb2.Placement(
        relationships=[placement_pb2.RelationshipPlacement(outcome=outcome) for outcome in outcomes]
    )
    answer = ingest_service_pb2.RememberResponse(placement=placed).SerializeToString()
    registry = CollectorRegistry()
    metrics = CommitMetrics(registry)
    # A text without a statement is stored with an empty answer at least.
    metrics.committed([(tables.ingests, {"result": answer}), (tables.ingests, {"result": b""})])
    values = {
        outcome.value: registry.get_sample_value("corrigenda_placements_total", {"outcome": outcome.value})
        for outcome in OutcomeKind
    }
    assert values == dict.fromkeys(values, 0.0) | {"inserted": 2.0, "held": 1.0}
