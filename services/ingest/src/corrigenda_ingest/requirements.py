"""What must hold before anything of a submission is stored: what it names exists, and is what it is taken for."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.errors import Reason, Refusal, missing, stale
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.objects import Object, Slot
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.verification import Modality
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.policy.case_effects import may_answer_case
from corrigenda_core.policy.case_keys import decide_set_key

from corrigenda_ingest.source_plan import planned_sources, require_no_revision
from corrigenda_ingest.submission import BoundRelationship, PreparedSubmission


def require_all(
    prepared: PreparedSubmission, bound: Sequence[BoundRelationship], facts: SubmissionFacts, *, owner_id: ProfileId
) -> None:
    """Checks the whole submission of an owner, before the verifier is asked and again inside the commit.

    Raises:
        Refusal: nothing of the submission may be stored.
    """
    require_origins(prepared, facts)
    planned_sources(prepared, facts, author_id=owner_id)
    require_question(prepared, bound, facts)
    for one in bound:
        require_answerable(one, facts)
        require_target(one, facts, owner_id=owner_id)


def require_same_predicates(outside: SubmissionFacts, inside: SubmissionFacts) -> None:
    """The verifier read the text by the predicates that were registered then.

    Raises:
        Refusal: CONTENTION if a registration came between; asking again reads the new one.
    """
    if outside.predicates != inside.predicates:
        raise Refusal(
            Reason.CONTENTION,
            "a predicate was registered while the text was verified",
            retry_after_seconds=0.0,
        )


def require_plain_evidence(prepared: PreparedSubmission, facts: SubmissionFacts, *, author_id: ProfileId) -> None:
    """The evidence of a decision must be there to be cited, its author may speak for its source, and it moves none on.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, SOURCE_NOT_ALLOWED; INVALID_FIELD for source-revision fields.
    """
    require_origins(prepared, facts)
    require_no_revision(prepared, author_id=author_id)
    planned_sources(prepared, facts, author_id=author_id)


def require_origins(prepared: PreparedSubmission, facts: SubmissionFacts) -> None:
    """Every fragment that a text names as its origin must be there, with its text.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, EVIDENCE_ERASED.
    """
    for number, evidence in enumerate(prepared.evidence):
        for place, fragment_id in enumerate(evidence.given.derived_from_fragment_ids):
            if fragment_id not in facts.origins:
                raise missing("fragment", fragment_id, field=f"evidence[{number}].derived_from_fragment_ids[{place}]")
            if facts.origins[fragment_id].erased:
                raise Refusal(
                    Reason.EVIDENCE_ERASED,
                    "the fragment was erased",
                    field=f"evidence[{number}].derived_from_fragment_ids[{place}]",
                    metadata={"fragment_id": fragment_id},
                )


def require_question(prepared: PreparedSubmission, bound: Sequence[BoundRelationship], facts: SubmissionFacts) -> None:
    """A merge answers a question by one statement that corrects nothing else; the rest is the decision's to check.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, INVALID_FIELD.
    """
    answered = prepared.given.resolution_context
    if answered is None:
        return
    if answered.item_id not in facts.items:
        raise missing("review_item", answered.item_id, field="resolution_context.item_id")
    if len(bound) != 1:
        raise Refusal(Reason.INVALID_FIELD, "a merge has exactly one relationship", field="proposal.relationships")
    (sentence,) = bound
    if sentence.prepared.given.modality is not Modality.STATEMENT or sentence.prepared.given.correction_target:
        raise Refusal(
            Reason.INVALID_FIELD, "a merge has a statement that corrects nothing else", field=sentence.prepared.field
        )


def require_answerable(bound: BoundRelationship, facts: SubmissionFacts) -> None:
    """A statement that answers a case must be about what the case is about, at the version that its author saw.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, CONFLICT_VERSION_STALE, NOT_IN_CONFLICT.
    """
    answer = bound.prepared.given.conflict_context
    if answer is None:
        return
    case = facts.cases.get(answer.conflict_id)
    if case is None:
        raise missing("conflict", answer.conflict_id, field=f"{bound.prepared.field}.conflict_context.conflict_id")
    slot = bound.slot
    keys = () if slot is None or bound.object is None else _set_keys(slot, bound.object)
    may_answer_case(case, keys, answer)


def require_target(bound: BoundRelationship, facts: SubmissionFacts, *, owner_id: ProfileId) -> None:
    """A correction names a relationship of the same predicate that shares its subject or its object.

    One of the owner's own is replaced, so it stands in the very slot that the statement speaks in.

    Raises:
        Refusal: RESOURCE_NOT_FOUND, STALE_VERSION, INVALID_FIELD.
    """
    named = bound.prepared.given.correction_target
    if named is None:
        return
    field = f"{bound.prepared.field}.correction_target"
    target = facts.targets.get(named.relationship_id)
    if target is None:
        raise missing("relationship", named.relationship_id, field=f"{field}.relationship_id")
    if named.expected_version is not None and named.expected_version != target.version:
        raise stale(
            f"the relationship is at version {target.version}, not {named.expected_version}",
            resource_type="relationship",
            resource_id=target.relationship_id,
            expected=named.expected_version,
            current=target.version,
            field=f"{field}.expected_version",
        )
    if bound.slot is not None and bound.object is not None and not _is_about(target, bound.slot, bound.object):
        raise Refusal(
            Reason.INVALID_FIELD,
            "a correction shares the predicate, and the subject or the object, of what it corrects",
            field=f"{field}.relationship_id",
        )
    if bound.slot is not None and target.owner_id == owner_id and target.slot != bound.slot:
        raise Refusal(
            Reason.INVALID_FIELD,
            "an own relationship is corrected by a statement of the same subject, predicate and scope",
            field=f"{field}.relationship_id",
        )


def _set_keys(slot: Slot, bound_object: Object) -> tuple[SetKey, ...]:
    """The set keys that a statement can belong to, one for each kind of case."""
    return tuple(decide_set_key(kind, slot, bound_object) for kind in CaseKind)


def _is_about(target: Relationship, slot: Slot, bound_object: Object) -> bool:
    same_ends = target.slot.subject_id == slot.subject_id or target.object.key == bound_object.key
    return target.slot.predicate == slot.predicate and same_ends
