"""Writes a planned correction of identity: the entity and its names, the statements as they are bound now, the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.entities import Mention
from corrigenda_core.domain.ids import IdempotencyKey
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.placement_decisions import ObservationBinding
from corrigenda_core.domain.submissions import ProposedEntity, Submission
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.transaction import Transaction
from corrigenda_core.policy.normalisation import decide_text_form

from corrigenda_ingest.identity_look import PlannedCorrection
from corrigenda_ingest.preparation import prepared_submission


class IdentityWriter:
    """Writes one correction into the revision under construction."""

    def __init__(
        self, transaction: Transaction, planned: PlannedCorrection, caller: Caller, key: IdempotencyKey
    ) -> None:
        self._transaction = transaction
        self._planned = planned
        self._caller = caller
        self._changes = ChangesWriter(
            transaction=transaction, actor=planned.record.actor, versions=planned.versions, key=key
        )

    def write(self, moment: Moment) -> None:
        """Writes everything."""
        planned = self._planned
        self._entity()
        views = {view.slot.predicate: view for view in planned.views.values()}
        moved = sorted(planned.changes.statements, key=lambda one: (one.slot.predicate, one.sequence))
        for predicate, statements in groupby(moved, key=lambda one: one.slot.predicate):
            self._changes.write(
                Changes(statements=tuple(statements)),
                at=moment.at,
                cases=(),
                predicate_version=views[predicate].predicate.version,
            )
        self._changes.write(
            replace(planned.changes, statements=()),
            at=moment.at,
            cases=[case for view in planned.views.values() for case in view.cases],
        )
        stated = {one.statement_id for one in planned.changes.statements}
        for move in planned.correction.moves:
            after = move.after
            if after.observation_id not in stated:
                self._changes.binding(
                    ObservationBinding(
                        observation_id=after.observation_id,
                        decision_id=planned.record.decision_id,
                        subject_id=after.subject_id,
                        object_id=after.object.entity_id if isinstance(after.object, EntityObject) else None,
                        predicate=after.predicate,
                    )
                )

    def _entity(self) -> None:
        planned, entity = self._planned, self._planned.entity
        called = [
            mention
            for observation in planned.observations.values()
            for mention in observation.mentions_of(planned.source.entity_id)
        ]
        if planned.target is None:
            self._transaction.insert(
                tables.entities,
                {"entity_id": entity.entity_id, "kind": entity.kind, "created_by": self._caller.profile_id},
            )
            called = called or [ProposedEntity(ref="", name=entity.name, kind=entity.kind)]
            self._names(called, known=frozenset(), pairs=frozenset())
            return
        self._names(called, known=planned.target.names, pairs=planned.target.context.pairs)
        self._transaction.insert(
            tables.entity_merges,
            {
                "source_id": planned.correction.from_id,
                "target_id": planned.correction.to_id,
                "merged_by": self._caller.profile_id,
                "decision_id": planned.record.decision_id,
            },
        )

    def _names(
        self, called: Iterable[ProposedEntity], *, known: frozenset[str], pairs: frozenset[tuple[str, str]]
    ) -> None:
        """What the moved observations called the entity, and by what they told it apart; each once."""
        written, told = set(known), set(pairs)
        for mention, given in _prepared(called):
            for form, name in [(mention.name, given.name), *_alias_forms(mention, given)]:
                if form not in written:
                    is_primary = not written
                    written.add(form)
                    self._transaction.insert(
                        tables.entity_names,
                        {
                            "entity_id": self._planned.entity.entity_id,
                            "normal_name": form,
                            "name": name,
                            "is_primary": is_primary,
                            "given_by": self._caller.profile_id,
                            "is_confirmed": KeyScope.ADMIN in self._caller.scopes,
                        },
                    )
            for key, value in sorted(mention.context.pairs - told):
                told.add((key, value))
                self._transaction.insert(
                    tables.entity_contexts,
                    {"entity_id": self._planned.entity.entity_id, "context_key": key, "context_value": value},
                )


def _prepared(called: Iterable[ProposedEntity]) -> list[tuple[Mention, ProposedEntity]]:
    given = [replace(one, ref=str(number), known_entity_id=None) for number, one in enumerate(called)]
    mentions = prepared_submission(
        Submission(evidence=(), entities=tuple(given), idempotency_key=IdempotencyKey(""))
    ).mentions
    return list(zip(mentions, given, strict=True))


def _alias_forms(mention: Mention, given: ProposedEntity) -> list[tuple[str, str]]:
    written = {decide_text_form(alias): alias for alias in given.aliases}
    return [(form, written[form]) for form in sorted(mention.aliases)]
