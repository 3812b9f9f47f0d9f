"""Verification tokens: they keep a verifier's answer between a preflight and the submission that follows it."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ProposalId
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import Instant, Side, TextSpan, TimeBound, WholeInterval
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.ports.providers import CitedBound, Finding, VerificationRequest, VerifierAnswer
from corrigenda_core.rpc.sealed_tokens import TokenSeal

LIFETIME = timedelta(seconds=decide_limit("preflight_token_lifetime").default)
TOKEN_BYTES_MAX = decide_limit("verification_token").greatest

FIELD = "verification_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token and until when it is good."""

    token: str
    expires_at: Instant


class VerificationTokens:
    """Issues and reads the tokens of one service: they keep an answer for ten minutes (R10.2).

    A token is bound to its caller by the seal, and to what the verifier was asked by a digest: the same texts, the same
    proposals, the same predicates and the same candidates. A server keeps nothing of it, so every replica can read it.

    Args:
        key: the secret that seals, at least 32 bytes.
        now: the real time, by which tokens expire.
    """

    def __init__(self, key: bytes, *, now: Callable[[], Instant]) -> None:
        self._seal = TokenSeal(key, purpose="verification")
        self._now = now

    def issued(self, caller: Caller, request: VerificationRequest, answer: VerifierAnswer) -> IssuedToken | None:
        """A token for an answer, or ``None`` if the answer says nothing, or more than a token holds."""
        if not answer.findings:
            return None
        expires_at = self._now() + LIFETIME
        kept = {
            "expires_at": expires_at.isoformat(),
            "request": _digest(request),
            "verifier": answer.verifier,
            "findings": [_kept(finding) for finding in answer.findings],
        }
        token = self._seal.sealed(zlib.compress(json.dumps(kept).encode()), caller)
        return IssuedToken(token=token, expires_at=expires_at) if len(token) <= TOKEN_BYTES_MAX else None

    def answer_of(self, token: str, caller: Caller, request: VerificationRequest) -> VerifierAnswer | None:
        """The answer that a token keeps, or ``None`` if it has expired or answers another request.

        Raises:
            Refusal: INVALID_FIELD if the token is damaged, or was not given to this caller; which, is not told.
        """
        body = self._seal.opened(token, caller)
        if body is None:
            raise Refusal(Reason.INVALID_FIELD, "the verification token was not given to this caller", field=FIELD)
        # The seal proves that this very body was written by `issued`.
        kept = json.loads(zlib.decompress(body))
        if datetime.fromisoformat(kept["expires_at"]) <= self._now() or kept["request"] != _digest(request):
            return None
        return VerifierAnswer(verifier=kept["verifier"], findings=tuple(_finding(one) for one in kept["findings"]))


def _digest(request: VerificationRequest) -> str:
    return hashlib.sha256(json.dumps(asdict(request), default=str, sort_keys=True).encode()).hexdigest()


def _kept(finding: Finding) -> dict[str, object]:
    return {
        "proposal_id": finding.proposal_id,
        "verdict": finding.verdict,
        "reason": finding.reason,
        "polarity": finding.found_polarity,
        "modality": finding.found_modality,
        "bounds": [
            {
                "index": cited.evidence_index,
                "side": cited.bound.side,
                "from": cited.bound.whole.start.isoformat(),
                "to": cited.bound.whole.end.isoformat(),
                "at": cited.bound.at.isoformat(),
                "span": [cited.bound.span.start, cited.bound.span.end],
            }
            for cited in finding.bounds
        ],
    }


def _finding(kept: dict[str, Any]) -> Finding:
    return Finding(
        proposal_id=ProposalId(kept["proposal_id"]),
        verdict=VerificationVerdict(kept["verdict"]),
        reason=kept["reason"],
        bounds=tuple(_bound(one) for one in kept["bounds"]),
        found_polarity=None if kept["polarity"] is None else Polarity(kept["polarity"]),
        found_modality=None if kept["modality"] is None else Modality(kept["modality"]),
    )


def _bound(kept: dict[str, Any]) -> CitedBound:
    start, end = kept["span"]
    return CitedBound(
        evidence_index=kept["index"],
        bound=TimeBound(
            side=Side(kept["side"]),
            whole=WholeInterval(start=datetime.fromisoformat(kept["from"]), end=datetime.fromisoformat(kept["to"])),
            at=datetime.fromisoformat(kept["at"]),
            span=TextSpan(start=start, end=end),
        ),
    )
