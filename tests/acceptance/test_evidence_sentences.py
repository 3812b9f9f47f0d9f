"""Sentences of the demonstration and of the contracts, read by the verifier and the time reader that a service uses."""

import pytest
from corrigenda_core.config import VerifierSettings
from corrigenda_core.domain.ids import PredicateKey, ProposalId
from corrigenda_core.domain.time import Side, TextSpan
from corrigenda_core.domain.verification import CitedSpan, VerificationVerdict
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.ports.providers import (
    EvidenceText,
    Finding,
    MentionedEntity,
    PredicateWords,
    ProposalToVerify,
    VerificationRequest,
    VerifierAnswer,
)
from corrigenda_core.providers.selection import make_verifier

ENTAILED, CONTRADICTED, INSUFFICIENT = VerificationVerdict
VERIFIER = make_verifier(VerifierSettings(), decide_time_bounds)


async def read(content: str, branch: str, zone: str = "Europe/Berlin") -> Finding:
    request = VerificationRequest(
        evidence=(EvidenceText(content=content),),
        proposals=(
            ProposalToVerify(
                proposal_id=ProposalId("p1"),
                subject=MentionedEntity(names=("production",), kind="environment"),
                predicate=PredicateWords(key=PredicateKey("deploys_from")),
                object=MentionedEntity(names=(branch,), kind="git_branch"),
                cited=(CitedSpan(evidence_index=0, span=TextSpan(start=0, end=len(content))),),
            ),
        ),
        time_zone=zone,
    )
    answer = await VERIFIER.verify(request)
    assert isinstance(answer, VerifierAnswer)
    (finding,) = answer.findings
    return finding


@pytest.mark.parametrize(
    ("content", "branch", "verdict", "bounds"),
    [
        ("production deploys from main", "main", ENTAILED, []),
        ("since 1 March 2026 production deploys from release", "release", ENTAILED, [("start", "2026-02-28T23:00")]),
        ("Our release checklist confirms: production deploys from release.", "release", ENTAILED, []),
        ("The user confirmed that production now deploys from release.", "release", ENTAILED, []),
        ("the release branch was discussed on Monday", "release", INSUFFICIENT, []),
        ("production no longer deploys from main", "main", CONTRADICTED, []),
        ("As of 2026-03-01, production deploys from release.", "release", ENTAILED, [("start", "2026-02-28T23:00")]),
        ("production deployed from main until March 2026", "main", ENTAILED, [("end", "2026-02-28T23:00")]),
        ("Between Q1 2026 and Q2 2026 production deployed from main.", "main", ENTAILED,
         [("start", "2025-12-31T23:00"), ("end", "2026-06-30T22:00")]),
        ("production has deployed from main since early 2026", "main", ENTAILED, []),
        ("production deploys from 2026-03-01", "2026-03-01", ENTAILED, []),
        ("since 1 March 2026 production might deploy from release", "release", INSUFFICIENT, []),
    ],
)  # fmt: skip
async def test_sentences(
    content: str, branch: str, verdict: VerificationVerdict, bounds: list[tuple[str, str]]
) -> None:
    finding = await read(content, branch)
    assert finding.verdict is verdict
    found = [(cited.bound.side.value, cited.bound.at.isoformat()[:16]) for cited in finding.bounds]
    assert found == bounds


@pytest.mark.promise("time.words")
@pytest.mark.parametrize(
    ("zone", "start"),
    [("UTC", "2026-03-01T00:00"), ("Asia/Tokyo", "2026-02-28T15:00"), ("America/New_York", "2026-03-01T05:00")],
)
async def test_a_day_is_the_team_s_day(zone: str, start: str) -> None:
    finding = await read("since 1 March 2026 production deploys from release", "release", zone)
    (cited,) = finding.bounds
    assert (cited.bound.side, cited.bound.at.isoformat()[:16]) == (Side.START, start)
