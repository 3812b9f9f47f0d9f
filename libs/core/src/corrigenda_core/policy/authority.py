"""What a source is allowed to say, and what its word is worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, SourceType, SupportDecision
from corrigenda_core.domain.ids import FragmentId, PredicateKey, ProfileId
from corrigenda_core.domain.sources import (
    AnyProfile,
    EveryPredicate,
    FragmentSource,
    GrantedAuthority,
    OnlyPredicates,
    OnlyProfiles,
    RegisteredSource,
    SourceClaim,
    SourceState,
)

NOTE_AUTHORITY_LOWERED = "authority_lowered"
NOTE_STORED_AS_MANUAL = "stored_as_manual"
REASON_REGISTRY_CHANGED = "source_registry_changed"


def is_speaker(author: ProfileId, source: RegisteredSource) -> bool:
    """Whether the registry lets the author speak for this source."""
    match source.speakers:
        case AnyProfile():
            return True
        case OnlyProfiles(profiles=profiles):
            return author in profiles
        case never:
            assert_never(never)


def may_use_source(claim: SourceClaim, registry: Iterable[RegisteredSource], state: SourceState | None) -> None:
    """Checks that the author may use the group and the key it names (R2.4).

    Every registered source that has this group or this key must let the author speak. A key that is not registered
    belongs to its first user.

    Args:
        claim: where the fragment says that it comes from.
        registry: the team's registered sources.
        state: where the claimed key stands, ``None`` if nobody has used it yet.

    Raises:
        Refusal: SOURCE_NOT_ALLOWED naming the group or the key.
    """
    key_registered = False
    for source in registry:
        for field, name, used in (
            ("source_key", source.source_key, claim.source_key),
            ("source_group", source.source_group, claim.source_group),
        ):
            if name is not None and name == used:
                key_registered = key_registered or field == "source_key"
                if not is_speaker(claim.author, source):
                    raise _not_allowed(field, name)
    if state is not None and not key_registered and state.first_user != claim.author:
        raise _not_allowed("source_key", state.source_key)


def decide_registered_labels(author: ProfileId, registry: Iterable[RegisteredSource]) -> frozenset[str]:
    """The labels ``group:x`` and ``key:y`` that a registry entry lets the author speak for (policy/independence.py)."""
    spoken_for = [source for source in registry if is_speaker(author, source)]
    groups = {f"group:{source.source_group}" for source in spoken_for if source.source_group is not None}
    keys = {f"key:{source.source_key}" for source in spoken_for if source.source_key is not None}
    return frozenset(groups | keys)


def decide_spoken_labels(claim: SourceClaim, registry: Collection[RegisteredSource]) -> frozenset[str]:
    """The labels that the registry lets the author of a fragment speak for, in the group that the fragment names.

    Whoever speaks for a whole group speaks for every key in it: the group is a label of each of them, so that no key
    of it can be another witness.
    """
    labels = decide_registered_labels(claim.author, registry)
    whole_group = any(source.source_key is None for source in _spoken_for(claim, registry))
    return labels | {f"key:{claim.source_key}"} if whole_group and claim.source_key is not None else labels


def decide_source_type(
    claimed: SourceType, claim: SourceClaim, registry: Iterable[RegisteredSource]
) -> tuple[SourceType, str]:
    """The source type to store, and a note if it is not the claimed one.

    `system_record` needs a source that is registered as a record and that the author may speak for.
    """
    if claimed is not SourceType.SYSTEM_RECORD or any(source.record for source in _spoken_for(claim, registry)):
        return claimed, ""
    return SourceType.MANUAL, NOTE_STORED_AS_MANUAL


def decide_authority(
    claimed: Authority,
    *,
    predicate: PredicateKey,
    claim: SourceClaim,
    registry: Iterable[RegisteredSource],
    scopes: Collection[KeyScope],
) -> GrantedAuthority:
    """What a support is worth for its predicate: authority is granted, not claimed (R2.3).

    Only `authoritative` is held back: it is granted where the registry allows it to the source for the predicate, or
    to a key with the permission `assert_authority`; else it is lowered to `primary`.

    Args:
        claimed: what the fragment claims; the fragment keeps it.
        predicate: the predicate of the relationship that is supported.
        claim: where the fragment comes from; for adopted evidence that of its author, not of the adopter.
        registry: the team's registered sources.
        scopes: the permissions of the key that submitted the fragment.
    """
    if claimed is not Authority.AUTHORITATIVE:
        return GrantedAuthority(authority=claimed)
    if any(_is_authoritative_for(predicate, source) for source in _spoken_for(claim, registry)):
        return GrantedAuthority(authority=Authority.AUTHORITATIVE)
    if KeyScope.ASSERT_AUTHORITY in scopes:
        return GrantedAuthority(authority=Authority.AUTHORITATIVE)
    return GrantedAuthority(authority=Authority.PRIMARY, note=NOTE_AUTHORITY_LOWERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSupport:
    """A support with what its authority was decided on, so that it can be decided again.

    ``key_scopes`` are the permissions of the key that submitted the fragment, as they were then.
    """

    last: SupportDecision
    claimed: Authority
    predicate: PredicateKey
    claim: SourceClaim
    key_scopes: frozenset[KeyScope] = frozenset()


def plan_regrants(
    supports: Iterable[ClaimedSupport], registry: Sequence[RegisteredSource]
) -> tuple[SupportDecision, ...]:
    """The support decisions that a change of the registry appends: one for each support whose authority it changes.

    The decision repeats the kind of the last one: a revoked support gets another authority and stays revoked.
    """
    decisions = []
    for support in supports:
        granted = decide_authority(
            support.claimed,
            predicate=support.predicate,
            claim=support.claim,
            registry=registry,
            scopes=support.key_scopes,
        )
        if granted.authority is not support.last.authority:
            decisions.append(replace(support.last, authority=granted.authority, reason=REASON_REGISTRY_CHANGED))
    return tuple(decisions)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRevision:
    """The fragment names no source key, so it takes part in no revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRevision:
    """The fragment adds to the revision that is current."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRevision:
    """The source key is used for the first time; the state to store."""

    state: SourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The source moves on; the state to store, whose ``prior_revision`` is what loses its effect."""

    state: SourceState


RevisionDecision = NoRevision | SameRevision | FirstRevision | Advance


def decide_source_revision(claim: SourceClaim, state: SourceState | None) -> RevisionDecision:
    """What a fragment does to its source's revision: advancing compares and sets the current token (R2.5).

    Fragments of one revision may come in several calls, each naming the revision it took the place of: once the
    source has moved on from there, they add to it.

    Args:
        claim: the fragment's source, revision and previous revision.
        state: where the source key stands, ``None`` if nobody has used it yet. Items of one call are decided one
            after the other, each on the state that the last one left.

    Raises:
        Refusal: SOURCE_REVISION_STALE if the previous revision is not the current one, with both in the metadata;
            the whole write is refused.
    """
    if claim.source_key is None or claim.source_revision is None:
        return NoRevision()
    previous = claim.previous_source_revision
    if state is None:
        if previous is not None:
            raise _stale(claim, current="")
        return FirstRevision(
            state=SourceState(
                source_key=claim.source_key, first_user=claim.author, current_revision=claim.source_revision
            )
        )
    if claim.source_revision == state.current_revision and previous in {None, state.prior_revision}:
        return SameRevision()
    if previous != state.current_revision:
        raise _stale(claim, current=state.current_revision)
    return Advance(state=replace(state, current_revision=claim.source_revision, prior_revision=state.current_revision))


def decide_superseded_fragments(activated: SourceState, fragments: Iterable[FragmentSource]) -> tuple[FragmentId, ...]:
    """The fragments that lose their effect when a revision is activated, whoever wrote or adopted them.

    Args:
        activated: the state that an advance stores.
        fragments: stored fragments of the source key; those of this call are not among them.
    """
    return tuple(
        fragment.fragment_id
        for fragment in fragments
        if fragment.claim.source_key == activated.source_key
        and fragment.claim.source_revision == activated.prior_revision
    )


def may_supersede_fragments(claim: SourceClaim, named: Iterable[FragmentSource]) -> None:
    """Checks `supersedes_fragment_ids`: own fragments of the same source only (R2.9).

    Two fragments are of the same source if their keys are equal or, where neither has one, their groups are.

    Raises:
        Refusal: NOT_OWNER for the whole write.
    """
    for fragment in named:
        other = fragment.claim
        same_key = claim.source_key == other.source_key
        same_source = same_key and (claim.source_key is not None or claim.source_group == other.source_group)
        if other.author != claim.author or not same_source:
            raise Refusal(
                Reason.NOT_OWNER,
                "only own fragments of the same source can be superseded",
                field="supersedes_fragment_ids",
                metadata={"resource_type": "fragment", "resource_id": fragment.fragment_id},
            )


def may_correct_with(claim: SourceClaim, *, field: str = "evidence") -> None:
    """Checks the evidence of a decision, such as `correct`: it is no revision of a source.

    Raises:
        Refusal: INVALID_FIELD below ``field`` if it has source-revision fields.
    """
    if claim.source_revision is not None:
        raise Refusal(
            Reason.INVALID_FIELD,
            "a decision does not advance a source; leave out source_key and source_revision",
            field=f"{field}.source_revision",
        )


def _spoken_for(claim: SourceClaim, registry: Iterable[RegisteredSource]) -> Iterable[RegisteredSource]:
    """The registered sources that the fragment is of in every respect and that its author may speak for."""
    return (
        source
        for source in registry
        if source.source_group in {None, claim.source_group}
        and source.source_key in {None, claim.source_key}
        and is_speaker(claim.author, source)
    )


def _is_authoritative_for(predicate: PredicateKey, source: RegisteredSource) -> bool:
    match source.authoritative_for:
        case EveryPredicate():
            return True
        case OnlyPredicates(keys=keys):
            return predicate in keys
        case never:
            assert_never(never)


def _not_allowed(field: str, source: str) -> Refusal:
    return Refusal(
        Reason.SOURCE_NOT_ALLOWED,
        "the author may not speak for this source",
        field=field,
        metadata={"source": source},
    )


def _stale(claim: SourceClaim, *, current: str) -> Refusal:
    return Refusal(
        Reason.SOURCE_REVISION_STALE,
        "the source has another current revision",
        field="previous_source_revision",
        metadata={
            "source_key": claim.source_key or "",
            "expected_revision": claim.previous_source_revision or "",
            "current_revision": current,
        },
    )
