"""Rows of the public-issues table that pure decisions answer: currency, ownership, identity, provenance."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.entities import Entity, IdentityContext, Mention, MentionRef
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import (
    EntityId,
    FragmentId,
    PredicateKey,
    ProfileId,
    RelationshipId,
    SupportId,
)
from corrigenda_core.domain.objects import Slot, ValueObject, ValueType
from corrigenda_core.domain.relationships import Relationship, Status, Tier
from corrigenda_core.domain.time import Instant, Interval, Moment, TimeBasis
from corrigenda_core.domain.views import TemporalSelector, Version
from corrigenda_core.policy.authorization import RIGHTS, Reach, Verb, may_change
from corrigenda_core.policy.identity import NewEntity, ReusedEntity, decide_identities
from corrigenda_core.policy.ranking import decide_branch
from corrigenda_core.policy.tiers import decide_tier, is_carried
from corrigenda_core.policy.visibility import decide_picture, decide_view

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ANN, BOB = ProfileId("ann"), ProfileId("bob")


def year(number: int) -> Instant:
    return datetime(number, 1, 1, tzinfo=UTC)


def employer(value: str, start: int, end: int | None) -> Version[Relationship]:
    row = Relationship(
        relationship_id=RelationshipId(value),
        version=1,
        owner_id=ANN,
        slot=Slot(subject_id=EntityId("eve"), predicate=PredicateKey("works_at")),
        object=ValueObject(type=ValueType.TEXT, canonical=value),
        validity=Interval(start=year(start), end=None if end is None else year(end)),
        start_basis=TimeBasis.EVIDENCE_TIME,
        status=Status.ACTIVE if end is None else Status.SUPERSEDED,
        revision=1,
        recorded_at=year(2026),
        first_recorded_at=year(2026),
    )
    return Version(row=row, since=Moment(revision=1, at=year(2026)))


CAREER = [employer("globex", 2020, 2023), employer("initech", 2023, 2025), employer("acme", 2025, None)]


def shown(valid_at: Instant | None = None) -> list[str]:
    view = decide_view(TemporalSelector(valid_at=valid_at), now=NOW, moments=[Moment(revision=1, at=year(2026))])
    return [edge.relationship.relationship_id for edge in decide_picture(view, CAREER, []).edges]


@pytest.mark.rule("R8.2")
def test_p2_p4_a_read_without_a_time_shows_what_is_current_and_nothing_that_has_ended() -> None:
    assert shown() == ["acme"]
    assert shown(year(2024)) == ["initech"]
    assert shown(year(2021)) == ["globex"]
    assert shown(year(2019)) == []


@pytest.mark.rule("R9.1")
def test_p3_what_has_ended_crowds_out_nothing_that_is_current() -> None:
    ended = [FragmentId(f"ended {n}") for n in range(710)]
    current = [FragmentId(f"current {n}") for n in range(290)]
    hits = ended + current
    assert decide_branch(hits, set(current), limit=10) == tuple(current[:10])


@pytest.mark.rule("R4.6")
@pytest.mark.parametrize("verb", [verb for verb in Verb if RIGHTS[verb].reach is Reach.OWN])
def test_p43_whoever_knows_an_id_cannot_change_the_record_behind_it(verb: Verb) -> None:
    actor = Actor(kind=ActorKind.PROFILE, profile_id=BOB)
    with pytest.raises(Refusal) as raised:
        may_change(actor, ANN, verb, resource_type="relationship", resource_id="r1")
    assert raised.value.reason is Reason.NOT_OWNER


def mention(ref: str, kind: str, name: str, **about: str) -> Mention:
    return Mention(ref=MentionRef(ref), kind=kind, name=name, context=IdentityContext(pairs=frozenset(about.items())))


@pytest.mark.rule("R3.7")
def test_p51_exact_names_of_one_kind_and_context_are_one_entity() -> None:
    mentions = [mention(f"m{n}", "authority", "dgia", country="fr") for n in range(4)]
    (first,) = decide_identities(mentions, [])
    assert isinstance(first, NewEntity)
    stored = Entity(entity_id=EntityId("e"), kind=first.kind, names=first.names, context=first.context)
    (again,) = decide_identities(mentions, [stored])
    assert isinstance(again, ReusedEntity)
    assert again.entity_id == "e"


@pytest.mark.rule("R3.7")
def test_p52_the_kind_is_part_of_identity() -> None:
    person = Entity(entity_id=EntityId("e"), kind="person", names=frozenset({"apple"}))
    (decision,) = decide_identities([mention("m", "company", "apple")], [person])
    assert isinstance(decision, NewEntity)


@pytest.mark.rule("R4.2", "R4.3")
def test_p56_nothing_is_believed_without_evidence() -> None:
    assert decide_tier([]) is Tier.CANDIDATE
    assert not is_carried([])
    support = Support(
        support_id=SupportId("s"),
        fragment_id=FragmentId("f"),
        author=ANN,
        recorded_at=NOW,
        authority=Authority.UNKNOWN,
    )
    assert decide_tier([support]) is Tier.VALIDATED_CLAIM
    assert is_carried([support])
