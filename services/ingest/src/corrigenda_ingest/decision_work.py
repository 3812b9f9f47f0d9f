"""One decision on its way: what it asks the database and the verifier for, and which planner plans it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.entities import MentionRef
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.ids import EntityId, FragmentId, IdRange, PredicateKey
from corrigenda_core.domain.items import ItemKind
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.placement_decisions import PlacementDecision
from corrigenda_core.domain.predicates import Predicate, PredicateLifecycle
from corrigenda_core.domain.resolutions import DecisionKind
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.submissions import Submission
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts
from corrigenda_core.persistence.question_store import asked_mentions
from corrigenda_core.persistence.team_clock import ClockReading
from corrigenda_core.persistence.text_bands import text_bands
from corrigenda_core.policy.identity import (
    IdentityQuestion,
    IdentityQuestionReason,
    may_confirm_new_entity,
    may_select_entity,
)
from corrigenda_core.policy.normalisation import decide_predicate_key, decide_text_form
from corrigenda_core.ports.providers import VerificationRequest

from corrigenda_ingest.correcting import CorrectionPlanner, corrected_rows, with_targets
from corrigenda_ingest.deciding import DecisionPlanner, NamedEntity, PlannedDecision, ready_observations
from corrigenda_ingest.outside import Verification
from corrigenda_ingest.planning import SubmissionPlanner
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.question import Question, asked_mention
from corrigenda_ingest.requirements import require_all, require_plain_evidence
from corrigenda_ingest.settling import SettlingPlanner
from corrigenda_ingest.slot_look import fact_queries
from corrigenda_ingest.submission import FragmentAnswer, PreparedSubmission
from corrigenda_ingest.verification_request import verification_request
from corrigenda_ingest.waiting import Waiting, accepted_submission, waiting_submission

PredicateWords = tuple[tuple[PredicateKey, tuple[str, ...]], ...]

_PLAN_IDS, _ENTITY_IDS = 2, 3
_NOT_STORED = FragmentId("")


class Planner(Protocol):
    """Plans one decision, once it has said which slots it has to see."""

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots that the plan has to see."""

    def planned(
        self, views: Mapping[Slot, SlotView], texts: Mapping[Slot, Sequence[tuple[FragmentId, str]]]
    ) -> PlannedDecision:
        """The whole plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWork:
    """One decision of a caller with what it brings, in normal form; ``ids`` is its own range."""

    caller: Caller
    decision: PlacementDecision
    prepared: PreparedSubmission
    ids: IdRange

    def owner(self, question: Question) -> Caller:
        """Whose record is decided about; what an administrator decides for another profile lends it no permission."""
        if question.owner_id == self.caller.profile_id:
            return self.caller
        return replace(self.caller, profile_id=question.owner_id, scopes=frozenset())

    def fact_queries(self, question: Question) -> FactQueries:
        """The queries for everything that is named by what waits, and by what came with the decision."""
        given = fact_queries(self.owner(question), [self.prepared])
        item = question.item
        forms = {one.predicate for one in question.observations if one.predicate is not None}
        if self.decision.action is DecisionKind.SELECT_PREDICATE:
            forms.add(decide_predicate_key(self.decision.predicate, field="decision.predicate"))
        if item is not None and item.slot is not None:
            forms.add(item.slot.predicate)
        known = {entity_id for one in question.observations for entity_id in one.entity_ids}
        if item is not None:
            known |= {EntityId(one) for one in dict(item.details).get("candidates", "").split()}
        targets = [one.correction_target for one in question.observations if one.correction_target is not None]
        stored = [text.stored for text in question.fragments.values()]
        return replace(
            given,
            source_groups={*given.source_groups, *(one.source_group for one in stored if one.source_group)},
            source_keys={*given.source_keys, *(one.source_key for one in stored if one.source_key)},
            forms={*given.forms, *forms},
            phrases={*given.forms, *forms},
            known_entity_ids={*given.known_entity_ids, *known},
            target_ids={*given.target_ids, *(one.relationship_id for one in targets), *corrected_rows(question)},
        )

    def planner(
        self,
        question: Question,
        facts: SubmissionFacts,
        reading: ClockReading,
        verification: Verification,
        predicate_words: PredicateWords,
    ) -> Planner:
        """What plans the decision on this state.

        Raises:
            Refusal: what the decision names is not there, or is not offered.
        """
        require_plain_evidence(self.prepared, facts, author_id=self.caller.profile_id)
        # What waits names a predicate by its key, whatever phrase the decision chose it by.
        by_key = {predicate.key: predicate for predicate in facts.predicates.values()}
        facts = replace(facts, predicates={**facts.predicates, **by_key})
        named, predicate = self._named_entity(question), self._predicate(facts)
        base = DecisionPlanner(
            caller=self.caller,
            owner=self.owner(question),
            decision=self.decision,
            question=question,
            prepared=self.prepared,
            named=named,
            predicate=predicate,
            waiting=self._waiting(question, named, predicate),
            verification=verification,
            facts=facts,
            reading=reading,
            ids=self.ids,
        )
        item = question.item
        if self.decision.action is DecisionKind.CORRECT:
            return CorrectionPlanner(base=base, placing=self._correction(base, predicate_words))
        if item is not None and item.kind is ItemKind.RELATIONSHIP and item.slot is not None:
            return SettlingPlanner(base=base, item=item, slot=item.slot)
        return base

    def verification_request(self, planner: Planner) -> VerificationRequest:
        """What the verifier is asked: about a correction, about new evidence of what came in, or about what waited.

        Raises:
            Refusal: as `require_all` does for a correction.
        """
        if isinstance(planner, CorrectionPlanner):
            placing = planner.placing
            bound = placing.bound
            require_all(placing.prepared, bound, placing.facts, owner_id=self.caller.profile_id)
            return verification_request(placing.prepared, placing.entities, bound, placing.facts)
        base = planner.base if isinstance(planner, SettlingPlanner) else planner
        if not isinstance(base, DecisionPlanner) or base.waiting is None:
            return VerificationRequest(evidence=(), proposals=())
        waiting = base.waiting
        return verification_request(
            waiting.prepared,
            waiting.entities,
            waiting.as_said(base.facts),
            base.facts,
            told=[one.normal_text for one in self.prepared.evidence],
        )

    def bands(self, question: Question) -> frozenset[int]:
        """What near duplicates of all texts that can be placed are looked for by."""
        waiting = {band for text in question.fragments.values() for band in text_bands(decide_text_form(text.content))}
        return frozenset(waiting.union(*(one.bands for one in self.prepared.evidence)))

    def _correction(self, base: DecisionPlanner, predicate_words: PredicateWords) -> SubmissionPlanner:
        """What places the correction, each proposal in the place of what it contradicts."""
        question = base.question
        asked = {
            form: item
            for form, item in base.facts.asked_phrases.items()
            if question.item is None or item.item_id != question.item.item_id
        }
        placing = SubmissionPlanner(
            caller=self.caller,
            prepared=self.prepared,
            verification=base.verification,
            facts=replace(base.facts, asked_phrases=asked),
            reading=base.reading,
            ids=self.ids.part(_PLAN_IDS),
            predicate_words=predicate_words,
        )
        targeted = with_targets(self.prepared, placing.bound, corrected_rows(question), base.facts.targets)
        return replace(placing, prepared=targeted)

    def _waiting(self, question: Question, named: NamedEntity | None, predicate: Predicate | None) -> Waiting | None:
        """What can be placed after the decision, or is accepted by it."""
        item = question.item
        if self.decision.action is DecisionKind.ACCEPT and item is not None:
            incoming = [one for one in question.observations if one.relationship_id in item.incoming]
            texts = [
                FragmentAnswer(
                    index=number,
                    fragment_id=_NOT_STORED,
                    is_new=True,
                    source_type=one.given.source_type,
                    authority=one.given.authority,
                    scan=one.scan,
                )
                for number, one in enumerate(self.prepared.evidence)
            ]
            return accepted_submission(incoming[-1], self.prepared.evidence, texts)
        ready = ready_observations(
            question,
            self.decision,
            entity_id=None if named is None else named.entity_id,
            predicate=predicate,
        )
        return waiting_submission(ready, question.fragments, question.released(self.decision)) if ready else None

    def _named_entity(self, question: Question) -> NamedEntity | None:
        """The entity that the decision names, of all mentions that the item asks about.

        Raises:
            Refusal: as `may_select_entity` and `may_confirm_new_entity` do.
        """
        action, item = self.decision.action, question.item
        if item is None or action not in (DecisionKind.SELECT_ENTITY, DecisionKind.CONFIRM_NEW_ENTITY):
            return None
        mention = asked_mention(question, self.decision)
        given = asked_mentions(item)
        if action is DecisionKind.SELECT_ENTITY and self.decision.entity_id is not None:
            asked = IdentityQuestion(
                refs=tuple(MentionRef(one.ref) for one in given),
                reason=IdentityQuestionReason(item.reason),
                candidates=tuple(EntityId(one) for one in dict(item.details).get("candidates", "").split()),
            )
            may_select_entity(asked, MentionRef(mention.ref), self.decision.entity_id)
            entity_id = self.decision.entity_id
        else:
            may_confirm_new_entity(evidence_count=len(self.prepared.evidence), entity_id=self.decision.entity_id)
            entity_id = EntityId(self.ids.part(_ENTITY_IDS).nth(0))
        named = Submission(evidence=(), entities=given, idempotency_key=self.decision.submission.idempotency_key)
        return NamedEntity(
            entity_id=entity_id,
            is_new=action is DecisionKind.CONFIRM_NEW_ENTITY,
            given=given,
            mentions=prepared_submission(named).mentions,
        )

    def _predicate(self, facts: SubmissionFacts) -> Predicate | None:
        """The predicate that the decision names.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, PREDICATE_RETIRED.
        """
        if self.decision.action is not DecisionKind.SELECT_PREDICATE:
            return None
        field = "decision.predicate"
        form = decide_predicate_key(self.decision.predicate, field=field)
        predicate = facts.predicates.get(form)
        if predicate is None:
            raise missing("predicate", form, field=field)
        if predicate.lifecycle is PredicateLifecycle.RETIRED:
            raise Refusal(
                Reason.PREDICATE_RETIRED,
                f"{predicate.key} takes no new statements",
                field=field,
                metadata={"predicate": predicate.key, "version": str(predicate.version)},
            )
        return predicate
