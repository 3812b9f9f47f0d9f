"""Verdicts as rows: what a verifier found about one observation, kept for good."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda_core.domain.ids import FragmentId, StatementId
from corrigenda_core.domain.verification import VerificationVerdict
from corrigenda_core.ports.providers import CitedBound, Finding


def verdict_row(
    finding: Finding,
    *,
    verification_id: str,
    observation_id: StatementId,
    verifier: str,
    fragment_ids: Sequence[FragmentId],
) -> dict[str, object]:
    """A row of ``verification_events``; ``fragment_ids`` are those of the texts that were verified, in their order."""
    return {
        "verification_id": verification_id,
        "observation_id": observation_id,
        "verdict": VerificationVerdict(finding.verdict),
        "reason": finding.reason,
        "verifier": verifier,
        "bounds": [_bound(cited, fragment_ids[cited.evidence_index]) for cited in finding.bounds],
    }


def _bound(cited: CitedBound, fragment_id: FragmentId) -> dict[str, object]:
    bound = cited.bound
    return {
        "fragment_id": fragment_id,
        "side": bound.side,
        "from": bound.whole.start.isoformat(),
        "to": bound.whole.end.isoformat(),
        "at": bound.at.isoformat(),
        "start": bound.span.start,
        "end": bound.span.end,
    }
