"""Answers of the conflict service as messages: cases, items and runs, with names beside ids."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2, review_run_pb2
from corrigenda.type.v1 import actor_pb2, object_pb2, relationship_pb2
from corrigenda_core.domain.actors import ActorKind
from corrigenda_core.domain.cases import CaseAction, CasePosition, CaseStatus
from corrigenda_core.domain.ids import EntityId, PositionId, RelationshipId, TeamId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.objects import Object, Polarity
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.persistence.conflict_store import CaseInView, ConflictReading, ItemInView, OwnedRelationship
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.row_values import basis_of
from corrigenda_core.rpc.actor_messages import actor_message
from corrigenda_core.rpc.case_words import (
    case_object,
    case_question,
    position_label,
    position_object,
    position_polarity,
    positions_in_order,
)
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none, validity_message
from corrigenda_core.rpc.enums import (
    ACTOR_KIND,
    CASE_ACTION,
    CASE_KIND,
    CASE_STATUS,
    ITEM_KIND,
    ITEM_STATUS,
    POLARITY,
    RELATIONSHIP_STATUS,
    TIME_BASIS,
)
from corrigenda_core.rpc.relationship_messages import (
    entity_summary,
    object_message,
    object_words,
    relationship_message,
)

POSITIONS_SHOWN = 10
MEMBERS_SHOWN = 50
CANDIDATES_SHOWN = 10

_COUNTERS = ("examined", "resolved", "dismissed", "marked_overdue", "kept", "left", "failed")


class ConflictMessages:
    """Makes the messages of one answer."""

    def __init__(self, team_id: TeamId, reading: ConflictReading) -> None:
        self._team_id = team_id
        self._names = reading.names

    def case(self, shown: CaseInView) -> conflict_case_pb2.ConflictCase:
        """A case at the version of the view, with its lease as it is now."""
        case, key, lease = shown.case, shown.case.set_key, shown.lease
        positions = positions_in_order(case)
        return conflict_case_pb2.ConflictCase(
            conflict_id=case.conflict_id,
            team_id=self._team_id,
            kind=CASE_KIND.to_wire(key.kind),
            status=CASE_STATUS.to_wire(case.status),
            version=case.version,
            question=case_question(case, _rows(shown), self._names),
            subject=entity_summary(key.subject_id, self._names),
            predicate=key.predicate,
            scope=key.scope,
            object=self._object(case_object(case, _rows(shown))),
            opened_at=timestamp_of(case.opened_at),
            review_due_at=timestamp_of(case.review_due_at),
            next_review_at=timestamp_or_none(lease.next_review_at if case.live else None),
            claim_token=lease.claim_token or None,
            lease_expires_at=timestamp_or_none(lease.lease_expires_at),
            review_attempts=lease.attempts,
            last_evaluated_at=timestamp_or_none(lease.last_evaluated_at),
            resolved_at=timestamp_or_none(case.resolved_at),
            dismissed_at=timestamp_or_none(case.dismissed_at),
            effective_at=timestamp_or_none(case.effective_at),
            effective_time_basis=TIME_BASIS.to_wire(case.effective_time_basis),
            preferred_position_id=case.preferred_position_id or "",
            resolution_reason=case.resolution_reason or "",
            policy_version=case.policy_version or "",
            previous_conflict_id=case.previous_conflict_id or "",
            positions=[self.position(shown, position) for position in positions[:POSITIONS_SHOWN]],
            positions_total=len(positions),
            positions_truncated=len(positions) > POSITIONS_SHOWN,
        )

    def further_member(self, one: FurtherMember) -> conflict_service_pb2.FurtherMember:
        """A member that its position leaves out."""
        return conflict_service_pb2.FurtherMember(position_id=one.position_id, member=self._member(one.member))

    def item(self, shown: ItemInView) -> review_item_pb2.ReviewItem:
        """A question to the caller."""
        row, details = shown.row, shown.row["details"]
        candidates = [EntityId(one) for one in details.get("candidates", "").split()]
        relationships = (*shown.incoming, *shown.opposing)
        return review_item_pb2.ReviewItem(
            item_id=row["item_id"],
            version=row["version"],
            kind=ITEM_KIND.to_wire(ItemKind(row["kind"])),
            status=ITEM_STATUS.to_wire(ItemStatus(row["status"])),
            reason=row["reason"],
            question=self._item_question(shown),
            ingest_id=row["ingest_id"] or "",
            observation_id=row["statement_id"] or "",
            incoming=[self._relationship(one) for one in shown.incoming[:MEMBERS_SHOWN]],
            opposing=[self._relationship(one) for one in shown.opposing[:MEMBERS_SHOWN]],
            relationships_total=len(relationships),
            relationships_truncated=max(len(shown.incoming), len(shown.opposing)) > MEMBERS_SHOWN,
            phrase=details.get("phrase", "") or row["predicate_phrase"] or "",
            closest_predicates=details.get("closest_predicates", "").split(),
            candidates=[entity_summary(one, self._names) for one in candidates[:CANDIDATES_SHOWN]],
            candidates_total=len(candidates),
            candidates_truncated=len(candidates) > CANDIDATES_SHOWN,
            opened_at=timestamp_of(row["opened_at"]),
            revision=row["revision"],
        )

    def _item_question(self, shown: ItemInView) -> str:
        row = shown.row
        match ItemKind(row["kind"]):
            case ItemKind.PREDICATE:
                return f"Which registered predicate does “{row['details'].get('phrase', '')}” mean?"
            case ItemKind.IDENTITY:
                return "Which entity is meant?"
            case ItemKind.QUARANTINE:
                return "Is this text to be released from quarantine?"
            case _:
                sides = [self._side(one.row) for one in (*shown.incoming, *shown.opposing)]
                return f"Which holds: {', '.join(dict.fromkeys(sides))}?"

    def _side(self, row: Relationship) -> str:
        """What a row says of its slot, in words."""
        words = object_words(row.object, self._names)
        return words if row.polarity is Polarity.POSITIVE else f"not {words}"

    def _object(self, named: Object | None) -> object_pb2.Object | None:
        return None if named is None else object_message(named, self._names)

    def position(self, shown: CaseInView, position: CasePosition) -> conflict_case_pb2.Position:
        """A position with its first members."""
        case, rows = shown.case, _rows(shown)
        standing = _standing(shown, position)
        owners = {one.shown.row.owner_id: one.shown.owner_name for one in standing}
        return conflict_case_pb2.Position(
            position_id=position.position_id,
            label=position_label(case, position, rows, self._names),
            object=self._object(position_object(case, position, rows)),
            polarity=POLARITY.to_wire(position_polarity(case, position)),
            members=[self._member(one) for one in standing[:MEMBERS_SHOWN]],
            members_total=len(standing),
            members_truncated=len(standing) > MEMBERS_SHOWN,
            owners=[
                actor_pb2.ProfileSummary(profile_id=profile_id, name=name)
                for profile_id, name in sorted(owners.items())[:MEMBERS_SHOWN]
            ],
            counted_groups=position.counted_groups,
            authoritative_groups=position.authoritative_groups,
            first_seen_at=timestamp_of(position.first_seen_at),
            last_seen_at=timestamp_of(position.last_seen_at),
            preferred=position.position_id == case.preferred_position_id,
        )

    def _member(self, one: StandingMember) -> conflict_case_pb2.PositionMember:
        row = one.shown.row
        return conflict_case_pb2.PositionMember(
            relationship_id=row.relationship_id,
            version=one.version,
            owner=actor_pb2.ProfileSummary(profile_id=row.owner_id, name=one.shown.owner_name),
            status=RELATIONSHIP_STATUS.to_wire(row.status),
            validity=validity_message(row.validity, row.start_basis, row.end_basis),
        )

    def _relationship(self, one: OwnedRelationship) -> relationship_pb2.Relationship:
        owner = actor_pb2.ProfileSummary(profile_id=one.row.owner_id, name=one.owner_name)
        return relationship_message(one.row, owner=owner, names=self._names)


def _rows(shown: CaseInView) -> dict[RelationshipId, Relationship]:
    return {relationship_id: one.row for relationship_id, one in shown.members.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingMember:
    """A member of a position: the version with which it takes part, and the relationship as the view knows it."""

    version: int
    shown: OwnedRelationship


def _standing(shown: CaseInView, position: CasePosition) -> list[StandingMember]:
    return [
        StandingMember(version=one.version, shown=shown.members[one.relationship_id])
        for one in position.members
        if one.relationship_id in shown.members
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherMember:
    """A member that its position leaves out."""

    position_id: PositionId
    member: StandingMember


def further_records(shown: CaseInView) -> list[CasePosition | FurtherMember]:
    """What the message of a case leaves out: positions, then members of all positions, in the order of both."""
    positions = positions_in_order(shown.case)
    members = [
        FurtherMember(position_id=position.position_id, member=member)
        for position in positions
        for member in _standing(shown, position)[MEMBERS_SHOWN:]
    ]
    return [*positions[POSITIONS_SHOWN:], *members]


def event_message(row: Row) -> conflict_case_pb2.ConflictEvent:
    """An event of a case, in a row of `events_of_case`."""
    versions = list(zip(row["relationship_ids"], row["relationship_versions"], strict=True))
    return conflict_case_pb2.ConflictEvent(
        event_id=row["event_id"],
        prior_status=CASE_STATUS.to_wire(CaseStatus(row["prior_status"]) if row["prior_status"] else None),
        resulting_status=CASE_STATUS.to_wire(CaseStatus(row["resulting_status"])),
        version=row["version"],
        actor=actor_message(row),
        action=CASE_ACTION.to_wire(CaseAction(row["action"])),
        reason=row["reason"],
        policy_version=row["policy_version"] or "",
        time_basis=TIME_BASIS.to_wire(basis_of(row["time_basis"])),
        relationships=[
            conflict_case_pb2.RelationshipVersion(relationship_id=relationship_id, version=version)
            for relationship_id, version in versions[:MEMBERS_SHOWN]
        ],
        relationships_total=len(versions),
        relationships_truncated=len(versions) > MEMBERS_SHOWN,
        revision=row["revision"],
        created_at=timestamp_of(row["recorded_at"]),
    )


def run_message(row: Row) -> review_run_pb2.ReviewRun:
    """A run of the reviewer, in a row of `run_row` or `run_page`."""
    requested_by = None
    if row["requested_by"] is not None:
        requested_by = actor_pb2.Actor(
            kind=ACTOR_KIND.to_wire(ActorKind.OPERATOR),
            profile=actor_pb2.ProfileSummary(profile_id=row["requested_by"], name=row["requested_by_name"] or ""),
        )
    return review_run_pb2.ReviewRun(
        run_id=row["run_id"],
        kind=review_run_pb2.ReviewRunKind.Value(f"REVIEW_RUN_KIND_{row['kind'].upper()}"),
        status=review_run_pb2.ReviewRunStatus.Value(f"REVIEW_RUN_STATUS_{row['status'].upper()}"),
        requested_by=requested_by,
        local_date=row["local_date"].isoformat() if row["local_date"] else "",
        policy_version=row["policy_version"],
        requested_at=timestamp_of(row["requested_at"]),
        started_at=timestamp_or_none(row["started_at"]),
        finished_at=timestamp_or_none(row["finished_at"]),
        counters=review_run_pb2.ReviewCounters(**{name: row[f"{name}_cases"] for name in _COUNTERS}),
    )
