"""What the team knows of the things that a submission names: predicates, entities, fragments, cases, targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.entities import Entity, EntityName, IdentityContext, Mention
from corrigenda_core.domain.evidence import Authority, ScanVerdict, SourceType
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    FragmentId,
    IngestId,
    ItemId,
    PredicateKey,
    ProfileId,
    RelationshipId,
    TeamId,
)
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Slot, ValueType
from corrigenda_core.domain.predicates import (
    Cardinality,
    Predicate,
    PredicateLifecycle,
    RelationshipKind,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.sources import FragmentSource, RegisteredSource, RetirementReason, SourceClaim
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.case_rows import case_of
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.slot_store import item_of
from corrigenda_core.persistence.source_store import (
    StoredSourceState,
    fragment_source_of,
    fragments_of_current_revisions,
    registered_sources,
    slots_of_current_revisions,
    source_of,
    source_state_of,
    source_states,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFragment:
    """A fragment as a resubmission, a derivation or an adoption sees it.

    ``released`` says that an administrator has let a quarantined one go.
    """

    fragment_id: FragmentId
    author_id: ProfileId
    content_sha256: bytes
    source_group: str | None
    source_key: str | None
    source_revision: str | None
    source_type: SourceType
    scan_verdict: ScanVerdict
    claimed_authority: Authority
    inherited_labels: tuple[str, ...]
    derived_from_fragment_ids: tuple[FragmentId, ...]
    occurred_at: Instant | None
    recorded_at: Instant
    erased: bool = False
    released: bool = False
    retired: RetirementReason | None = None

    @property
    def is_quarantined(self) -> bool:
        """Whether it supports nothing, because nobody has released it."""
        return self.scan_verdict is ScanVerdict.QUARANTINED and not self.released

    @property
    def source(self) -> FragmentSource:
        """Which source it is of."""
        claim = SourceClaim(
            author=self.author_id,
            source_group=self.source_group,
            source_key=self.source_key,
            source_revision=self.source_revision,
        )
        return FragmentSource(fragment_id=self.fragment_id, claim=claim)


@dataclass(frozen=True, kw_only=True)  # without slots, so that the entities are sorted by their names once
class SubmissionFacts:
    """Everything that the team knows of what one submission names, or all those that are looked at together.

    ``predicates`` is by the form of the phrase (`decide_predicate_key`); ``names`` how each candidate is shown.
    ``asked_phrases`` are the caller's pending questions about unknown phrases, by their forms. ``registry`` holds the
    entries in use that its evidence can be of, ``source_states`` where its source keys stand. ``leaving`` are the
    fragments that lose their effect if the keys that it advances move on, ``touched`` the slots in which these, or
    those that it names as superseded, support anything.
    """

    policy: TeamPolicy
    profile_name: str
    predicates: Mapping[PredicateKey, Predicate]
    entities: tuple[Entity, ...]
    names: Mapping[EntityId, EntityName]
    own_fragments: tuple[StoredFragment, ...]
    origins: Mapping[FragmentId, StoredFragment]
    cases: Mapping[ConflictId, ConflictCase]
    targets: Mapping[RelationshipId, Relationship]
    registry: tuple[RegisteredSource, ...]
    source_states: Mapping[str, StoredSourceState]
    leaving: tuple[FragmentSource, ...]
    touched: Mapping[Slot, Predicate]
    items: Mapping[ItemId, ReviewItem]
    asked_phrases: Mapping[PredicateKey, ReviewItem]

    def entity(self, entity_id: EntityId | None) -> Entity | None:
        """The entity of this id, unless it is new."""
        return None if entity_id is None else self._by_id.get(entity_id)

    def entities_of(self, mentions: Iterable[Mention]) -> tuple[Entity, ...]:
        """The entities that the mentions may mean: they share a name, or are named by their ids. By id."""
        found: dict[EntityId, Entity] = {}
        for mention in mentions:
            if (known := self.entity(mention.known_entity_id)) is not None:
                found[known.entity_id] = known
            for name in mention.names:
                found.update((one.entity_id, one) for one in self._by_name.get(name, ()))
        return tuple(found[entity_id] for entity_id in sorted(found))

    @cached_property
    def _by_id(self) -> Mapping[EntityId, Entity]:
        return {one.entity_id: one for one in self.entities}

    @cached_property
    def _by_name(self) -> Mapping[str, list[Entity]]:
        by_name: dict[str, list[Entity]] = defaultdict(list)
        for one in self.entities:
            for name in one.names:
                by_name[name].append(one)
        return by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQueries:
    """The queries for the facts of one submission; parameters are sorted, so that equal ones share their plan.

    ``phrases`` are those of the ``forms`` that mean no predicate, whose pending questions are looked for.
    """

    team_id: TeamId
    profile_id: ProfileId
    forms: Collection[str] = ()
    phrases: Collection[str] = ()
    names: Collection[str] = ()
    known_entity_ids: Collection[EntityId] = ()
    content_hashes: Collection[bytes] = ()
    origin_ids: Collection[FragmentId] = ()
    conflict_ids: Collection[ConflictId] = ()
    target_ids: Collection[RelationshipId] = ()
    source_groups: Collection[str] = ()
    source_keys: Collection[str] = ()
    advanced_keys: Collection[str] = ()
    superseded_ids: Collection[FragmentId] = ()
    item_ids: Collection[ItemId] = ()

    def queries(self) -> list[Query]:
        """What to send, each under its own name; nothing is asked about what nobody names."""
        sql = load_sql("ingest.sql")
        team, profile = {"team_id": self.team_id}, {"profile_id": self.profile_id}
        mentions = {"known_ids": sorted(self.known_entity_ids), "names": sorted(self.names)}
        fragments = {*self.origin_ids, *self.superseded_ids}
        asked: list[tuple[str, object, dict[str, object]]] = [
            ("predicates_by_form", self.forms, {"forms": sorted(self.forms)}),
            ("entity_names_for_mentions", self.names or self.known_entity_ids, {**profile, **mentions}),
            ("entity_contexts_for_mentions", self.names or self.known_entity_ids, mentions),
            ("own_fragments", self.content_hashes, {**profile, "hashes": sorted(self.content_hashes)}),
            ("origin_fragments", fragments, {"fragment_ids": sorted(fragments)}),
            ("cases_by_id", self.conflict_ids, {"conflict_ids": sorted(self.conflict_ids)}),
            ("relationships_by_id", self.target_ids, {"relationship_ids": sorted(self.target_ids)}),
            ("items_by_id", self.item_ids, {"item_ids": sorted(self.item_ids)}),
            ("pending_phrases", self.phrases, {**profile, "forms": sorted(self.phrases)}),
        ]
        return [
            sql.query("team_settings", **team, **profile),
            *(sql.query(name, **team, **parameters) for name, named, parameters in asked if named),
            *self._source_queries(),
        ]

    def _source_queries(self) -> Iterator[Query]:
        """What only a submission asks that names sources."""
        if self.source_groups or self.source_keys:
            yield registered_sources(self.team_id, groups=self.source_groups, keys=self.source_keys)
        if self.source_keys:
            yield source_states(self.team_id, self.source_keys)
        if self.advanced_keys:
            yield fragments_of_current_revisions(self.team_id, self.advanced_keys)
        if self.advanced_keys or self.superseded_ids:
            yield slots_of_current_revisions(self.team_id, self.advanced_keys, self.superseded_ids)

    def facts(self, answers: Mapping[str, list[Row]]) -> SubmissionFacts:
        """What the answers say."""
        (settings,) = answers["team_settings"]
        entities, names = _entities(
            answers.get("entity_names_for_mentions", ()), answers.get("entity_contexts_for_mentions", ())
        )
        return SubmissionFacts(
            policy=team_policy_of(settings),
            profile_name=settings["profile_name"],
            predicates=_predicates(answers.get("predicates_by_form", ())),
            entities=entities,
            names=names,
            own_fragments=tuple(stored_fragment_of(row) for row in answers.get("own_fragments", ())),
            origins={row["fragment_id"]: stored_fragment_of(row) for row in answers.get("origin_fragments", ())},
            cases={row["conflict_id"]: case_of(row, ()) for row in answers.get("cases_by_id", ())},
            targets={row["relationship_id"]: relationship_of(row) for row in answers.get("relationships_by_id", ())},
            registry=tuple(source_of(row) for row in answers.get("registered_sources", ())),
            source_states={row["source_key"]: source_state_of(row) for row in answers.get("source_states_by_key", ())},
            leaving=tuple(fragment_source_of(row) for row in answers.get("fragments_of_current_revisions", ())),
            touched=dict(_touched(row) for row in answers.get("slots_of_current_revisions", ())),
            items={row["item_id"]: item_of(row, slot_of(row)) for row in answers.get("items_by_id", ())},
            asked_phrases={row["form"]: item_of(row, slot_of(row)) for row in answers.get("pending_phrases", ())},
        )


def slot_texts(team_id: TeamId, slot: Slot, *, name: str, bands: Sequence[int]) -> Query:
    """Texts that speak in a slot and share a band (`text_bands`); rows (fragment_id, content)."""
    statement = load_sql("ingest.sql")["slot_texts"]
    return Query(
        name=name,
        sql=statement.sql,
        parameters={
            "team_id": team_id,
            "subject_id": slot.subject_id,
            "predicate": slot.predicate,
            "scope": slot.scope,
            "bands": list(bands),
        },
    )


def team_settings(team_id: TeamId, profile_id: ProfileId) -> Query:
    """The team's policy and the caller's name; one row, see `team_policy_of`."""
    return load_sql("ingest.sql").query("team_settings", team_id=team_id, profile_id=profile_id)


def active_predicates(team_id: TeamId) -> Query:
    """The active predicates, by key; `predicate_of` reads a row."""
    return load_sql("ingest.sql").query("active_predicates", team_id=team_id)


def insert_text_bands(team_id: TeamId, bands: Sequence[tuple[FragmentId, Sequence[int]]]) -> Query:
    """The INSERT of the bands of new fragments."""
    rows = [(band, fragment_id) for fragment_id, of_text in bands for band in of_text]
    return load_sql("ingest.sql").query(
        "insert_text_bands",
        team_id=team_id,
        bands=[band for band, _ in rows],
        fragment_ids=[fragment_id for _, fragment_id in rows],
    )


def predicate_names(team_id: TeamId) -> Query:
    """Keys and aliases of the active predicates; rows (predicate, aliases)."""
    return load_sql("ingest.sql").query("predicate_names", team_id=team_id)


def placement_of_ingest(team_id: TeamId, ingest_id: IngestId) -> Query:
    """The stored result of a submission; rows (result)."""
    return load_sql("ingest.sql").query("placement_of_ingest", team_id=team_id, ingest_id=ingest_id)


def team_policy_of(row: Row) -> TeamPolicy:
    """The policy in a row of ``teams``."""
    return TeamPolicy(
        review_period_days=row["review_period_days"],
        review_start_minute=row["review_start_minute"],
        time_zone=row["time_zone"],
        trusts_declared_groups=row["trusts_declared_groups"],
    )


def predicate_of(row: Row) -> Predicate:
    """The predicate in a row of ``predicates``."""
    return Predicate(
        key=PredicateKey(row["predicate"]),
        version=row["version"],
        aliases=tuple(row["aliases"]),
        subject_kinds=tuple(row["subject_kinds"]),
        object_kinds=tuple(row["object_kinds"]),
        value_types=tuple(ValueType(text) for text in row["value_types"]),
        unit=row["unit"],
        kind=RelationshipKind(row["relationship_kind"]),
        cardinality=Cardinality(row["current_cardinality"]),
        basis=SupersessionBasis(row["supersession_basis"]),
        same_moment=SameMomentPolicy(row["same_moment_policy"]),
        granularity=StartGranularity(row["start_granularity"]),
        pii_class=row["pii_class"],
        review_after_days=row["review_after_days"],
        lifecycle=PredicateLifecycle(row["lifecycle"]),
    )


def _touched(row: Row) -> tuple[Slot, Predicate]:
    """A slot with the current version of its predicate."""
    predicate = predicate_of(row)
    return Slot(subject_id=row["subject_id"], predicate=predicate.key, scope=row["scope"]), predicate


def slot_of(row: Row) -> Slot | None:
    """The slot that an item asks about; one about a mention or a phrase has none."""
    if row["subject_id"] is None:
        return None
    return Slot(subject_id=row["subject_id"], predicate=row["predicate"], scope=row["scope"])


def _predicates(rows: Iterable[Row]) -> dict[PredicateKey, Predicate]:
    """By form, the key before the alias (R3.5): a key means its predicate, whichever other one has it as an alias."""
    by_alias = {PredicateKey(row["form"]): predicate_of(row) for row in rows if not row["is_key"]}
    by_key = {PredicateKey(row["form"]): predicate_of(row) for row in rows if row["is_key"]}
    return by_alias | by_key


def _entities(names: Sequence[Row], contexts: Sequence[Row]) -> tuple[tuple[Entity, ...], dict[EntityId, EntityName]]:
    forms: dict[EntityId, set[str]] = defaultdict(set)
    team_forms: dict[EntityId, set[str]] = defaultdict(set)
    shown: dict[EntityId, EntityName] = {}
    for row in names:
        entity_id = EntityId(row["entity_id"])
        forms[entity_id].add(row["normal_name"])
        if row["is_team_name"]:
            team_forms[entity_id].add(row["normal_name"])
        if row["is_primary"] or entity_id not in shown:
            shown[entity_id] = EntityName(entity_id=entity_id, kind=row["kind"], name=row["name"])
    pairs: dict[EntityId, set[tuple[str, str]]] = defaultdict(set)
    for row in contexts:
        pairs[EntityId(row["entity_id"])].add((row["context_key"], row["context_value"]))
    entities = tuple(
        Entity(
            entity_id=entity_id,
            kind=shown[entity_id].kind,
            names=frozenset(forms[entity_id]),
            team_names=frozenset(team_forms[entity_id]),
            context=IdentityContext(pairs=frozenset(pairs[entity_id])),
        )
        for entity_id in sorted(forms)
    )
    return entities, shown


def stored_fragment_of(row: Row) -> StoredFragment:
    """The fragment in a row of fragments, with whether it was ``released``."""
    return StoredFragment(
        fragment_id=row["fragment_id"],
        author_id=row["author_id"],
        content_sha256=bytes(row["content_sha256"]),
        source_group=row["source_group"],
        source_key=row["source_key"],
        source_revision=row["source_revision"],
        source_type=SourceType(row["source_type"]),
        scan_verdict=ScanVerdict(row["scan_verdict"]),
        claimed_authority=Authority(row["claimed_authority"]),
        inherited_labels=tuple(row["inherited_labels"]),
        derived_from_fragment_ids=tuple(row["derived_from_fragment_ids"]),
        occurred_at=row["occurred_at"],
        recorded_at=row["recorded_at"],
        released=row["released"],
        erased=row["erased"],
        retired=None if row["retired"] is None else RetirementReason(row["retired"]),
    )
