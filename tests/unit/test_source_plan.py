"""What a submission may leave behind: the bound of one commit, and what comes with a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, SourceType
from corrigenda_core.domain.ids import EntityId, FragmentId, IdempotencyKey, PredicateKey, ProfileId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.sources import FragmentSource, RetirementReason, SourceClaim
from corrigenda_core.domain.submissions import EvidenceInput, Submission
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.persistence.ingest_store import SubmissionFacts
from corrigenda_core.policy.limits import decide_limit
from corrigenda_ingest.preparation import prepared_submission
from corrigenda_ingest.requirements import require_plain_evidence
from corrigenda_ingest.source_plan import SourcePlan, require_bounded

ANN = ProfileId("ann")
SLOTS = decide_limit("slots_per_source_change").greatest
SUPPORTS = decide_limit("supports_per_source_change").greatest


def facts(*, slots: int = 0, fragments: int = 0) -> SubmissionFacts:
    by = Predicate(key=PredicateKey("tier"))
    claim = SourceClaim(author=ANN, source_key="doc", source_revision="r1")
    return SubmissionFacts(
        policy=TeamPolicy(),
        profile_name="ann",
        predicates={},
        entities=(),
        names={},
        own_fragments=(),
        origins={},
        cases={},
        targets={},
        items={},
        asked_phrases={},
        registry=(),
        source_states={},
        leaving=tuple(FragmentSource(fragment_id=FragmentId(f"f{n}"), claim=claim) for n in range(fragments)),
        touched={Slot(subject_id=EntityId(f"e{n}"), predicate=by.key): by for n in range(slots)},
    )


@pytest.mark.rule("R2.5")
@pytest.mark.parametrize(
    ("slots", "fragments", "bound"),
    [
        (SLOTS, SUPPORTS, None),
        (SLOTS + 1, 1, "slots_per_source_change"),
        (1, SUPPORTS + 1, "supports_per_source_change"),
    ],
)
def test_what_one_commit_can_decide_again(slots: int, fragments: int, bound: str | None) -> None:
    seen = facts(slots=slots, fragments=fragments)
    require_bounded(SourcePlan(), seen)
    moving_on = SourcePlan(left_behind=(FragmentId("f0"),))
    if bound is None:
        require_bounded(moving_on, seen)
        return
    with pytest.raises(Refusal) as refused:
        require_bounded(moving_on, seen)
    assert (refused.value.reason, refused.value.metadata["bound"]) == (Reason.TOO_MANY_ITEMS, bound)


def test_each_fragment_is_retired_once_and_its_source_goes_before_its_author() -> None:
    plan = SourcePlan(left_behind=(FragmentId("b"),), superseded=((1, FragmentId("b")), (0, FragmentId("a"))))
    retired = plan.retired([FragmentId("new 0"), FragmentId("new 1")])
    assert [(one.fragment_id, one.reason, one.superseded_by) for one in retired] == [
        ("a", RetirementReason.SUPERSEDED_BY_AUTHOR, "new 0"),
        ("b", RetirementReason.REVISION_SUPERSEDED, None),
    ]


PLAIN = EvidenceInput(content="a text", source_type=SourceType.MANUAL, authority=Authority.UNKNOWN)


@pytest.mark.rule("R2.9")
@pytest.mark.parametrize(
    "given",
    [
        replace(PLAIN, source_key="doc", source_revision="r1"),
        replace(PLAIN, supersedes_fragment_ids=(FragmentId("f0"),)),
    ],
)
def test_evidence_of_a_decision_moves_no_source_on(given: EvidenceInput) -> None:
    prepared = prepared_submission(Submission(evidence=(given,), idempotency_key=IdempotencyKey("k")))
    with pytest.raises(Refusal) as refused:
        require_plain_evidence(prepared, facts(), author_id=ANN)
    assert refused.value.reason is Reason.INVALID_FIELD
    assert refused.value.field.startswith("evidence[0].")
