"""One owner's timeline through the whole stack: what is recalled for every instant, whatever the order of arrival."""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2, relationship_pb2, time_pb2
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.wire_recall import current_recall

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
Verifies = Callable[[str], Awaitable[bool]]

EVIDENCE, STATED = predicate_pb2.SUPERSESSION_BASIS_EVIDENCE_TIME, predicate_pb2.SUPERSESSION_BASIS_STATED_TIME
HOLD, COMPETE = predicate_pb2.SAME_MOMENT_POLICY_HOLD, predicate_pb2.SAME_MOMENT_POLICY_COMPETE


def day(month: int, of_month: int) -> datetime:
    return datetime(2026, month, of_month, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Said:
    """One statement: the value, what the caller states beside the text, and words of time in the text itself."""

    value: str
    start: datetime | None = None
    end: datetime | None = None
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Story:
    """Statements in the order of arrival, and the values that are recalled for instants of the world."""

    said: Sequence[Said]
    recalled: Mapping[datetime, set[str]]
    outcomes: Sequence[placement_pb2.Outcome] = ()
    basis: predicate_pb2.SupersessionBasis = STATED
    policy: predicate_pb2.SameMomentPolicy = HOLD


STANDARD, GOLD, PLATINUM = (
    Said(value="standard", start=day(1, 1)),
    Said(value="gold", start=day(3, 1)),
    Said(value="platinum", start=day(5, 1)),
)
STORIES = {
    "V1": Story(
        said=[Said(value="premium", start=day(5, 1)), Said(value="trial", start=day(1, 1))],
        recalled={day(12, 1): {"premium"}, day(3, 1): {"trial"}, day(5, 1): {"premium"}},
        outcomes=[placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_INSERTED_HISTORICAL],
    ),
    "V2": Story(
        said=[Said(value="active", start=day(1, 1)), Said(value="relocating", start=datetime(2027, 12, 1, tzinfo=UTC))],
        recalled={
            day(6, 1): {"active"},
            datetime(2027, 11, 30, 23, 59, tzinfo=UTC): {"active"},
            datetime(2027, 12, 1, tzinfo=UTC): {"relocating"},
        },
        outcomes=[placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_SUPERSEDED],
    ),
    **{
        f"V3 {order}": Story(
            said=[(STANDARD, GOLD, PLATINUM)[place] for place in order],
            recalled={
                datetime(2025, 12, 31, tzinfo=UTC): set(),
                day(2, 28): {"standard"},
                day(3, 1): {"gold"},
                day(4, 30): {"gold"},
                day(5, 1): {"platinum"},
            },
        )
        for order in itertools.permutations(range(3))
    },
    "V5": Story(
        said=[
            Said(value="a", start=day(1, 1), end=day(2, 1)),
            Said(value="c", start=day(4, 1)),
            Said(value="b", start=day(1, 15)),
        ],
        recalled={day(1, 14): {"a"}, day(1, 15): {"b"}, day(3, 1): {"b"}, day(4, 1): {"c"}},
    ),
    "V6": Story(
        said=[Said(value="a", start=day(1, 1), end=day(1, 31)), Said(value="d", start=day(6, 1))],
        recalled={day(1, 30): {"a"}, day(1, 31): set(), day(5, 31): set(), day(6, 1): {"d"}},
    ),
    "V9": Story(
        said=[Said(value="main", words="since 1 January 2026"), Said(value="release", start=day(3, 1))],
        recalled={day(2, 1): {"main"}, day(4, 1): {"main"}},
        outcomes=[placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_HELD],
        basis=EVIDENCE,
    ),
    "V10": Story(
        said=[Said(value="main", words="since 1 January 2026"), Said(value="release", words="since 1 March 2026")],
        recalled={day(2, 28): {"main"}, day(3, 1): {"release"}},
        outcomes=[placement_pb2.OUTCOME_INSERTED, placement_pb2.OUTCOME_SUPERSEDED],
        basis=EVIDENCE,
    ),
    "V11": Story(
        said=[Said(value=value, start=day(1, 1)) for value in ("x", "y", "z")],
        recalled={day(2, 1): {"x", "y", "z"}},
        outcomes=[
            placement_pb2.OUTCOME_INSERTED,
            placement_pb2.OUTCOME_COMPETING,
            placement_pb2.OUTCOME_COMPETING,
        ],
        policy=COMPETE,
    ),
    "V13": Story(
        said=[*(Said(value=value, start=day(1, 1)) for value in ("x", "y", "z")), Said(value="v", start=day(4, 1))],
        recalled={day(2, 1): {"x", "y", "z"}, day(4, 1): {"v"}},
        policy=COMPETE,
    ),
    "A, B, A": Story(
        said=[
            Said(value="a", start=day(1, 1)),
            Said(value="b", start=day(3, 1)),
            Said(value="a", start=day(5, 1)),
        ],
        recalled={day(2, 1): {"a"}, day(4, 1): {"b"}, day(6, 1): {"a"}},
    ),
}


async def recalled_at(client: Any, at: datetime) -> set[str]:
    request = recall_service_pb2.RecallRequest(
        query="what is the standing of production", temporal=time_pb2.TemporalSelector(valid_at=timestamp_of(at))
    )
    answer = await current_recall(client, request)
    return {path.relationship.object.entity.name for result in answer.results for path in result.paths}


@pytest.mark.promise("time.place")
@pytest.mark.rule("R4.7", "R4.8", "R4.10")
@pytest.mark.parametrize("name", STORIES)
async def test_what_is_recalled_for_every_instant(
    new_team: NewTeam, deploys_from: Request, ledger_verifies: Verifies, name: str
) -> None:
    story = STORIES[name]
    team = await new_team(profiles=("A",))
    await team.admin.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key="standing",
            definition=predicate_pb2.PredicateDefinition(
                key="has_standing",
                aliases=["has standing"],
                relationship_kind=predicate_pb2.RELATIONSHIP_KIND_STATE,
                current_cardinality=predicate_pb2.CARDINALITY_ONE,
                supersession_basis=story.basis,
                same_moment_policy=story.policy,
            ),
        )
    )
    outcomes = []
    for number, said in enumerate(story.said):
        text = f"{said.words} production has standing {said.value}. Seen in note {number}.".strip()
        interval = time_pb2.Interval()
        if said.start is not None:
            interval.valid_from.CopyFrom(timestamp_of(said.start))
        if said.end is not None:
            interval.valid_to.CopyFrom(timestamp_of(said.end))
        request = deploys_from(text, said.value, predicate="has_standing", validity=interval)
        (placed,) = (await team["A"].ingest.Remember(request)).placement.relationships
        assert placed.verdict == relationship_pb2.VERDICT_ENTAILED, placed.verdict_reason
        outcomes.append(placed.outcome)
    if story.outcomes:
        assert outcomes == list(story.outcomes)
    assert {at: await recalled_at(team["A"], at) for at in story.recalled} == story.recalled
    assert await ledger_verifies(team.team_id)
