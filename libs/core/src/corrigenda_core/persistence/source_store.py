"""Reads the source registry, and what depends on the fragments of a source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.evidence import Authority, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, PredicateKey, ProfileId, TeamId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.sources import (
    AnyProfile,
    EveryPredicate,
    FragmentSource,
    OnlyPredicates,
    OnlyProfiles,
    RegisteredSource,
    SourceClaim,
    SourceLifecycle,
    SourceState,
)
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.policy.authority import REASON_REGISTRY_CHANGED, ClaimedSupport
from corrigenda_core.policy.limits import decide_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSupport:
    """A support whose authority can change, and the slot of its statement."""

    claimed: ClaimedSupport
    slot: Slot


def registered_sources(team_id: TeamId, *, groups: Collection[str], keys: Collection[str]) -> Query:
    """The entries in use that fragments with these groups and keys can be of (`source_of`)."""
    return load_sql("sources.sql").query(
        "registered_sources", team_id=team_id, groups=sorted(groups), keys=sorted(keys)
    )


def supports_of_source(team_id: TeamId, *, source_group: str, source_key: str, limit: int) -> Query:
    """Supports by fragments of a source that claim to be authoritative (`slot_support_of`); an empty name is any."""
    sql = load_sql("sources.sql")
    if not source_key:
        return sql.query("supports_of_source_group", team_id=team_id, source_group=source_group, limit=limit)
    return sql.query(
        "supports_of_source_key", team_id=team_id, source_key=source_key, source_group=source_group, limit=limit
    )


def predicates_by_key(team_id: TeamId, keys: Collection[PredicateKey]) -> Query:
    """The current versions of predicates (`predicate_of`)."""
    return load_sql("sources.sql").query("predicates_by_key", team_id=team_id, predicates=sorted(keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSourceState:
    """Where a source key stands, and the version of its row."""

    state: SourceState
    version: int


def source_states(team_id: TeamId, keys: Collection[str]) -> Query:
    """Where source keys stand (`source_state_of`)."""
    return load_sql("sources.sql").query("source_states_by_key", team_id=team_id, keys=sorted(keys))


def fragments_of_current_revisions(team_id: TeamId, keys: Collection[str]) -> Query:
    """The fragments that lose their effect if these keys move on (`fragment_source_of`)."""
    limit = decide_limit("supports_per_source_change").greatest + 1
    return load_sql("sources.sql").query(
        "fragments_of_current_revisions", team_id=team_id, keys=sorted(keys), limit=limit
    )


def slots_of_current_revisions(team_id: TeamId, keys: Collection[str], fragment_ids: Collection[FragmentId]) -> Query:
    """The slots in which those, and these fragments, support anything: rows of a slot and its whole predicate."""
    return load_sql("sources.sql").query(
        "slots_of_current_revisions",
        team_id=team_id,
        keys=sorted(keys),
        fragment_ids=sorted(fragment_ids),
        limit=decide_limit("slots_per_source_change").greatest + 1,
    )


def source_state_of(row: Row) -> StoredSourceState:
    """The state in a row of ``source_states``."""
    return StoredSourceState(
        state=SourceState(
            source_key=row["source_key"],
            first_user=row["first_user"],
            current_revision=row["current_revision"],
            prior_revision=row["prior_revision"],
        ),
        version=row["version"],
    )


def fragment_source_of(row: Row) -> FragmentSource:
    """A fragment with its source."""
    return FragmentSource(
        fragment_id=row["fragment_id"],
        claim=SourceClaim(
            author=row["author_id"],
            source_group=row["source_group"],
            source_key=row["source_key"],
            source_revision=row["source_revision"],
        ),
    )


def source_of(row: Row) -> RegisteredSource:
    """The entry in a row of ``sources``."""
    speakers: Sequence[str] = row["speakers"]
    every = row["authoritative_for_all"]
    return RegisteredSource(
        source_group=row["source_group"] or None,
        source_key=row["source_key"] or None,
        version=row["version"],
        speakers=OnlyProfiles(profiles=frozenset(map(ProfileId, speakers))) if speakers else AnyProfile(),
        authoritative_for=EveryPredicate()
        if every
        else OnlyPredicates(keys=frozenset(map(PredicateKey, row["authoritative_for"]))),
        record=row["record"],
    )


def is_in_use(row: Row) -> bool:
    """Whether the entry in a row of ``sources`` says anything."""
    return SourceLifecycle(row["lifecycle"]) is SourceLifecycle.ACTIVE


def source_columns(source: RegisteredSource, *, source_id: str, lifecycle: SourceLifecycle) -> dict[str, object]:
    """The columns of an entry."""
    speakers = source.speakers.profiles if isinstance(source.speakers, OnlyProfiles) else ()
    listed = source.authoritative_for.keys if isinstance(source.authoritative_for, OnlyPredicates) else ()
    return {
        "source_id": source_id,
        "source_group": source.source_group or "",
        "source_key": source.source_key or "",
        "version": source.version,
        "speakers": sorted(speakers),
        "authoritative_for_all": isinstance(source.authoritative_for, EveryPredicate),
        "authoritative_for": sorted(listed),
        "record": source.record,
        "lifecycle": lifecycle,
    }


def slot_support_of(row: Row) -> SlotSupport:
    """A support as a change of the registry sees it."""
    decision = SupportDecision(
        support_id=row["support_id"],
        kind=SupportDecisionKind(row["kind"]),
        authority=Authority(row["authority"]),
        reason=REASON_REGISTRY_CHANGED,
        granted_by_key=row["granted_by_key"],
    )
    return SlotSupport(
        claimed=ClaimedSupport(
            last=decision,
            claimed=Authority(row["claimed_authority"]),
            predicate=PredicateKey(row["predicate"]),
            claim=SourceClaim(
                author=row["author_id"],
                source_group=row["source_group"],
                source_key=row["source_key"],
                source_revision=row["source_revision"],
            ),
            key_scopes=frozenset({KeyScope.ASSERT_AUTHORITY}) if row["granted_by_key"] else frozenset(),
        ),
        slot=Slot(subject_id=row["subject_id"], predicate=PredicateKey(row["predicate"]), scope=row["scope"]),
    )
