"""The questions that unknown phrases raise: one for each phrase of an owner, for everything that waits for it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from corrigenda_core.domain.ids import IngestId, ItemId, PredicateKey, ProfileId, StatementId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.time import Instant

from corrigenda_ingest.submission import BoundRelationship, FragmentAnswer

WAITING_MAX = 200
"""How many observations one question is about at most; the next one that uses the phrase raises another question."""

_WAITING, _SAID = "observation_ids", "said"

Waiting = tuple[StatementId, str]
"""An observation that waits for the answer, and the digest of what it says and where (`said_of`)."""


def said_of(bound: BoundRelationship, fragments: Sequence[FragmentAnswer]) -> str:
    """The same text for what is said again in the same passages of the same texts, in 32 hexadecimal digits."""
    given = bound.prepared.given
    passages = [
        f"{fragments[cited.evidence_index].fragment_id} {cited.span.start} {cited.span.end}" for cited in given.spans
    ]
    ends = (bound.subject_id or given.subject_ref, "" if bound.object is None else bound.object.key)
    parts = (*sorted(passages), bound.prepared.form, bound.prepared.scope, given.polarity, given.modality, *ends)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def opened_question(
    item_id: ItemId,
    *,
    owner_id: ProfileId,
    ingest_id: IngestId,
    phrase: str,
    form: PredicateKey,
    closest: Sequence[PredicateKey],
    waiting: Waiting,
    at: Instant,
) -> ReviewItem:
    """The question which registered predicate a phrase means."""
    return ReviewItem(
        item_id=item_id,
        version=1,
        kind=ItemKind.PREDICATE,
        status=ItemStatus.PENDING,
        owner_id=owner_id,
        reason="unknown_predicate",
        ingest_id=ingest_id,
        statement_id=waiting[0],
        details=(
            ("closest_predicates", " ".join(closest)),
            ("form", form),
            (_WAITING, waiting[0]),
            ("phrase", phrase),
            (_SAID, waiting[1]),
        ),
        opened_at=at,
    )


def joined_question(item: ReviewItem, waiting: Waiting) -> ReviewItem:
    """The question with one more observation that waits for its answer, which is a new version of it."""
    details = dict(item.details)
    details[_WAITING] = f"{details[_WAITING]} {waiting[0]}"
    details[_SAID] = f"{details[_SAID]} {waiting[1]}"
    return replace(item, version=item.version + 1, details=tuple(sorted(details.items())))


def waiting_observations(item: ReviewItem) -> tuple[StatementId, ...]:
    """The observations that wait for the answer to a question about a phrase."""
    return tuple(StatementId(one) for one in dict(item.details).get(_WAITING, "").split())


def repeated_observation(item: ReviewItem, said: str) -> StatementId | None:
    """The waiting observation that says the same in the same passages, if there is one."""
    digests = dict(item.details).get(_SAID, "").split()
    return next((one for one, digest in zip(waiting_observations(item), digests, strict=True) if digest == said), None)


def is_full(item: ReviewItem) -> bool:
    """Whether a question takes no more observations."""
    return len(waiting_observations(item)) >= WAITING_MAX


def proposed_question(
    item: ReviewItem, item_id: ItemId, *, administrator: ProfileId, reason: str, proposed: str, at: Instant
) -> ReviewItem:
    """The question to an administrator whether a phrase is to be registered, for everything that waits for that.

    It has no form: what the administrator says in the same words is a question of their own.
    """
    details = {name: text for name, text in item.details if name != "form"}
    details["proposed"] = proposed or details["phrase"]
    return replace(
        item,
        item_id=item_id,
        version=1,
        status=ItemStatus.PENDING,
        owner_id=administrator,
        reason=reason,
        details=tuple(sorted(details.items())),
        decision_id=None,
        opened_at=at,
    )


def without_observations(item: ReviewItem, gone: Collection[StatementId]) -> ReviewItem | None:
    """The question without observations that nobody asks about any more; ``None`` if nothing waits for it then."""
    details = dict(item.details)
    digests = details.get(_SAID, "").split()
    left = [(one, digest) for one, digest in zip(waiting_observations(item), digests, strict=True) if one not in gone]
    if not left:
        return None
    details[_WAITING] = " ".join(one for one, _ in left)
    details[_SAID] = " ".join(digest for _, digest in left)
    statement_id = left[0][0]
    return replace(item, version=item.version + 1, statement_id=statement_id, details=tuple(sorted(details.items())))
