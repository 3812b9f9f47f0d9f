"""Competing facts as messages: slots, disagreements and sides, with names beside ids."""

from __future__ import annotations

from collections.abc import Mapping

from corrigenda.conflict.v1 import competing_facts_pb2
from corrigenda.type.v1 import actor_pb2
from corrigenda_core.domain.cases import CaseKind
from corrigenda_core.domain.competing import CompetingFacts, CompetingSide, CompetingSlot
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.ids import EntityId, ProfileId
from corrigenda_core.policy.case_questions import decide_question
from corrigenda_core.rpc.enums import CASE_KIND
from corrigenda_core.rpc.relationship_messages import (
    entity_summary,
    object_message,
    object_words,
    relationship_message,
)

FACTS_SHOWN = 20
SIDES_SHOWN = 10
ROWS_SHOWN = 10
OWNERS_SHOWN = 10
ITEMS_SHOWN = 20


class CompetingMessages:
    """Makes the messages of one answer."""

    def __init__(self, names: Mapping[EntityId, EntityName], profiles: Mapping[ProfileId, str]) -> None:
        self._names, self._profiles = names, profiles

    def slot(self, shown: CompetingSlot) -> competing_facts_pb2.CompetingSlot:
        """The disagreements of a slot."""
        return competing_facts_pb2.CompetingSlot(
            subject=entity_summary(shown.slot.subject_id, self._names),
            predicate=shown.slot.predicate,
            scope=shown.slot.scope,
            facts=[self._facts(facts) for facts in shown.facts[:FACTS_SHOWN]],
            facts_total=len(shown.facts),
            facts_truncated=len(shown.facts) > FACTS_SHOWN,
        )

    def _facts(self, facts: CompetingFacts) -> competing_facts_pb2.CompetingFacts:
        kind = facts.set_key.kind
        disputed = facts.sides[0].rows[0].object if kind is CaseKind.POLARITY else None
        return competing_facts_pb2.CompetingFacts(
            kind=CASE_KIND.to_wire(kind),
            question=decide_question(
                kind,
                subject=self._names[facts.set_key.subject_id].name,
                predicate=facts.set_key.predicate,
                scope=facts.set_key.scope,
                positions=[object_words(side.rows[0].object, self._names) for side in facts.sides],
                object_name="" if disputed is None else object_words(disputed, self._names),
            ),
            object=None if disputed is None else object_message(disputed, self._names),
            size=facts.size,
            needs_person=facts.needs_person,
            sides=[self._side(kind, side) for side in facts.sides[:SIDES_SHOWN]],
            sides_total=facts.size,
            sides_truncated=facts.size > SIDES_SHOWN,
            conflict_id=facts.conflict_id or "",
            item_ids=facts.item_ids[:ITEMS_SHOWN],
            items_total=len(facts.item_ids),
            items_truncated=len(facts.item_ids) > ITEMS_SHOWN,
        )

    def _side(self, kind: CaseKind, side: CompetingSide) -> competing_facts_pb2.CompetingSide:
        owners = sorted({row.owner_id for row in side.rows})
        named = object_words(side.rows[0].object, self._names)
        return competing_facts_pb2.CompetingSide(
            label=named if kind is CaseKind.CURRENT_STATE else side.key,
            relationships=[
                relationship_message(row, owner=self._owner(row.owner_id), names=self._names)
                for row in side.rows[:ROWS_SHOWN]
            ],
            relationships_total=len(side.rows),
            relationships_truncated=len(side.rows) > ROWS_SHOWN,
            owners=[self._owner(one) for one in owners[:OWNERS_SHOWN]],
            owners_total=len(owners),
            owners_truncated=len(owners) > OWNERS_SHOWN,
        )

    def _owner(self, profile_id: ProfileId) -> actor_pb2.ProfileSummary:
        return actor_pb2.ProfileSummary(profile_id=profile_id, name=self._profiles[profile_id])
