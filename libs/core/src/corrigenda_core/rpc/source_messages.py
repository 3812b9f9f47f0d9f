"""Registered sources as messages, and definitions of them as values."""

from __future__ import annotations

from corrigenda.admin.v1 import source_pb2

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import PredicateKey, ProfileId
from corrigenda_core.domain.sources import (
    AnyProfile,
    EveryPredicate,
    OnlyPredicates,
    OnlyProfiles,
    RegisteredSource,
)


def source_message(source: RegisteredSource, *, active: bool) -> source_pb2.Source:
    """A version of an entry of the registry."""
    speakers = source.speakers.profiles if isinstance(source.speakers, OnlyProfiles) else ()
    listed = source.authoritative_for.keys if isinstance(source.authoritative_for, OnlyPredicates) else ()
    return source_pb2.Source(
        definition=source_pb2.SourceDefinition(
            source_group=source.source_group or "",
            source_key=source.source_key or "",
            speaker_profile_ids=sorted(speakers),
            authoritative_for_every_predicate=isinstance(source.authoritative_for, EveryPredicate),
            authoritative_for=sorted(listed),
            record=source.record,
        ),
        version=source.version,
        active=active,
    )


def source_of_definition(definition: source_pb2.SourceDefinition, *, version: int) -> RegisteredSource:
    """The entry that a definition makes.

    Raises:
        Refusal: INVALID_FIELD if it names neither a group nor a key, or lists predicates beside all of them.
    """
    if not definition.source_group and not definition.source_key:
        raise Refusal(Reason.INVALID_FIELD, "a source names a group, a key or both", field="definition.source_group")
    if definition.authoritative_for_every_predicate and definition.authoritative_for:
        raise Refusal(
            Reason.INVALID_FIELD,
            "a source that is authoritative for every predicate lists none",
            field="definition.authoritative_for",
        )
    speakers = frozenset(map(ProfileId, definition.speaker_profile_ids))
    return RegisteredSource(
        source_group=definition.source_group or None,
        source_key=definition.source_key or None,
        version=version,
        speakers=OnlyProfiles(profiles=speakers) if speakers else AnyProfile(),
        authoritative_for=EveryPredicate()
        if definition.authoritative_for_every_predicate
        else OnlyPredicates(keys=frozenset(map(PredicateKey, definition.authoritative_for))),
        record=definition.record,
    )
