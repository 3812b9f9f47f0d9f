"""Decisions and what they changed as messages, with the names of entities and owners."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from corrigenda.type.v1 import actor_pb2, decision_pb2

from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.ids import ProfileId, RelationshipId
from corrigenda_core.domain.items import ItemKind, ItemStatus
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.resolutions import EVIDENCE, DecisionRecord
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import Moment
from corrigenda_core.policy.forgetting import decide_revived
from corrigenda_core.policy.resolution import LOST_END
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.rpc.enums import ACTOR_KIND, DECISION_KIND
from corrigenda_core.rpc.relationship_messages import Names, relationship_message

CHANGES_SHOWN = 50

OwnerNames = Mapping[ProfileId, str]


def decision_message(record: DecisionRecord, moment: Moment, owner_names: OwnerNames) -> decision_pb2.Decision:
    """A decision of the revision at ``moment``."""
    profile_id = record.actor.profile_id
    lost = [value for name, value in record.details if name == LOST_END]
    return decision_pb2.Decision(
        decision_id=record.decision_id,
        kind=DECISION_KIND.to_wire(record.kind),
        actor=actor_pb2.Actor(
            kind=ACTOR_KIND.to_wire(record.actor.kind),
            profile=None if profile_id is None else _profile(profile_id, owner_names),
        ),
        item_id=record.item_id or "",
        kept_relationship_id=record.kept_id or "",
        reverts_decision_id=record.reverts or "",
        reason=record.reason,
        evidence_fragment_ids=[value for name, value in record.details if name == EVIDENCE],
        revision=moment.revision,
        recorded_at=timestamp_of(moment.at),
        lost_ends=[_lost_end(value) for value in lost[:CHANGES_SHOWN]],
        lost_ends_total=len(lost),
        lost_ends_truncated=len(lost) > CHANGES_SHOWN,
    )


def _lost_end(detail: str) -> decision_pb2.LostEnd:
    relationship_id, end = detail.split(" ")
    return decision_pb2.LostEnd(relationship_id=relationship_id, end=timestamp_of(datetime.fromisoformat(end)))


def effects_message(
    view: SlotView, changes: Changes, names: Names, owner_names: OwnerNames
) -> decision_pb2.DecisionEffects:
    """What a plan does to the slot that it was made for."""
    revived = set(decide_revived(changes.transitions))
    shown, total = change_messages(view.rows, changes.relationships, names, owner_names, revived=revived)
    asked = {
        item.owner_id
        for item in changes.items
        if item.kind is ItemKind.WINNER_WITHDRAWN and item.status is ItemStatus.PENDING
    }
    asked_names = [_profile(one, owner_names) for one in sorted(asked)]
    return with_conflicts(
        decision_pb2.DecisionEffects(
            changes=shown,
            changes_total=total,
            changes_truncated=total > len(shown),
            asked_profiles=asked_names[:CHANGES_SHOWN],
            asked_profiles_total=len(asked_names),
            asked_profiles_truncated=len(asked_names) > CHANGES_SHOWN,
        ),
        sorted(case.conflict_id for case in changes.cases),
    )


def with_conflicts(effects: decision_pb2.DecisionEffects, conflict_ids: Sequence[str]) -> decision_pb2.DecisionEffects:
    """Effects with the team conflicts that were opened or changed, as many as are shown."""
    effects.conflict_ids.extend(conflict_ids[:CHANGES_SHOWN])
    effects.conflict_ids_total = len(conflict_ids)
    effects.conflict_ids_truncated = len(conflict_ids) > CHANGES_SHOWN
    return effects


def change_messages(
    before: Iterable[Relationship],
    after: Sequence[Relationship],
    names: Names,
    owner_names: OwnerNames,
    *,
    revived: Collection[RelationshipId] = (),
) -> tuple[list[decision_pb2.RelationshipChange], int]:
    """The changed relationships by id, as many as are shown, and their number."""
    known = {row.relationship_id: row for row in before}
    changed = sorted(after, key=lambda row: row.relationship_id)

    def shown(row: Relationship) -> decision_pb2.RelationshipChange:
        prior = known.get(row.relationship_id)
        owner = _profile(row.owner_id, owner_names)
        return decision_pb2.RelationshipChange(
            before=None if prior is None else relationship_message(prior, owner=owner, names=names),
            after=relationship_message(row, owner=owner, names=names),
            revived=row.relationship_id in revived,
        )

    return [shown(row) for row in changed[:CHANGES_SHOWN]], len(changed)


def _profile(profile_id: ProfileId, owner_names: OwnerNames) -> actor_pb2.ProfileSummary:
    return actor_pb2.ProfileSummary(profile_id=profile_id, name=owner_names[profile_id])
