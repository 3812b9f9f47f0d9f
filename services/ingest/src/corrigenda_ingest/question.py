"""What a decision on a placement is about: the item, what waits for its answer, and what the decision says of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import DecisionId, EntityId, FragmentId, IngestId, ProfileId
from corrigenda_core.domain.items import ItemKind, ReviewItem
from corrigenda_core.domain.placement_decisions import ObservationBinding, PlacementDecision
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.submissions import ProposedEntity
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.persistence.question_store import CitedFragment, DecidedObservation, asked_mentions
from corrigenda_core.policy.authorization import Verb, may_call, may_change
from corrigenda_core.policy.placement_actions import may_decide, may_take

from corrigenda_ingest.phrase_questions import waiting_observations

PLACING = frozenset(
    {
        DecisionKind.SELECT_ENTITY,
        DecisionKind.CONFIRM_NEW_ENTITY,
        DecisionKind.SELECT_PREDICATE,
        DecisionKind.RETRY_VERIFICATION,
        DecisionKind.RELEASE_QUARANTINE,
    }
)
"""The actions after which what waited is verified and placed."""

_NOT_ENTAILED_YET = (None, VerificationVerdict.INSUFFICIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What one decision is about, as it was read.

    ``observations`` are those of the submission, and all others that the item is about; ``fragments`` the texts that
    they cite. ``administrator`` is who is asked about a proposed predicate.
    """

    ingest_id: IngestId
    author_id: ProfileId
    item: ReviewItem | None
    observations: tuple[DecidedObservation, ...]
    fragments: Mapping[FragmentId, CitedFragment]
    administrator: ProfileId | None = None

    @property
    def owner_id(self) -> ProfileId:
        """Whose record the decision changes: an administrator decides about another one's."""
        affected = self.item is not None and self.item.fragment_id
        if affected and affected in self.fragments:
            return self.fragments[affected].stored.author_id
        return self.observations[0].author_id if self.observations else self.author_id

    def waiting_for(self, decision: PlacementDecision) -> tuple[DecidedObservation, ...]:
        """The observations that wait for the decision."""
        item = self.item
        waiting = [one for one in self.observations if one.waits]
        if item is None:
            return tuple(one for one in waiting if decision.action is _RETRY and self._may_be_verified(one))
        match item.kind:
            case ItemKind.IDENTITY:
                refs = {mention.ref for mention in asked_mentions(item)}
                named = [one for one in waiting if refs & {one.subject_ref, one.object_ref}]
                return tuple(one for one in named if one.ingest_id == item.ingest_id)
            case ItemKind.PREDICATE:
                ids = waiting_observations(item)
                asked = [one for one in waiting if one.observation_id in ids]
                is_correction = decision.action is DecisionKind.CORRECT
                return tuple(one for one in asked if not is_correction or one.ingest_id == self.ingest_id)
            case ItemKind.QUARANTINE:
                return tuple(one for one in waiting if any(cited == item.fragment_id for cited, _ in one.cited))
            case _:
                return ()

    def _may_be_verified(self, one: DecidedObservation) -> bool:
        is_quarantined = any(self.fragments[cited].stored.is_quarantined for cited, _ in one.cited)
        is_open = one.ingest_id == self.ingest_id and one.verdict in _NOT_ENTAILED_YET
        return is_open and one.is_bound and one.modality is Modality.STATEMENT and not is_quarantined

    def released(self, decision: PlacementDecision) -> frozenset[FragmentId]:
        """The quarantined texts that may be read: those released before, and by this decision."""
        found = {one for one, text in self.fragments.items() if text.stored.released}
        if decision.action is DecisionKind.RELEASE_QUARANTINE and self.item is not None and self.item.fragment_id:
            found.add(self.item.fragment_id)
        return frozenset(found)


_RETRY = DecisionKind.RETRY_VERIFICATION


def require_decidable(question: Question, decision: PlacementDecision, caller: Caller) -> None:
    """Checks that a caller may take a decision as the question stands.

    Raises:
        Refusal: as `may_decide` and `may_take` do; NOT_OWNER for a submission of another profile; INVALID_FIELD for an
            item of another submission, and for what the action needs and does not have, or has and does not need.
    """
    actor = Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
    action, item = decision.action, question.item
    if item is None:
        may_call(Verb[action.name], caller.scopes)
        may_change(actor, question.author_id, Verb[action.name], resource_type="ingest", resource_id=question.ingest_id)
        may_take(action, None)
    else:
        may_decide(actor, caller.scopes, action, item, decision.expected_version)
        if not _is_of(item, question):
            raise Refusal(Reason.INVALID_FIELD, "the item asks about another submission", field="placement_item_id")
    _require_needed(question, decision, caller)


def _is_of(item: ReviewItem, question: Question) -> bool:
    """Whether an item is about the submission that the decision names."""
    spoken = {one.observation_id for one in question.observations if one.ingest_id == question.ingest_id}
    carried = {one.relationship_id for one in question.observations if one.ingest_id == question.ingest_id}
    return (
        item.ingest_id == question.ingest_id
        or bool(spoken.intersection(waiting_observations(item)))
        or bool(carried.intersection((*item.incoming, *item.opposing)))
        or (item.fragment_id is not None and question.ingest_id in {one.ingest_id for one in question.observations})
    )


def _require_needed(question: Question, decision: PlacementDecision, caller: Caller) -> None:
    action, given = decision.action, decision.submission
    needed: dict[str, bool] = {}
    if action in (DecisionKind.CONFIRM_NEW_ENTITY, DecisionKind.ACCEPT, DecisionKind.CORRECT):
        needed["evidence"] = bool(given.evidence)
    if action is DecisionKind.CORRECT:
        needed["proposal"] = bool(given.relationships)
    if action is DecisionKind.SELECT_ENTITY:
        needed["decision.entity_id"] = decision.entity_id is not None
    if action is DecisionKind.SELECT_PREDICATE:
        needed["decision.predicate"] = bool(decision.predicate)
    if action is DecisionKind.RELEASE_QUARANTINE:
        needed["decision.reason"] = bool(decision.reason)
    for field, is_there in needed.items():
        if not is_there:
            raise Refusal(Reason.INVALID_FIELD, f"{action.value} needs {field}", field=field)
    if action is not DecisionKind.CORRECT and (given.entities or given.relationships):
        raise Refusal(Reason.INVALID_FIELD, "only a correction proposes anything", field="proposal")
    if given.evidence and caller.profile_id != question.owner_id:
        raise Refusal(
            Reason.INVALID_FIELD,
            "a decision about another profile's record has a reason, no evidence",
            field="evidence",
        )
    if action is _RETRY and not question.waiting_for(decision):
        raise Refusal(
            Reason.ITEM_NOT_PENDING,
            "nothing of the submission waits for the verifier",
            metadata={"ingest_id": question.ingest_id},
        )


def asked_mention(question: Question, decision: PlacementDecision) -> ProposedEntity:
    """The mention that an identity decision names, or the first that its item asks about.

    Raises:
        Refusal: INVALID_FIELD if the item does not ask about it.
    """
    mentions = asked_mentions(question.item) if question.item is not None else ()
    wanted = decision.mention_ref
    found = next((one for one in mentions if wanted in (None, one.ref)), None)
    if found is None:
        raise Refusal(
            Reason.INVALID_FIELD,
            "the item does not ask about this mention",
            field="decision.mention_ref",
            metadata={"offered": str(wanted), "allowed": ", ".join(one.ref for one in mentions)},
        )
    return found


def rebound(
    one: DecidedObservation,
    question: Question,
    *,
    entity_id: EntityId | None,
    predicate: Predicate | None,
    given_up: bool,
) -> DecidedObservation:
    """The observation with what a decision says that it names."""
    refs = {mention.ref for mention in asked_mentions(question.item)} if question.item is not None else set()
    named = replace(one, given_up=given_up)
    if entity_id is not None:
        named = replace(
            named,
            subject_id=entity_id if one.subject_ref in refs else one.subject_id,
            object_id=entity_id if one.object_ref in refs else one.object_id,
        )
    return named if predicate is None else replace(named, predicate=predicate.key)


def binding_of(one: DecidedObservation, decision_id: DecisionId) -> ObservationBinding:
    """What a decision leaves an observation to name."""
    return ObservationBinding(
        observation_id=one.observation_id,
        decision_id=decision_id,
        subject_id=one.subject_id,
        object_id=one.object_id,
        predicate=one.predicate,
        given_up=one.given_up,
    )
