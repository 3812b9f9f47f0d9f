"""Adoption: an owner stands on a text of another profile, which stays that profile's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import ReferenceId, RelationshipId
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.policy.authorization import Verb
from corrigenda_core.policy.own_rows import decide_own_row, decide_standing
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.view_changes import apply_changes

EVIDENCE_ADOPTED = "evidence_adopted"
REFERENCES_MAX = 20
"""Most relationships that one adoption refers to; a text that carries more says so by its supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedByText:
    """A relationship of a text's author that stands on the text, and the passages that say it."""

    relationship_id: RelationshipId
    spans: tuple[TextSpan, ...]


def decide_adopting_statement(
    view: SlotView, context: PlanContext, row_id: RelationshipId, expected_version: int | None
) -> Statement:
    """The statement that the adopted text is to support: the last recorded one that carries the relationship.

    Args:
        view: the slot as it stands.
        context: the commit; its actor adopts.
        row_id: the owner's relationship, in force, held or waiting for support.
        expected_version: the version that the owner saw; none means the current one.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, NOT_OWNER, STALE_VERSION; INVALID_FIELD where nothing carries it any more.
    """
    row = decide_own_row(view, context.actor, row_id, Verb.ADOPT_EVIDENCE, expected_version)
    carried = [s for s in decide_standing(view, row.owner_id) if s.relationship_id == row_id]
    if not carried:
        raise Refusal(Reason.INVALID_FIELD, "nothing carries the relationship any more", field="relationship_id")
    return max(carried, key=lambda statement: statement.sequence)


def is_adopted(view: SlotView, row_id: RelationshipId, support: Support) -> bool:
    """Whether the relationship stands on this text already."""
    return any(
        other.effective and other.relationship_id == row_id and other.fragment_id == support.fragment_id
        for other in view.supports
    )


def plan_adoption(
    view: SlotView,
    context: PlanContext,
    statement: Statement,
    support: Support,
    grant: SupportDecision,
    carried: Iterable[CarriedByText],
) -> Changes:
    """Lets an owner's statement stand on a text of another profile as well (R2.8).

    The support keeps the text's author, group, key and granted authority, so that it is the witness that the text is
    and no other. It moves no time: the statement says what it said. What lost its last support comes back.

    Args:
        view: the slot as it stands.
        context: the commit. Ids 0.. of its part 5 name references.
        statement: the owner's, as `decide_adopting_statement` finds it.
        support: the support by the text, verified for what the relationship says.
        grant: the decision that switches it on.
        carried: what the text's author states on it; the owner's relationship refers to what is stated on the same
            passage, or to all of it if nothing is.
    """
    if grant.kind is not SupportDecisionKind.GRANT or statement.relationship_id is None:
        raise ValueError("an adoption grants a support to a statement that a row carries")
    row_id = statement.relationship_id
    adopted = replace(support, relationship_id=row_id, statement_id=statement.statement_id)
    beside = Changes(
        supports=(adopted,),
        support_decisions=(grant,),
        references=_references(view, context, row_id, _on_passage(carried, support.spans)),
    )
    after = apply_changes(view, replace(beside, references=()))
    return plan_slot_change(view, after, context, EVIDENCE_ADOPTED, beside=beside)


def _on_passage(carried: Iterable[CarriedByText], spans: Collection[TextSpan]) -> list[RelationshipId]:
    found = list(carried)
    same = [one for one in found if any(_overlap(a, b) for a in one.spans for b in spans)]
    return sorted({one.relationship_id for one in same or found})[:REFERENCES_MAX]


def _overlap(first: TextSpan, second: TextSpan) -> bool:
    return first.start < second.end and second.start < first.end


def _references(
    view: SlotView, context: PlanContext, row_id: RelationshipId, targets: Sequence[RelationshipId]
) -> tuple[CrossReference, ...]:
    """The references that do not stand already."""
    kind = ReferenceKind.ADOPTS_EVIDENCE_FROM
    standing = {r.target_id for r in view.references if r.active and r.kind is kind and r.source_id == row_id}
    ids, numbers = context.ids.part(5), count()
    return tuple(
        CrossReference(
            reference_id=ReferenceId(ids.nth(next(numbers))), kind=kind, source_id=row_id, target_id=target_id
        )
        for target_id in targets
        if target_id not in standing
    )
