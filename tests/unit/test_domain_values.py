"""What the values of the domain refuse to be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.cases import CaseKind, SetKey
from corrigenda_core.domain.forgetting import EndRow
from corrigenda_core.domain.ids import DecisionId, EntityId, ItemId, PredicateKey, RelationshipId
from corrigenda_core.domain.objects import EntityObject, Object, Slot, ValueObject, ValueType, object_of_key
from corrigenda_core.domain.resolutions import DecisionKind, DecisionRecord
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.domain.verification import CitedSpan


def decided(kind: DecisionKind, **more: object) -> DecisionRecord:
    """A decision of the system, with what a test says about it."""
    made: Callable[..., DecisionRecord] = DecisionRecord
    return made(decision_id=DecisionId("d"), kind=kind, actor=Actor(kind=ActorKind.REVIEWER), **more)


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: TeamPolicy(review_period_days=0), "review_period_days must be 1..30"),
        (lambda: TeamPolicy(review_period_days=31), "review_period_days must be 1..30"),
        (lambda: TeamPolicy(review_start_minute=-1), "review_start_minute must be 0..1439"),
        (lambda: TeamPolicy(review_start_minute=1440), "review_start_minute must be 0..1439"),
        (lambda: CitedSpan(evidence_index=-1, span=TextSpan(start=0, end=1)), "evidence_index is not negative"),
        (lambda: EndRow(row_id=RelationshipId("r"), at=datetime(2026, 3, 1)), "aware instant"),  # noqa: DTZ001
        (lambda: decided(DecisionKind.KEEP_NEW, item_id=ItemId("i")), "an item at a version"),
        (lambda: decided(DecisionKind.KEEP_NEW, item_version=1), "an item at a version"),
        (lambda: decided(DecisionKind.REVERT), "names the decision that it takes back"),
        (lambda: decided(DecisionKind.RETRACT, reverts=DecisionId("e")), "names the decision that it takes back"),
    ],
)
def test_a_value_beyond_its_bounds_is_refused(build: Callable[[], object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        build()


@pytest.mark.parametrize("policy", [(1, 0), (30, 1439)])
def test_the_bounds_of_a_teams_policy_are_allowed(policy: tuple[int, int]) -> None:
    days, minute = policy
    assert TeamPolicy(review_period_days=days, review_start_minute=minute).review_start_minute == minute


def test_a_set_key_lies_in_its_slot() -> None:
    subject_id, predicate = EntityId("e"), PredicateKey("runs_on")
    key = SetKey(kind=CaseKind.POLARITY, subject_id=subject_id, predicate=predicate, scope="eu", object_key="o")
    assert key.slot == Slot(subject_id=subject_id, predicate=predicate, scope="eu")


@pytest.mark.parametrize(
    ("said", "display"),
    [
        (EntityObject(entity_id=EntityId("e1")), None),
        (ValueObject(type=ValueType.TEXT, canonical="on call: eu", display="On call: EU"), "on call: eu"),
        (ValueObject(type=ValueType.NUMBER, canonical="30", unit="s", display="0.5 min"), "30 s"),
    ],
)
def test_an_object_is_read_from_its_key(said: Object, display: str | None) -> None:
    read = object_of_key(said.key)
    assert read.key == said.key
    assert getattr(read, "display", None) == display


def test_what_is_no_key_is_no_object() -> None:
    with pytest.raises(ValueError, match="colour"):
        object_of_key("colour::red")
