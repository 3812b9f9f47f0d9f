"""Every bound of the product as one table: name, unit, least and greatest value, and how a breach is refused."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.errors import Reason, Refusal


class Unit(StrEnum):
    """What a bound counts; it decides how a breach is refused."""

    ITEMS = "items"
    RESULTS = "results"
    BYTES = "bytes"
    CODE_POINTS = "code_points"
    DAYS = "days"
    MINUTES = "minutes"
    SECONDS = "seconds"
    ATTEMPTS = "attempts"
    YEARS = "years"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One bound: ``least <= value <= greatest`` in ``unit``.

    ``default`` is what an absent value means; 0 where it has no meaning of its own.
    """

    name: str
    unit: Unit
    greatest: int
    least: int = 0
    default: int = 0

    @property
    def breach(self) -> Reason:
        """The reason with which a value above the bound is refused."""
        match self.unit:
            case Unit.ITEMS:
                return Reason.TOO_MANY_ITEMS
            case Unit.BYTES | Unit.CODE_POINTS:
                return Reason.TOO_LARGE
            case _:
                return Reason.INVALID_FIELD


LIMITS: tuple[Limit, ...] = (
    # --- evidence
    Limit(name="evidence_per_call", unit=Unit.ITEMS, least=1, greatest=20),
    Limit(name="content", unit=Unit.BYTES, least=1, greatest=64 * 1024),
    Limit(name="labels_per_evidence", unit=Unit.ITEMS, greatest=20),
    Limit(name="label", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="source_group", unit=Unit.CODE_POINTS, greatest=256),
    Limit(name="source_key", unit=Unit.CODE_POINTS, greatest=256),
    Limit(name="source_revision", unit=Unit.CODE_POINTS, greatest=128),
    Limit(name="superseded_fragments_per_evidence", unit=Unit.ITEMS, greatest=20),
    Limit(name="origins_per_evidence", unit=Unit.ITEMS, greatest=20),
    # --- a proposal
    Limit(name="entities_per_proposal", unit=Unit.ITEMS, greatest=100),
    Limit(name="relationships_per_proposal", unit=Unit.ITEMS, least=1, greatest=200),
    Limit(name="aliases_per_entity", unit=Unit.ITEMS, greatest=20),
    Limit(name="name", unit=Unit.CODE_POINTS, least=1, greatest=256),
    Limit(name="entity_kind", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="context_entries_per_entity", unit=Unit.ITEMS, greatest=20),
    Limit(name="context_key", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="context_value", unit=Unit.CODE_POINTS, least=1, greatest=256),
    Limit(name="reference_name", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="predicate_phrase", unit=Unit.CODE_POINTS, least=1, greatest=128),
    Limit(name="evidence_refs_per_relationship", unit=Unit.ITEMS, least=1, greatest=20),
    Limit(name="quote", unit=Unit.CODE_POINTS, least=1, greatest=4096),
    Limit(name="scope", unit=Unit.CODE_POINTS, greatest=128),
    Limit(name="comment", unit=Unit.CODE_POINTS, greatest=1024),
    # --- a submission as a whole
    Limit(name="idempotency_key", unit=Unit.BYTES, least=1, greatest=128),
    Limit(name="metadata_entries", unit=Unit.ITEMS, greatest=20),
    Limit(name="metadata_key", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="metadata_value", unit=Unit.CODE_POINTS, greatest=512),
    Limit(name="stream_items_per_transaction", unit=Unit.ITEMS, least=1, greatest=100),
    Limit(name="stream_items_waiting", unit=Unit.ITEMS, least=1, greatest=200),
    Limit(name="stream_bytes_waiting", unit=Unit.BYTES, greatest=8 * 1024 * 1024),
    Limit(name="stream_idle", unit=Unit.SECONDS, greatest=180),
    # --- a registered source, and what one commit decides again while the team waits
    Limit(name="speakers_per_source", unit=Unit.ITEMS, greatest=100),
    Limit(name="predicates_per_source", unit=Unit.ITEMS, greatest=200),
    Limit(name="predicate_key", unit=Unit.CODE_POINTS, least=1, greatest=64),
    Limit(name="slots_per_source_change", unit=Unit.ITEMS, greatest=500),
    Limit(name="supports_per_source_change", unit=Unit.ITEMS, greatest=10_000),
    # --- a correction of identity, which folds again while the team waits
    Limit(name="observations_per_identity_correction", unit=Unit.ITEMS, greatest=2_000),
    Limit(name="slots_per_identity_correction", unit=Unit.ITEMS, greatest=200),
    Limit(name="impact_token_lifetime", unit=Unit.SECONDS, least=1, greatest=600, default=600),
    # --- a read
    Limit(name="query", unit=Unit.CODE_POINTS, least=1, greatest=512),
    Limit(name="recall_limit", unit=Unit.RESULTS, least=1, greatest=50),
    Limit(name="read_mask_paths", unit=Unit.ITEMS, greatest=64),
    Limit(name="positions_shown", unit=Unit.RESULTS, greatest=10),
    Limit(name="page_size", unit=Unit.RESULTS, least=1, greatest=200, default=50),
    Limit(name="page_token", unit=Unit.BYTES, greatest=1024),
    Limit(name="year", unit=Unit.YEARS, least=1, greatest=9999),
    # --- a call
    Limit(name="message", unit=Unit.BYTES, greatest=4 * 1024 * 1024),
    Limit(name="deadline", unit=Unit.SECONDS, greatest=180, default=30),
    # --- verification and judgement
    Limit(name="verifier_retries", unit=Unit.ATTEMPTS, greatest=3),
    Limit(name="verification_token", unit=Unit.BYTES, greatest=64 * 1024),
    Limit(name="preflight_token_lifetime", unit=Unit.SECONDS, least=1, greatest=600, default=600),
    Limit(name="judge_other_statements", unit=Unit.ITEMS, greatest=6),
    # --- a team's policy
    Limit(name="review_period", unit=Unit.DAYS, least=1, greatest=30, default=7),
    Limit(name="review_start", unit=Unit.MINUTES, greatest=24 * 60 - 1, default=120),
    # Deadlines and nights follow the clock, and so does every commit: they need room on both sides of it.
    Limit(name="driven_year", unit=Unit.YEARS, least=2, greatest=9998),
    # --- administration
    Limit(name="scanned_slots_per_commit", unit=Unit.ITEMS, least=1, greatest=100, default=20),
    Limit(name="key_overlap", unit=Unit.SECONDS, greatest=30 * 86_400, default=86_400),
)

_BY_NAME = {limit.name: limit for limit in LIMITS}


def decide_limit(name: str) -> Limit:
    """The bound of this name.

    Raises:
        KeyError: there is none; the names are known when the code is written.
    """
    return _BY_NAME[name]


def is_within(limit: Limit, offered: int) -> bool:
    """Whether a value keeps the bound."""
    return limit.least <= offered <= limit.greatest


def may_offer(name: str, offered: int, *, field: str) -> None:
    """Checks a value against a bound.

    Args:
        name: the bound.
        offered: the value, in the unit of the bound.
        field: path of the field that has it.

    Raises:
        Refusal: above the bound TOO_MANY_ITEMS for items, TOO_LARGE for text and INVALID_FIELD else, below it
            INVALID_FIELD; the metadata names the bound, the offered and the allowed figure.
    """
    limit = decide_limit(name)
    if is_within(limit, offered):
        return
    above = offered > limit.greatest
    allowed = limit.greatest if above else limit.least
    raise Refusal(
        limit.breach if above else Reason.INVALID_FIELD,
        f"{name} is at {'most' if above else 'least'} {allowed} {limit.unit.value}, not {offered}",
        field=field,
        metadata={"bound": name, "offered": str(offered), "allowed": str(allowed)},
    )


def may_offer_text(name: str, text: str, *, field: str) -> None:
    """Checks the length of a text against a bound in bytes of UTF-8 or in code points.

    Raises:
        Refusal: as `may_offer`.
        ValueError: the bound is not one of texts.
    """
    match decide_limit(name).unit:
        case Unit.BYTES:
            may_offer(name, len(text.encode()), field=field)
        case Unit.CODE_POINTS:
            may_offer(name, len(text), field=field)
        case unit:
            raise ValueError(f"{name} bounds {unit.value}, not a text")


def may_offer_items(name: str, items: Sized, *, field: str) -> None:
    """Checks the number of items against a bound.

    Raises:
        Refusal: as `may_offer`.
    """
    may_offer(name, len(items), field=field)


def decide_page_size(requested: int) -> int:
    """The page size that a request gets: the default for none, and never more than a page holds."""
    limit = decide_limit("page_size")
    return min(requested, limit.greatest) if requested > 0 else limit.default
