"""Reads what a decision on a placement is about: the item, what the submissions said, and the texts that they cite."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import (
    EntityId,
    FragmentId,
    IngestId,
    ItemId,
    PredicateKey,
    ProfileId,
    ProposalId,
    RelationshipId,
    StatementId,
    TeamId,
)
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.objects import Polarity, ValueType
from corrigenda_core.domain.submissions import CorrectionTarget, ProposedEntity, ProposedValue
from corrigenda_core.domain.time import Instant, TextSpan
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import StoredFragment, slot_of, stored_fragment_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.slot_store import item_of

_SQL = "questions.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedObservation:
    """What a submission said, bound to what decisions have said since that it names.

    ``mentions`` are its entities as they were named, the subject first. ``cited`` are its passages. ``relationship_id``
    is the row that carries it; without one it waits, unless its author has given it up.
    """

    observation_id: StatementId
    ingest_id: IngestId
    author_id: ProfileId
    ordinal: int
    proposal_id: ProposalId
    subject_ref: str
    object_ref: str | None
    mentions: tuple[ProposedEntity, ...]
    phrase: str
    subject_id: EntityId | None
    object_id: EntityId | None
    value: ProposedValue | None
    predicate: PredicateKey | None
    polarity: Polarity
    modality: Modality
    scope: str
    stated_from: Instant | None
    stated_to: Instant | None
    cited: tuple[tuple[FragmentId, TextSpan], ...]
    comment: str
    correction_target: CorrectionTarget | None
    verdict: VerificationVerdict | None
    relationship_id: RelationshipId | None
    given_up: bool

    @property
    def waits(self) -> bool:
        """Whether something could still be placed from it."""
        return self.relationship_id is None and not self.given_up

    @property
    def is_bound(self) -> bool:
        """Whether everything that it names is known."""
        has_object = self.object_id is not None or self.value is not None
        return self.subject_id is not None and self.predicate is not None and has_object

    @property
    def entity_ids(self) -> frozenset[EntityId]:
        """The entities that it is known to name."""
        return frozenset(one for one in (self.subject_id, self.object_id) if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFragment:
    """A stored text with what is known of it."""

    stored: StoredFragment
    content: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionQueries:
    """The queries for what one decision is about; the answers of earlier ones are parameters of later ones."""

    team_id: TeamId
    ingest_id: IngestId
    item_id: ItemId | None

    def asked(self) -> list[Query]:
        """The submission and the item."""
        sql = load_sql(_SQL)
        queries = [sql.query("decided_ingest", team_id=self.team_id, ingest_id=self.ingest_id)]
        if self.item_id is not None:
            queries.append(sql.query("decided_item", team_id=self.team_id, item_id=self.item_id))
        return queries

    def spoken_of(self, item: ReviewItem) -> list[Query]:
        """The submissions that an item is about beside the one that it names."""
        sql = load_sql(_SQL)
        rows = sorted({*item.incoming, *item.opposing})
        queries = [sql.query("statements_of_rows", team_id=self.team_id, relationship_ids=rows)] if rows else []
        if item.fragment_id is not None:
            queries.append(sql.query("ingests_of_fragment", team_id=self.team_id, fragment_id=item.fragment_id))
        return queries

    def observations(self, ingest_ids: Iterable[IngestId], observation_ids: Iterable[StatementId]) -> Query:
        """What submissions said."""
        return load_sql(_SQL).query(
            "decided_observations",
            team_id=self.team_id,
            ingest_ids=sorted(set(ingest_ids)),
            observation_ids=sorted(set(observation_ids)),
        )

    def fragments(self, fragment_ids: Iterable[FragmentId]) -> Query:
        """Texts with what is known of them."""
        return load_sql(_SQL).query("cited_fragments", team_id=self.team_id, fragment_ids=sorted(set(fragment_ids)))


def first_administrator(team_id: TeamId) -> Query:
    """Who is asked what only an administrator decides; rows (profile_id)."""
    return load_sql(_SQL).query("first_administrator", team_id=team_id)


def decided_item_of(row: Row) -> ReviewItem:
    """The item in a row of `QuestionQueries.asked`."""
    return item_of(row, slot_of(row))


def decided_observation_of(row: Row) -> DecidedObservation:
    """The observation in a row of `QuestionQueries.observations`."""
    value = None
    if row["value_type"] is not None:
        # As it was written, so that a predicate which is chosen later brings its own unit.
        value = ProposedValue(type=ValueType(row["value_type"]), text=row["value_display"])
    target = None
    if row["correction_target_id"] is not None:
        target = CorrectionTarget(
            relationship_id=row["correction_target_id"], expected_version=row["correction_target_version"]
        )
    return DecidedObservation(
        observation_id=row["observation_id"],
        ingest_id=row["ingest_id"],
        author_id=row["author_id"],
        ordinal=row["ordinal"],
        proposal_id=ProposalId(row["proposal_id"]),
        subject_ref=row["subject_ref"],
        object_ref=row["object_ref"],
        mentions=tuple(mention_of(one) for one in row["mentions"]),
        phrase=row["predicate_phrase"],
        subject_id=row["subject_id"],
        object_id=row["object_entity_id"],
        value=value,
        predicate=None if row["predicate"] is None else PredicateKey(row["predicate"]),
        polarity=Polarity(row["polarity"]),
        modality=Modality(row["modality"]),
        scope=row["scope"],
        stated_from=row["stated_from"],
        stated_to=row["stated_to"],
        cited=tuple(
            (FragmentId(one["fragment_id"]), TextSpan(start=one["start"], end=one["end"])) for one in row["spans"]
        ),
        comment=row["comment"],
        correction_target=target,
        verdict=None if row["verdict"] is None else VerificationVerdict(row["verdict"]),
        relationship_id=row["relationship_id"],
        given_up=row["given_up"],
    )


def cited_fragment_of(row: Row) -> CitedFragment:
    """The text in a row of `QuestionQueries.fragments`."""
    return CitedFragment(stored=stored_fragment_of(row), content=row["content"], labels=tuple(row["labels"]))


def mention_columns(entity: ProposedEntity) -> Mapping[str, object]:
    """A mention as it is kept beside what was said of it."""
    return {
        "ref": entity.ref,
        "name": entity.name,
        "kind": entity.kind,
        "aliases": list(entity.aliases),
        "context": dict(entity.context),
    }


def kept_mentions(entities: Sequence[ProposedEntity]) -> str:
    """Mentions as the detail of an item that asks which entity they mean."""
    return json.dumps([mention_columns(one) for one in entities], ensure_ascii=False, sort_keys=True)


def asked_mentions(item: ReviewItem) -> tuple[ProposedEntity, ...]:
    """The mentions that an item asks about, in the order of their submission."""
    return tuple(mention_of(one) for one in json.loads(dict(item.details).get("mentions", "[]")))


def mention_of(kept: Mapping[str, object]) -> ProposedEntity:
    """The mention that `mention_columns` kept.

    Raises:
        TypeError: it was not made by that.
    """
    aliases, context = kept["aliases"], kept["context"]
    if not isinstance(aliases, list) or not isinstance(context, dict):
        raise TypeError("a kept mention has a list of aliases and a map as context")
    return ProposedEntity(
        ref=str(kept["ref"]),
        name=str(kept["name"]),
        kind=str(kept["kind"]),
        aliases=tuple(str(alias) for alias in aliases),
        context=tuple(sorted((str(key), str(value)) for key, value in context.items())),
    )
