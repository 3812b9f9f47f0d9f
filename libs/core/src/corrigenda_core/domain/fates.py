"""Fates of statements: what became of what a source said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.verification import Modality, VerificationVerdict


class Fate(StrEnum):
    """What became of one thing that a source said; every one has exactly one fate."""

    STANDS = "stands"
    ENDED = "ended"
    SUPERSEDED = "superseded"
    COMPETING = "competing"
    OVERTAKEN = "overtaken"
    HELD = "held"
    OVERRULED = "overruled"
    DISCARDED = "discarded"
    CORRECTED = "corrected"
    MERGED = "merged"
    RETRACTED = "retracted"
    REJECTED = "rejected"
    PENDING = "pending"
    QUARANTINED = "quarantined"
    OBSERVED = "observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedBy:
    """The row that carries a statement, as far as it says what became of that.

    ``living`` says whether its validity is not empty, ``ended`` whether its end has come, ``asked`` whether a pending
    question names it. ``won``, ``lost`` and ``disputed`` say whether it stands on the winning position of a resolved
    case, on a losing one, or in a live case.
    """

    status: Status
    living: bool = True
    ended: bool = False
    asked: bool = False
    won: bool = False
    lost: bool = False
    disputed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedObservation:
    """Something that a source said, as a view knows it.

    ``effective`` says whether a text of the source still supports it; ``removal`` is the decision that has taken it out
    of its timeline and stands. Nothing carries it (``row`` is ``None``) while it is not entailed, or nobody knows which
    entity or predicate it means.
    """

    modality: Modality
    verdict: VerificationVerdict | None = None
    effective: bool = True
    removal: RemovalReason | None = None
    row: CarriedBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHistory:
    """How often what a source said met which fate: ``fates`` sums up to ``total``.

    ``won``, ``lost`` and ``disputed`` count what took part in team cases, whatever became of it afterwards. It is
    advice to people: no rule reads it.
    """

    total: int
    fates: Mapping[Fate, int]
    won: int = 0
    lost: int = 0
    disputed: int = 0
