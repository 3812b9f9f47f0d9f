"""Every bound is tried at its limit and one beyond: in a field of the protos, here, or in a test that is named here.

The bounds in fields are tried by tests/unit/test_validation.py, each one that a proto declares; here they have the
figures of the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.options.v1 import rules_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Refusal
from corrigenda_core.domain.ids import (
    EntityId,
    ItemId,
    KeyId,
    PredicateKey,
    ProfileId,
    ProposalId,
    RelationshipId,
    TeamId,
)
from corrigenda_core.domain.judging import JudgedSide, JudgeQuestion
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.verification import VerificationVerdict
from corrigenda_core.policy.instants import decide_instant
from corrigenda_core.policy.limits import LIMITS, Unit, decide_limit, decide_page_size
from corrigenda_core.ports.providers import (
    Finding,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.providers.asking import Patience
from corrigenda_core.rpc.field_rules import check_timestamp
from corrigenda_core.rpc.validation import find_breaches
from corrigenda_ingest.impact_tokens import Impact, ImpactTokens
from corrigenda_ingest.inbox import Inbox
from corrigenda_ingest.use_cases.remember_stream import BYTES_WAITING, IDLE_SECONDS, ITEMS_PER_COMMIT, ITEMS_WAITING
from corrigenda_ingest.verification_tokens import VerificationTokens
from google.protobuf.descriptor import Descriptor
from google.protobuf.timestamp_pb2 import Timestamp

SUBMISSION = submission_pb2.DESCRIPTOR.message_types_by_name
INGEST = ingest_service_pb2.DESCRIPTOR.message_types_by_name
RECALL = recall_service_pb2.DESCRIPTOR.message_types_by_name
ADMIN = admin_service_pb2.DESCRIPTOR.message_types_by_name
SOURCE = source_pb2.DESCRIPTOR.message_types_by_name

# Where each bound stands in the protos: message, field, and which part of the field ("", "items", "keys").
BOUNDS = [
    ("evidence_per_call", INGEST["RememberRequest"], "evidence", ""),
    ("idempotency_key", INGEST["RememberRequest"], "idempotency_key", ""),
    ("metadata_entries", INGEST["RememberRequest"], "metadata", ""),
    ("metadata_key", INGEST["RememberRequest"], "metadata", "keys"),
    ("metadata_value", INGEST["RememberRequest"], "metadata", "items"),
    ("verification_token", INGEST["RememberRequest"], "verification_token", ""),
    ("evidence_per_call", INGEST["PreflightRememberRequest"], "evidence", ""),
    ("metadata_entries", INGEST["PreflightRememberRequest"], "metadata", ""),
    ("metadata_key", INGEST["PreflightRememberRequest"], "metadata", "keys"),
    ("metadata_value", INGEST["PreflightRememberRequest"], "metadata", "items"),
    ("content", SUBMISSION["EvidenceItem"], "content", ""),
    ("source_group", SUBMISSION["EvidenceItem"], "source_group", ""),
    ("source_key", SUBMISSION["EvidenceItem"], "source_key", ""),
    ("source_revision", SUBMISSION["EvidenceItem"], "source_revision", ""),
    ("source_revision", SUBMISSION["EvidenceItem"], "previous_source_revision", ""),
    ("superseded_fragments_per_evidence", SUBMISSION["EvidenceItem"], "supersedes_fragment_ids", ""),
    ("origins_per_evidence", SUBMISSION["EvidenceItem"], "derived_from_fragment_ids", ""),
    ("labels_per_evidence", SUBMISSION["EvidenceItem"], "labels", ""),
    ("label", SUBMISSION["EvidenceItem"], "labels", "items"),
    ("entities_per_proposal", SUBMISSION["Proposal"], "entities", ""),
    ("relationships_per_proposal", SUBMISSION["Proposal"], "relationships", ""),
    ("reference_name", SUBMISSION["ProposedEntity"], "ref", ""),
    ("name", SUBMISSION["ProposedEntity"], "name", ""),
    ("entity_kind", SUBMISSION["ProposedEntity"], "entity_kind", ""),
    ("aliases_per_entity", SUBMISSION["ProposedEntity"], "aliases", ""),
    ("name", SUBMISSION["ProposedEntity"], "aliases", "items"),
    ("context_entries_per_entity", SUBMISSION["ProposedEntity"], "identity_context", ""),
    ("context_key", SUBMISSION["ProposedEntity"], "identity_context", "keys"),
    ("context_value", SUBMISSION["ProposedEntity"], "identity_context", "items"),
    ("reference_name", SUBMISSION["ProposedRelationship"], "proposal_id", ""),
    ("reference_name", SUBMISSION["ProposedRelationship"], "subject_ref", ""),
    ("reference_name", SUBMISSION["ProposedRelationship"], "object_ref", ""),
    ("predicate_phrase", SUBMISSION["ProposedRelationship"], "predicate", ""),
    ("scope", SUBMISSION["ProposedRelationship"], "scope", ""),
    ("evidence_refs_per_relationship", SUBMISSION["ProposedRelationship"], "evidence", ""),
    ("comment", SUBMISSION["ProposedRelationship"], "comment", ""),
    ("quote", SUBMISSION["Citation"], "quote", ""),
    ("query", RECALL["RecallRequest"], "query", ""),
    ("recall_limit", RECALL["RecallRequest"], "limit", ""),
    ("page_token", RECALL["TraceRequest"], "page_token", ""),
    ("review_period", ADMIN["UpdateTeamPolicyRequest"], "review_period_days", ""),
    ("review_start", ADMIN["UpdateTeamPolicyRequest"], "review_start_minute", ""),
    ("key_overlap", ADMIN["RotateKeyRequest"], "overlap_seconds", ""),
    ("source_group", SOURCE["SourceDefinition"], "source_group", ""),
    ("source_key", SOURCE["SourceDefinition"], "source_key", ""),
    ("speakers_per_source", SOURCE["SourceDefinition"], "speaker_profile_ids", ""),
    ("predicates_per_source", SOURCE["SourceDefinition"], "authoritative_for", ""),
    ("predicate_key", SOURCE["SourceDefinition"], "authoritative_for", "items"),
]

GREATEST = {Unit.ITEMS: "max_items", Unit.BYTES: "max_bytes", Unit.CODE_POINTS: "max_code_points"}
LEAST = {Unit.ITEMS: "min_items", Unit.BYTES: "min_bytes", Unit.CODE_POINTS: "min_code_points"}


@pytest.mark.parametrize(
    ("name", "message", "field", "part"), BOUNDS, ids=[f"{b[1].name}.{b[2]}.{b[3]}" for b in BOUNDS]
)
def test_a_field_has_the_figures_of_its_bound(name: str, message: Descriptor, field: str, part: str) -> None:
    limit = decide_limit(name)
    rules = message.fields_by_name[field].GetOptions().Extensions[rules_pb2.rules]
    of_part = getattr(rules, part) if part else rules
    assert getattr(of_part, GREATEST.get(limit.unit, "maximum")) == limit.greatest
    least = getattr(of_part, LEAST.get(limit.unit, "minimum"))
    assert (1 if of_part.required else least) == limit.least


# What is tried here: the greatest and the least figure are taken, one beyond is not.

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CALLER = Caller(team_id=TeamId("t"), profile_id=ProfileId("p"), key_id=KeyId("k"), scopes=frozenset())


def refuses(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (Refusal, ValueError):
        return True
    return False


async def try_stream_items_per_transaction(greatest: int) -> None:
    inbox: Inbox[int] = Inbox(items_max=ITEMS_WAITING, bytes_max=BYTES_WAITING)
    for number in range(greatest):
        await inbox.put(number, 1)
    assert len(await inbox.first(ITEMS_PER_COMMIT, BYTES_WAITING)) == greatest
    await inbox.put(greatest, 1)
    assert len(await inbox.first(ITEMS_PER_COMMIT, BYTES_WAITING)) == greatest


async def is_held_back(inbox: Inbox[int], size_bytes: int) -> bool:
    putting = asyncio.ensure_future(inbox.put(0, size_bytes))
    for _ in range(10):
        await asyncio.sleep(0)
    held_back = not putting.done()
    putting.cancel()
    return held_back


async def try_stream_items_waiting(greatest: int) -> None:
    inbox: Inbox[int] = Inbox(items_max=ITEMS_WAITING, bytes_max=BYTES_WAITING)
    for _ in range(greatest):
        assert not await is_held_back(inbox, 1)
    assert await is_held_back(inbox, 1)


async def try_stream_bytes_waiting(greatest: int) -> None:
    inbox: Inbox[int] = Inbox(items_max=ITEMS_WAITING, bytes_max=BYTES_WAITING)
    assert not await is_held_back(inbox, greatest - 1)
    assert await is_held_back(inbox, 2)
    assert not await is_held_back(inbox, 1)
    assert await is_held_back(inbox, 1)


async def try_stream_idle(greatest: int) -> None:
    """That a stream ends after it is tried with a shorter one, in tests/unit/test_remember_stream.py."""
    assert greatest == IDLE_SECONDS


class Clock:
    """A clock that a trial moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


MOMENT = timedelta(microseconds=1)


async def try_impact_token_lifetime(greatest: int) -> None:
    clock = Clock()
    tokens = ImpactTokens(bytes(32), now=clock)
    token, _ = tokens.issued(CALLER, Impact(digest="d", entity_id=EntityId("e")))
    clock.now = NOW + timedelta(seconds=greatest) - MOMENT
    assert tokens.impact_of(token, CALLER).digest == "d"
    clock.now += MOMENT
    assert refuses(lambda: tokens.impact_of(token, CALLER))


async def try_preflight_token_lifetime(greatest: int) -> None:
    clock = Clock()
    tokens = VerificationTokens(bytes(32), now=clock)
    proposal = ProposalToVerify(
        proposal_id=ProposalId("p"),
        subject=MentionedEntity(names=("a",)),
        predicate=PredicateWords(key=PredicateKey("is")),
        object=MentionedEntity(names=("b",)),
        cited=(),
    )
    request = VerificationRequest(evidence=(), proposals=(proposal,))
    finding = Finding(proposal_id=ProposalId("p"), verdict=VerificationVerdict.INSUFFICIENT, reason="no")
    issued = tokens.issued(CALLER, request, VerifierAnswer(verifier="v", findings=(finding,)))
    assert issued is not None
    clock.now = NOW + timedelta(seconds=greatest) - MOMENT
    assert tokens.answer_of(issued.token, CALLER, request) is not None
    clock.now += MOMENT
    assert tokens.answer_of(issued.token, CALLER, request) is None


async def try_page_size(greatest: int) -> None:
    assert [decide_page_size(size) for size in (1, greatest, greatest + 1)] == [1, greatest, greatest]


async def try_year(greatest: int) -> None:
    assert decide_instant(f"{greatest}-12-31T23:59:59.999999Z", field="at").year == greatest
    assert decide_instant("0001-01-01T00:00:00Z", field="at").year == 1
    assert refuses(lambda: decide_instant(f"{greatest + 1}-01-01T00:00:00Z", field="at"))
    assert refuses(lambda: decide_instant("0000-12-31T23:59:59Z", field="at"))
    for text in (f"{greatest}-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"):
        instant = Timestamp()
        instant.FromJsonString(text)
        assert check_timestamp(instant) is None
        instant.seconds += 1 if instant.seconds > 0 else -1
        assert check_timestamp(instant) is not None


async def try_verifier_retries(greatest: int) -> None:
    for retries, refused in ((0, False), (greatest, False), (greatest + 1, True), (-1, True)):
        assert refuses(partial(Patience, call_timeout_seconds=1.0, retries=retries)) is refused


async def try_judge_other_statements(greatest: int) -> None:
    side = JudgedSide(
        relationship_id=RelationshipId("r"),
        value="v",
        polarity=Polarity.POSITIVE,
        start=None,
        end=None,
        stated_start=None,
        witness_at=NOW,
        recorded_at=NOW,
    )

    def question(others: int) -> JudgeQuestion:
        shown = ("another",) * others
        return JudgeQuestion(item_id=ItemId("i"), item_version=1, incoming=side, opposing=side, others=shown)

    assert len(question(greatest).others) == greatest
    assert refuses(lambda: question(greatest + 1))


async def try_scanned_slots_per_commit(greatest: int) -> None:
    """The field counts what a commit looks at: it is a number, and no list."""
    for slots, kept in ((1, True), (greatest, True), (0, False), (greatest + 1, False)):
        request = admin_service_pb2.ScanConflictsRequest(idempotency_key="k", slots_per_commit=slots)
        assert (find_breaches(request) == ()) is kept


Trial = Callable[[int], Coroutine[Any, Any, None]]
TRIALS: dict[str, Trial] = {
    "stream_items_per_transaction": try_stream_items_per_transaction,
    "stream_items_waiting": try_stream_items_waiting,
    "stream_bytes_waiting": try_stream_bytes_waiting,
    "stream_idle": try_stream_idle,
    "impact_token_lifetime": try_impact_token_lifetime,
    "preflight_token_lifetime": try_preflight_token_lifetime,
    "page_size": try_page_size,
    "year": try_year,
    "verifier_retries": try_verifier_retries,
    "scanned_slots_per_commit": try_scanned_slots_per_commit,
    "judge_other_statements": try_judge_other_statements,
}


@pytest.mark.parametrize("name", TRIALS)
async def test_a_bound_outside_of_the_fields_is_kept(name: str) -> None:
    await TRIALS[name](decide_limit(name).greatest)


# What is tried elsewhere: it needs a server, a whole case or a descriptor.
ELSEWHERE = {
    "message": "integration/test_rpc_server.py::test_a_message_has_at_most_its_bound_in_bytes",
    "deadline": "integration/test_rpc_server.py::test_a_caller_asks_for_no_more_time_than_the_greatest_deadline",
    "read_mask_paths": "unit/test_read_masks.py::test_so_many_paths_and_no_more",
    "positions_shown": "e2e/test_explain_conflict_on_the_wire.py::test_pages_of_a_case_hold_what_it_leaves_out",
}
ROOT = Path(__file__).parents[2]


@pytest.mark.promise("answer.bounds", "Q18")
def test_every_bound_has_a_trial() -> None:
    """A use case that names its bound to `may_offer` is tried there: tests/unit/test_limits.py offers each figure."""
    sources = [path.read_text() for part in ("libs/core/src", "services") for path in (ROOT / part).rglob("*.py")]
    offered = {one.name for one in LIMITS if any(f'may_offer("{one.name}", ' in source for source in sources)}
    for place in ELSEWHERE.values():
        path, _, test = place.partition("::")
        assert f"def {test}(" in (ROOT / "tests" / path).read_text(), place
    tried = {name for name, *_ in BOUNDS} | TRIALS.keys() | ELSEWHERE.keys() | offered
    assert {one.name for one in LIMITS} - tried == set()
    assert tried <= {one.name for one in LIMITS}
