"""Writes what a planner decided: every value of `Changes` as the rows of one revision, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.cases import CaseEvent, CasePosition, ConflictCase
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.evidence import Support, SupportDecision
from corrigenda_core.domain.ids import ConflictId, IdempotencyKey, TeamId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.placement_decisions import ObservationBinding
from corrigenda_core.domain.relationships import Carriage, CrossReference, Relationship, Statement, Transition
from corrigenda_core.domain.resolutions import DecisionRecord
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.case_rows import case_columns, position_columns
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.decision_rows import CLOSING_FIELDS, decision_columns, is_carried
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import (
    actor_columns,
    bound_columns,
    object_columns,
    state_columns,
    validity_columns,
)
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Transaction

# What a review changes of a losing row; its role may write no other column.
_LOSER_COLUMNS = ("status", "valid_to", "valid_to_basis")
# What a placement or a decision changes: whose row it is, what it says and where stays for good.
_ROW_COLUMNS = (
    "status",
    "tier",
    "facet",
    "valid_from",
    "valid_to",
    "valid_from_basis",
    "valid_to_basis",
    "record",
    "slot_exclusive",
)
_ITEM_COLUMNS = ("status", "reason", "statement_id", "incoming", "opposing", "details", "decision_id")
_POSITION_COLUMNS = ("present", "counted_groups", "authoritative_groups", "support_digest", "last_seen_at")
_MEMBER_COLUMNS = ("relationship_version", "present")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesWriter:
    """Writes into one transaction.

    Attributes:
        transaction: the open one, with a revision under construction.
        actor: who acts, for the records that say so.
        key: the caller's idempotency key, kept on each transition.
        versions: the versions of the rows of the parts of cases, as they were loaded.
        closes_only: the reviewer's way: only the columns of a closed row are written, and the lease is its own matter.
    """

    transaction: Transaction
    actor: Actor
    versions: CaseRowVersions
    key: IdempotencyKey | None = None
    closes_only: bool = False

    def write(
        self, changes: Changes, *, at: Instant, cases: Iterable[ConflictCase], predicate_version: int | None = None
    ) -> None:
        """Writes a plan into the revision under construction.

        Args:
            changes: what was planned.
            at: the recorded time of the revision.
            cases: the cases that it was planned on, as they stood.
            predicate_version: the version that new statements were bound with.
        """
        for statement in changes.statements:
            self._statement(statement, predicate_version)
        self._decisions(changes)
        for row in changes.relationships:
            self._relationship(row)
        for transition in changes.transitions:
            self._transition(transition)
        for carriage in changes.carriages:
            self._carriage(carriage)
        for support in changes.supports:
            self._support(support)
        for decision in changes.support_decisions:
            self._support_decision(decision)
        for reference in changes.references:
            self._reference(reference)
        for reference in changes.references_switched_off:
            self._switched_off(reference)
        for item in changes.items:
            self.item(item)
        prior = {case.conflict_id: case for case in cases}
        for case in changes.cases:
            self._case(prior.get(case.conflict_id), case, at)
        for event in changes.case_events:
            self._case_event(event)

    def _statement(self, statement: Statement, predicate_version: int | None) -> None:
        self.transaction.insert(
            tables.statements,
            {
                "statement_id": statement.statement_id,
                "owner_id": statement.owner_id,
                "subject_id": statement.slot.subject_id,
                "predicate": statement.slot.predicate,
                "predicate_version": predicate_version,
                "scope": statement.slot.scope,
                **object_columns(statement.object),
                "object_key": statement.object.key,
                "polarity": statement.polarity,
                **bound_columns(statement.start, "start"),
                **bound_columns(statement.end, "end"),
                "stated_start": statement.stated_start,
                "sequence": statement.sequence,
                "record": statement.record,
                "source": statement.source,
            },
        )

    def _decisions(self, changes: Changes) -> None:
        """Every decision with what it says to the fold, in its order, apart from closings that stand on transitions."""
        carried = {
            (transition.closing.decision_id, transition.closing.relationship_id)
            for transition in changes.transitions
            if transition.closing is not None
        }
        for record in changes.decision_records:
            self.transaction.insert(tables.decisions, self._decision_row(record))
            entries = [one for one in changes.decisions if one.decision_id == record.decision_id]
            for entry, decision in enumerate(one for one in entries if not is_carried(one, carried)):
                row = {"decision_id": record.decision_id, "entry": entry, **decision_columns(decision)}
                self.transaction.insert(tables.timeline_decisions, row)

    def _decision_row(self, record: DecisionRecord) -> Mapping[str, object]:
        return {
            "decision_id": record.decision_id,
            "kind": record.kind,
            **actor_columns(record.actor),
            "item_id": record.item_id,
            "item_version": record.item_version,
            "target_ids": sorted(record.target_ids),
            "kept_relationship_id": record.kept_id,
            "statement_ids": list(record.statement_ids),
            "reverts_decision_id": record.reverts,
            "idempotency_key": record.key or self.key,
            "reason": record.reason,
            "details": [list(detail) for detail in record.details],
        }

    def _relationship(self, row: Relationship) -> None:
        columns = {
            "relationship_id": row.relationship_id,
            "version": row.version,
            "owner_id": row.owner_id,
            "subject_id": row.slot.subject_id,
            "predicate": row.slot.predicate,
            "scope": row.slot.scope,
            **object_columns(row.object),
            "object_key": row.object.key,
            "polarity": row.polarity,
            "status": row.status,
            "tier": row.tier,
            "facet": row.facet,
            **validity_columns(row.validity),
            "valid_from_basis": row.start_basis,
            "valid_to_basis": row.end_basis,
            "record": row.record,
            "slot_exclusive": row.slot_exclusive,
            "event": row.event,
            "first_recorded_at": row.first_recorded_at,
        }
        prior = None if row.version == 1 else row.version - 1
        changed = _LOSER_COLUMNS if self.closes_only else _ROW_COLUMNS
        self.transaction.put(tables.relationships, columns, prior, changed)

    def _transition(self, transition: Transition) -> None:
        closing = transition.closing
        self.transaction.insert(
            tables.transitions,
            {
                "transition_id": transition.transition_id,
                "relationship_id": transition.relationship_id,
                "version": transition.version,
                **state_columns(transition.prior, "prior_"),
                **state_columns(transition.resulting, "resulting_"),
                **actor_columns(transition.actor),
                "reason": transition.reason,
                "time_basis": transition.time_basis,
                "decision_id": transition.decision_id,
                "conflict_id": transition.conflict_id,
                "idempotency_key": self.key,
                **{f"closing_{name}": closing and getattr(closing, name) for name in CLOSING_FIELDS},
            },
        )

    def _carriage(self, carriage: Carriage) -> None:
        self.transaction.insert(
            tables.carriages, {"statement_id": carriage.statement_id, "relationship_id": carriage.relationship_id}
        )

    def _support(self, support: Support) -> None:
        time = support.evidence_time
        self.transaction.insert(
            tables.supports,
            {
                "support_id": support.support_id,
                "relationship_id": support.relationship_id,
                "statement_id": support.statement_id,
                "fragment_id": support.fragment_id,
                "span_starts": [span.start for span in support.spans],
                "span_ends": [span.end for span in support.spans],
                "adopted_from_fragment_id": support.adopted_from_fragment_id,
                "near_duplicate_fragment_ids": support.near_duplicate_fragment_ids,
                "evidence_from": time and time.whole.start,
                "evidence_to": time and time.whole.end,
                "evidence_verified": time is not None and time.verified,
            },
        )

    def _support_decision(self, decision: SupportDecision) -> None:
        self.transaction.insert(
            tables.support_decisions,
            {
                "support_id": decision.support_id,
                "kind": decision.kind,
                "authority": decision.authority,
                "granted_by_key": decision.granted_by_key,
                "reason": decision.reason,
                **actor_columns(self.actor),
            },
        )

    def _reference(self, reference: CrossReference) -> None:
        self.transaction.insert(
            tables.cross_references,
            {
                "reference_id": reference.reference_id,
                "kind": reference.kind,
                "source_id": reference.source_id,
                "target_id": reference.target_id,
                "decision_id": reference.decision_id,
            },
        )

    def _switched_off(self, reference: CrossReference) -> None:
        self.transaction.insert(
            tables.reference_decisions,
            {
                "reference_id": reference.reference_id,
                "active": False,
                "decision_id": reference.decision_id,
                "reason": "reverted",
                **actor_columns(self.actor),
            },
        )

    def binding(self, binding: ObservationBinding) -> None:
        """Writes what a waiting observation turned out to name."""
        self.transaction.insert(
            tables.observation_bindings,
            {
                "observation_id": binding.observation_id,
                "subject_id": binding.subject_id,
                "object_entity_id": binding.object_id,
                "predicate": binding.predicate,
                "given_up": binding.given_up,
                "decision_id": binding.decision_id,
            },
        )

    def item(self, item: ReviewItem) -> None:
        """Writes one version of a question to an owner."""
        self.transaction.put(
            tables.review_items,
            {
                "item_id": item.item_id,
                "version": item.version,
                "kind": item.kind,
                "status": item.status,
                "owner_id": item.owner_id,
                "reason": item.reason,
                "ingest_id": item.ingest_id,
                "fragment_id": item.fragment_id,
                "statement_id": item.statement_id,
                "subject_id": item.slot and item.slot.subject_id,
                "predicate": item.slot and item.slot.predicate,
                "scope": None if item.slot is None else item.slot.scope,
                "incoming": item.incoming,
                "opposing": item.opposing,
                "details": dict(item.details),
                "decision_id": item.decision_id,
                "opened_at": item.opened_at,
            },
            None if item.version == 1 else item.version - 1,
            _ITEM_COLUMNS,
        )

    def _case(self, before: ConflictCase | None, case: ConflictCase, at: Instant) -> None:
        """The case, then only the positions and members that have changed, then when to look at it next."""
        row = case_columns(case)
        if before is None:
            self.transaction.insert(tables.conflict_cases, row)
        else:
            prior = case_columns(before)
            self.transaction.amend(tables.conflict_cases, row, [name for name in row if row[name] != prior[name]])
        known = {position.position_id: position for position in before.positions} if before else {}
        for position in case.positions:
            if position != known.get(position.position_id):
                self._position(case.conflict_id, known.get(position.position_id), position)
        if not self.closes_only and (before is None or case.version != before.version):
            self.transaction.execute(_next_look(self.transaction.team_id, case, at))

    def _position(self, conflict_id: ConflictId, before: CasePosition | None, position: CasePosition) -> None:
        prior_version = self.versions.take(conflict_id, position.position_id)
        self.transaction.put(
            tables.case_positions,
            position_columns(position, conflict_id=conflict_id, version=(prior_version or 0) + 1),
            prior_version,
            _POSITION_COLUMNS,
        )
        self._members(conflict_id, before, position)

    def _members(self, conflict_id: ConflictId, before: CasePosition | None, position: CasePosition) -> None:
        prior = {member.relationship_id: member for member in before.members} if before else {}
        now = {member.relationship_id: member for member in position.members}
        for relationship_id, member in sorted((prior | now).items()):
            if now.get(relationship_id) == prior.get(relationship_id):
                continue
            prior_version = self.versions.take(conflict_id, position.position_id, relationship_id)
            self.transaction.put(
                tables.case_members,
                {
                    "conflict_id": conflict_id,
                    "position_id": position.position_id,
                    "relationship_id": relationship_id,
                    "version": (prior_version or 0) + 1,
                    "relationship_version": member.version,
                    "owner_id": member.owner_id,
                    "present": relationship_id in now,
                },
                prior_version,
                _MEMBER_COLUMNS,
            )

    def _case_event(self, event: CaseEvent) -> None:
        self.transaction.insert(
            tables.case_events,
            {
                "event_id": event.event_id,
                "conflict_id": event.conflict_id,
                "prior_status": event.prior_status,
                "resulting_status": event.resulting_status,
                "version": event.version,
                **actor_columns(event.actor),
                "action": event.action,
                "reason": event.reason,
                "policy_version": event.policy_version,
                "time_basis": event.time_basis,
                "relationship_ids": [relationship_id for relationship_id, _ in event.relationship_versions],
                "relationship_versions": [version for _, version in event.relationship_versions],
            },
        )

    def refresh(self, fragment_ids: Iterable[str], reason: str) -> None:
        """Asks the indexer to look at fragments once this revision is committed."""
        for fragment_id in sorted(set(fragment_ids)):
            self.transaction.insert(
                tables.search_refresh_intents,
                {"fragment_id": fragment_id, "reason": reason, "consumed_at": Unbounded.END},
            )


def _next_look(team_id: TeamId, case: ConflictCase, at: Instant) -> Query:
    """A case whose version rose is looked at now, by whoever claims it anew; a closed one never again."""
    return load_sql("case_lease.sql").query(
        "look_anew",
        team_id=team_id,
        conflict_id=case.conflict_id,
        next_review_at=at if case.live else Unbounded.END,
    )
