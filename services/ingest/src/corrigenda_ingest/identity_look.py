"""Plans a correction of identity on the state that a transaction shows: a dry run's snapshot, or under the team's lock.

Both do the very same, so that a dry run says what would be applied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.entities import Entity, EntityName
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.ids import DecisionId, EntityId, IdempotencyKey, IdRange, StatementId
from corrigenda_core.domain.objects import EntityObject, Slot
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.persistence.identity_store import (
    NamedObservation,
    named_observation_of,
    observations_of_entities,
)
from corrigenda_core.persistence.ingest_store import FactQueries, SubmissionFacts
from corrigenda_core.persistence.shown_store import entity_names_of, entity_names_query
from corrigenda_core.persistence.slot_store import CaseRowVersions, SlotQueries
from corrigenda_core.policy.identity_correction import IdentityCorrection, plan_merge, plan_split
from corrigenda_core.policy.limits import may_offer
from corrigenda_core.policy.rebinding import plan_rebinding

from corrigenda_ingest.locked_look import Sight

_DECISION, _ENTITY, _SLOTS = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Some observations of the caller about an entity are about another one; ``None`` stands for all of them."""

    entity_id: EntityId
    observation_ids: frozenset[StatementId] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMerge:
    """Everything that the caller said of one entity is about the other."""

    source_id: EntityId
    target_id: EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCorrection:
    """A planned correction with the state that it was planned on.

    ``observations`` are those that move, by id; ``source`` is the entity that they were about, and ``entity`` how the
    one is shown that they are about afterwards.
    """

    correction: IdentityCorrection
    observations: Mapping[StatementId, NamedObservation]
    source: Entity
    target: Entity | None
    entity: EntityName
    record: DecisionRecord
    changes: Changes
    views: Mapping[Slot, SlotView]
    versions: CaseRowVersions
    names: Mapping[EntityId, EntityName]
    facts: SubmissionFacts

    @property
    def rows(self) -> tuple[Relationship, ...]:
        """All rows of the slots as they stood."""
        return tuple(row for view in self.views.values() for row in view.rows)

    @property
    def digest(self) -> str:
        """The same for two plans exactly if they move the same observations between the same rows as they stand."""
        versions = {row.relationship_id: row.version for row in self.rows}
        moves = [
            (
                move.before.observation_id,
                move.before.subject_id,
                move.before.object.key if move.before.object is not None else "",
                move.before.predicate,
                move.before.relationship_id,
            )
            for move in self.correction.moves
        ]
        changed = sorted(
            (row.relationship_id, versions[row.relationship_id], row.status, str(row.validity))
            for row in self.changes.relationships
            if row.relationship_id in versions
        )
        shown = {
            "kind": self.record.kind,
            "from": self.correction.from_id,
            "to": "" if self.target is None else self.target.entity_id,
            "moves": moves,
            "changed": changed,
            "made": sum(row.relationship_id not in versions for row in self.changes.relationships),
            "marked": self.correction.marked_rows,
            "cases": sorted((case.conflict_id, case.version) for view in self.views.values() for case in view.cases),
        }
        return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityLook:
    """One correction of a caller on its way; ``ids`` is its own range."""

    caller: Caller
    asked: Split | EntityMerge
    reason: str
    key: IdempotencyKey
    ids: IdRange

    @property
    def new_entity_id(self) -> EntityId:
        """The id of the entity that a split makes."""
        return EntityId(self.ids.part(_ENTITY).nth(0))

    async def planned(self, sight: Sight, new_entity_id: EntityId) -> PlannedCorrection:
        """The plan on what a transaction shows.

        Raises:
            Refusal: as `plan_split` and `plan_merge` do; RESOURCE_NOT_FOUND for an entity that the team does not have;
                TOO_MANY_ITEMS if more would have to be folded again than one commit may.
        """
        asked = self.asked
        entity_ids = [asked.entity_id] if isinstance(asked, Split) else [asked.source_id, asked.target_id]
        of_entities = FactQueries(
            team_id=self.caller.team_id, profile_id=self.caller.profile_id, known_entity_ids=entity_ids
        )
        of_observations = observations_of_entities(self.caller.team_id, entity_ids)
        answers = await sight.fetch_all([*of_entities.queries(), of_observations])
        facts = of_entities.facts(answers)
        said = [named_observation_of(row) for row in answers[of_observations.name]]
        may_offer("observations_per_identity_correction", len(said), field=self._field())
        open_ones = [one for one in said if not one.given_up or one.bound.relationship_id is not None]
        source = self._entity(facts, entity_ids[0], self._field())
        target = None
        if isinstance(asked, EntityMerge):
            target = self._entity(facts, asked.target_id, "merge.target_entity_id")
        correction = self._correction(open_ones, source, target, new_entity_id)
        may_offer("slots_per_identity_correction", len(correction.slots), field=self._field())
        views, versions, names = await self._slots(sight, correction)
        shown = facts.names[source.entity_id] if target is None else facts.names[target.entity_id]
        entity = EntityName(entity_id=correction.to_id, kind=shown.kind, name=shown.name)
        moving = {move.before.observation_id for move in correction.moves}
        observations = {one.bound.observation_id: one for one in open_ones if one.bound.observation_id in moving}
        if target is None:
            first = next((one for each in observations.values() for one in each.mentions_of(source.entity_id)), None)
            entity = (
                entity if first is None else EntityName(entity_id=entity.entity_id, kind=shown.kind, name=first.name)
            )
        record = self._record(correction)
        context = PlanContext(
            moment=sight.reading.next_moment(),
            ids=self.ids.part(_SLOTS),
            actor=record.actor,
            policy=facts.policy,
        )
        return PlannedCorrection(
            correction=correction,
            observations=observations,
            source=source,
            target=target,
            entity=entity,
            record=record,
            changes=plan_rebinding(views, correction, context, record),
            views=views,
            versions=versions,
            names={**facts.names, **names, entity.entity_id: entity},
            facts=facts,
        )

    def _field(self) -> str:
        return "split.entity_id" if isinstance(self.asked, Split) else "merge.source_entity_id"

    def _entity(self, facts: SubmissionFacts, entity_id: EntityId, field: str) -> Entity:
        for entity in facts.entities:
            if entity.entity_id == entity_id:
                return entity
        raise missing("entity", entity_id, field=field)

    def _correction(
        self, said: list[NamedObservation], source: Entity, target: Entity | None, new_entity_id: EntityId
    ) -> IdentityCorrection:
        observations = [one.bound for one in said]
        try:
            if target is not None:
                return plan_merge(
                    caller=self.caller.profile_id, source=source, target=target, observations=observations
                )
            chosen = self.asked.observation_ids if isinstance(self.asked, Split) else None
            correction = plan_split(
                caller=self.caller.profile_id,
                entity_id=source.entity_id,
                new_entity_id=new_entity_id,
                observations=observations,
                chosen=chosen,
            )
        except Refusal as refusal:
            # The policy knows the correction, and not where in the request it stands.
            prefix = "merge" if target is not None else "split"
            raise Refusal(
                refusal.reason, refusal.message, field=f"{prefix}.{refusal.field}", metadata=refusal.metadata
            ) from refusal
        if not correction.moves:
            raise Refusal(Reason.INVALID_FIELD, "the caller has said nothing of the entity", field=self._field())
        return correction

    async def _slots(
        self, sight: Sight, correction: IdentityCorrection
    ) -> tuple[dict[Slot, SlotView], CaseRowVersions, dict[EntityId, EntityName]]:
        looks = [
            SlotQueries(team_id=self.caller.team_id, slot=slot, number=number)
            for number, slot in enumerate(correction.slots)
        ]
        of_predicates = FactQueries(
            team_id=self.caller.team_id,
            profile_id=self.caller.profile_id,
            forms={slot.predicate for slot in correction.slots},
        )
        answers = await sight.fetch_all(
            [*of_predicates.queries(), *(query for look in looks for query in look.queries())]
        )
        predicates = of_predicates.facts(answers).predicates
        versions = CaseRowVersions()
        views = {}
        for look in looks:
            views[look.slot] = look.view(answers, predicates[look.slot.predicate])
            look.load_versions(answers, versions)
        named = {slot.subject_id for slot in views}
        for view in views.values():
            named |= {row.object.entity_id for row in view.rows if isinstance(row.object, EntityObject)}
        for move in correction.moves:
            if isinstance(move.before.object, EntityObject):
                named.add(move.before.object.entity_id)
            if move.before.subject_id is not None:
                named.add(move.before.subject_id)
        query = entity_names_query(self.caller.team_id, named)
        return views, versions, entity_names_of((await sight.fetch_all([query]))[query.name])

    def _record(self, correction: IdentityCorrection) -> DecisionRecord:
        kind = DecisionKind.MERGE_ENTITIES if correction.merges else DecisionKind.SPLIT_ENTITY
        return DecisionRecord(
            decision_id=DecisionId(self.ids.part(_DECISION).nth(0)),
            kind=kind,
            actor=Actor(kind=ActorKind.PROFILE, profile_id=self.caller.profile_id),
            target_ids=(
                correction.from_id,
                correction.to_id,
                *(move.before.observation_id for move in correction.moves),
            ),
            key=self.key,
            reason=self.reason,
        )
