"""Which submissions of one caller may share a transaction: those of which none names what an earlier one changes.

What a submission means is found out before its commit, by facts that were read once for the whole batch. So a later
submission must not depend on what an earlier one makes known. Slots are no matter here: each placement sees what the
last one left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from corrigenda_core.domain.entities import Mention
from corrigenda_core.domain.ids import EntityId, IdempotencyKey
from corrigenda_core.persistence.ingest_store import SubmissionFacts

from corrigenda_ingest.submission import EntityAnswer, PreparedSubmission


@dataclass(slots=True)
class Batch:
    """The submissions that are in the batch so far, by what they change that others could name.

    Nothing may follow in one that is ``closed``: its submission goes alone.
    """

    count: int = 0
    names: set[str] = field(default_factory=set)
    entity_ids: set[EntityId] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    keys: set[IdempotencyKey] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    closed: bool = False

    def may_add(self, prepared: PreparedSubmission) -> bool:
        """Whether a submission names nothing that those before it change.

        One that names records by their ids, or moves a source on, goes alone.
        """
        if self.count == 0:
            return True
        if self.closed or _goes_alone(prepared) or prepared.given.idempotency_key in self.keys:
            return False
        return (
            self.names.isdisjoint(name for mention in prepared.mentions for name in mention.names)
            and self.entity_ids.isdisjoint(
                mention.known_entity_id for mention in prepared.mentions if mention.known_entity_id is not None
            )
            and self.texts.isdisjoint(evidence.content_sha256 for evidence in prepared.evidence)
            and self.sources.isdisjoint(_source_keys(prepared))
        )

    def add(self, prepared: PreparedSubmission, entities: Sequence[EntityAnswer], facts: SubmissionFacts) -> None:
        """Adds a submission whose mentions mean these entities."""
        self.count += 1
        self.closed = _goes_alone(prepared)
        self.keys.add(prepared.given.idempotency_key)
        self.texts.update(evidence.content_sha256 for evidence in prepared.evidence)
        # The first text of a source says where it stands; those after it change nothing about it.
        self.sources.update(_source_keys(prepared) - facts.source_states.keys())
        for mention, answer in zip(prepared.mentions, entities, strict=True):
            if _is_changed(mention, answer, facts):
                self.names.update(mention.names)
                if answer.entity_id is not None:
                    self.entity_ids.add(answer.entity_id)


def _goes_alone(prepared: PreparedSubmission) -> bool:
    return (
        prepared.given.resolution_context is not None
        or any(one.given.previous_source_revision or one.given.supersedes_fragment_ids for one in prepared.evidence)
        or any(
            one.given.conflict_context is not None or one.given.correction_target is not None
            for one in prepared.relationships
        )
    )


def _source_keys(prepared: PreparedSubmission) -> set[str]:
    return {one.given.source_key for one in prepared.evidence if one.given.source_key is not None}


def _is_changed(mention: Mention, answer: EntityAnswer, facts: SubmissionFacts) -> bool:
    """Whether the mention makes its entity, or adds a name or a part of its context to it."""
    if answer.entity_id is None:
        return False
    known = facts.entity(answer.entity_id)
    return known is None or not (mention.names <= known.team_names and mention.context.pairs <= known.context.pairs)
