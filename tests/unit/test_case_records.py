"""What the message of a case leaves out comes on further pages: positions first, then members, each once."""

from datetime import UTC, datetime, timedelta

from corrigenda_conflict.responses import MEMBERS_SHOWN, POSITIONS_SHOWN, FurtherMember, further_records
from corrigenda_core.domain.cases import CaseKind, CaseMember, CasePosition, CaseStatus, ConflictCase, SetKey
from corrigenda_core.domain.ids import ConflictId, EntityId, PositionId, PredicateKey, ProfileId, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Polarity
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.time import Interval
from corrigenda_core.persistence.conflict_store import CaseInView, Lease, OwnedRelationship

OPENED = datetime(2026, 1, 1, tzinfo=UTC)
KEY = SetKey(kind=CaseKind.CURRENT_STATE, subject_id=EntityId("production"), predicate=PredicateKey("deploys_from"))


def row(name: str) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(name),
        slot=KEY.slot,
        facet=0,
        object=EntityObject(entity_id=EntityId("main")),
        polarity=Polarity.POSITIVE,
        validity=Interval(),
        status=Status.ACTIVE,
        tier=Tier.VALIDATED_CLAIM,
        revision=1,
        recorded_at=OPENED,
        first_recorded_at=OPENED,
    )


def case_with(member_counts: list[int]) -> CaseInView:
    """A case with so many members on each of its positions, in the order of their first sight."""
    rows = {
        (place, number): row(f"{place}/{number}")
        for place, count in enumerate(member_counts)
        for number in range(count)
    }
    positions = tuple(
        CasePosition(
            position_id=PositionId(f"p{place}"),
            key=f"p{place}",
            members=tuple(
                CaseMember(relationship_id=rows[place, number].relationship_id, version=1, owner_id=ProfileId("a"))
                for number in range(count)
            ),
            counted_groups=0,
            authoritative_groups=0,
            support_digest="",
            first_seen_at=OPENED + timedelta(seconds=place),
            last_seen_at=OPENED,
        )
        for place, count in enumerate(member_counts)
    )
    case = ConflictCase(
        conflict_id=ConflictId("c"),
        set_key=KEY,
        status=CaseStatus.OPEN,
        version=1,
        opened_at=OPENED,
        review_due_at=OPENED + timedelta(days=7),
        first_contradiction_at=OPENED,
        positions=positions[::-1],
    )
    lease = Lease(next_review_at=None, claim_token=0, lease_expires_at=None, attempts=0, last_evaluated_at=None)
    members = {one.relationship_id: OwnedRelationship(row=one, owner_name="A") for one in rows.values()}
    return CaseInView(case=case, members=members, lease=lease)


def test_a_case_that_shows_everything_leaves_nothing_out() -> None:
    assert further_records(case_with([MEMBERS_SHOWN] * POSITIONS_SHOWN)) == []


def test_positions_come_before_members_and_both_in_their_order() -> None:
    counts = [MEMBERS_SHOWN + 2, *[1] * (POSITIONS_SHOWN - 1), MEMBERS_SHOWN + 1, 0]
    found = further_records(case_with(counts))
    positions = [one.position_id for one in found if isinstance(one, CasePosition)]
    members = [
        (one.position_id, one.member.shown.row.relationship_id) for one in found if isinstance(one, FurtherMember)
    ]
    assert positions == [f"p{POSITIONS_SHOWN}", f"p{POSITIONS_SHOWN + 1}"]
    assert members == [
        ("p0", f"0/{MEMBERS_SHOWN}"),
        ("p0", f"0/{MEMBERS_SHOWN + 1}"),
        (f"p{POSITIONS_SHOWN}", f"{POSITIONS_SHOWN}/{MEMBERS_SHOWN}"),
    ]
    assert [isinstance(one, CasePosition) for one in found] == [True, True, False, False, False]
