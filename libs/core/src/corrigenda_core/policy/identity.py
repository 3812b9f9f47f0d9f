"""Which entity a mention means, and which answers to that question are accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.entities import Entity, IdentityContext, Mention, MentionRef
from corrigenda_core.domain.errors import Reason, Refusal, missing
from corrigenda_core.domain.ids import EntityId


class IdentityQuestionReason(StrEnum):
    """Why a mention is asked about."""

    SEVERAL_CANDIDATES = "several_candidates"
    CONTEXT_CONTRADICTS = "context_contradicts"
    AMBIGUOUS_IN_REQUEST = "ambiguous_in_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """The mentions become one new entity; the shell allots its id."""

    refs: tuple[MentionRef, ...]
    kind: str
    names: frozenset[str]
    context: IdentityContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedEntity:
    """The mentions mean a stored entity, which takes over their names and context."""

    refs: tuple[MentionRef, ...]
    entity_id: EntityId
    names: frozenset[str]
    context: IdentityContext


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityQuestion:
    """Nothing tells which entity the mentions mean: an identity item, and no edge that depends on it.

    ``candidates`` are stored entities on offer. ``candidate_refs`` stand for entities of the same request: the first
    mention of each that could be meant.
    """

    refs: tuple[MentionRef, ...]
    reason: IdentityQuestionReason
    candidates: tuple[EntityId, ...]
    candidate_refs: tuple[MentionRef, ...] = ()


IdentityDecision = NewEntity | ReusedEntity | IdentityQuestion


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Mentions of one request that are one entity, in the order of the request."""

    mentions: tuple[Mention, ...]

    @property
    def refs(self) -> tuple[MentionRef, ...]:
        return tuple(mention.ref for mention in self.mentions)

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(mention.names for mention in self.mentions))

    @property
    def context(self) -> IdentityContext:
        return _joined_context(self.mentions)

    @property
    def known_entity_id(self) -> EntityId | None:
        return next((mention.known_entity_id for mention in self.mentions if mention.known_entity_id), None)


def is_contradiction(mine: IdentityContext, theirs: IdentityContext) -> bool:
    """Whether two identity contexts cannot be of one entity: they share a key and no value of it.

    A key that only one of them has says nothing.
    """
    other = _values_by_key(theirs)
    return any(key in other and values.isdisjoint(other[key]) for key, values in _values_by_key(mine).items())


def decide_identities(mentions: Sequence[Mention], entities: Sequence[Entity]) -> tuple[IdentityDecision, ...]:
    """What each mention of a request means; a name alone never identifies (R3.7).

    Mentions of equal kind that share a name and do not contradict each other are one entity. A candidate is a stored
    entity of the same kind that shares a name or an alias with them. None: a new entity. Exactly one whose context
    does not contradict theirs: that one. Otherwise a question, also where the request itself leaves it open: a mention
    that fits two entities which contradict each other, or two such entities that would both be the same stored one.

    Args:
        mentions: the entities of one request; the answer does not depend on their order.
        entities: at least the team's entities that share a name with a mention or are named as known by one.

    Returns:
        One decision for each group of mentions, by the place of its first mention in the request.

    Raises:
        Refusal: RESOURCE_NOT_FOUND for a known entity that the team does not have, INVALID_FIELD for one of another
            kind and for a ref that stands twice.
    """
    place = {mention.ref: n for n, mention in enumerate(mentions)}
    if len(place) < len(mentions):
        raise Refusal(Reason.INVALID_FIELD, "each entity of a request has a ref of its own", field="proposal.entities")
    by_id = {entity.entity_id: entity for entity in entities}
    for number, mention in enumerate(mentions):
        if mention.known_entity_id is not None:
            _may_be_known(mention, by_id.get(mention.known_entity_id), field=f"proposal.entities[{number}]")
    clusters, unclear = _coalesced(mentions)
    decisions: list[IdentityDecision] = [_decided(cluster, entities) for cluster in clusters]
    decisions = _without_contested(decisions)
    for mention in unclear:
        fitting = (c for c in clusters if any(_is_one_entity(mention, other) for other in c.mentions))
        decisions.append(
            IdentityQuestion(
                refs=(mention.ref,),
                reason=IdentityQuestionReason.AMBIGUOUS_IN_REQUEST,
                candidates=_ids(_candidates(mention.kind, mention.names, entities)),
                candidate_refs=tuple(cluster.refs[0] for cluster in fitting),
            )
        )
    return tuple(sorted(decisions, key=lambda decision: place[decision.refs[0]]))


def may_select_entity(question: IdentityQuestion, ref: MentionRef, entity_id: EntityId) -> None:
    """Checks the answer `select_entity` to an identity item (R3.8).

    Only an offered candidate can be selected. The list decides before anything is looked up, so that an entity of
    another team, a missing one and one that is merely not on offer are refused alike.

    Raises:
        Refusal: INVALID_FIELD naming ``decision.mention_ref`` or ``decision.entity_id``.
    """
    if ref not in question.refs:
        raise Refusal(
            Reason.INVALID_FIELD,
            "the item does not ask about this mention",
            field="decision.mention_ref",
            metadata={"offered": ref, "allowed": ", ".join(question.refs)},
        )
    if entity_id not in question.candidates:
        raise Refusal(
            Reason.INVALID_FIELD,
            "only an offered candidate can be selected",
            field="decision.entity_id",
            metadata={"offered": entity_id, "allowed": ", ".join(question.candidates)},
        )


def may_confirm_new_entity(*, evidence_count: int, entity_id: EntityId | None) -> None:
    """Checks the answer `confirm_new_entity`: it needs evidence, and the server allots the id.

    Raises:
        Refusal: INVALID_FIELD naming ``evidence`` or ``decision.entity_id``.
    """
    if evidence_count < 1:
        raise Refusal(Reason.INVALID_FIELD, "a new entity needs evidence that it is another one", field="evidence")
    if entity_id is not None:
        raise Refusal(Reason.INVALID_FIELD, "the id of a new entity is allotted", field="decision.entity_id")


def _values_by_key(context: IdentityContext) -> dict[str, set[str]]:
    values: defaultdict[str, set[str]] = defaultdict(set)
    for key, value in context.pairs:
        values[key].add(value)
    return values


def _joined_context(mentions: Iterable[Mention]) -> IdentityContext:
    return IdentityContext(pairs=frozenset().union(*(mention.context.pairs for mention in mentions)))


def _is_at_odds(mentions: Iterable[Mention]) -> bool:
    """Whether two of the mentions contradict each other: two values of one key, or two known entities."""
    several = list(mentions)
    known = {mention.known_entity_id for mention in several if mention.known_entity_id}
    by_key = _values_by_key(_joined_context(several))
    return len(known) > 1 or any(len(values) > 1 for values in by_key.values())


def _is_one_entity(one: Mention, other: Mention) -> bool:
    """Whether two mentions, looked at alone, are one entity."""
    return one.kind == other.kind and not one.names.isdisjoint(other.names) and not _is_at_odds((one, other))


def _coalesced(mentions: Sequence[Mention]) -> tuple[list[_Cluster], list[Mention]]:
    """The mentions as clusters that are one entity each, and those that fit two which contradict each other."""
    by_ref = {mention.ref: mention for mention in mentions}
    linked = {
        mention.ref: [o.ref for o in mentions if o.ref != mention.ref and _is_one_entity(mention, o)]
        for mention in mentions
    }
    torn = {ref for ref, others in linked.items() if _is_at_odds(by_ref[other] for other in others)}
    # A mention that says itself which entity it is needs no neighbour for that.
    unclear = {ref for ref in torn if by_ref[ref].known_entity_id is None}
    clusters = [_Cluster((by_ref[ref],)) for ref in by_ref if ref in torn - unclear]
    for part in _connected([ref for ref in by_ref if ref not in torn], linked):
        if _is_at_odds(by_ref[ref] for ref in part):
            unclear.update(part)
        else:
            clusters.append(_Cluster(tuple(by_ref[ref] for ref in part)))
    return clusters, [by_ref[ref] for ref in by_ref if ref in unclear]


def _connected(refs: Sequence[MentionRef], linked: Mapping[MentionRef, Sequence[MentionRef]]) -> list[list[MentionRef]]:
    """The connected parts of the graph of links, restricted to ``refs`` and each in their order."""
    waiting = dict.fromkeys(refs)
    parts = []
    while waiting:
        frontier = [next(iter(waiting))]
        part = set()
        while frontier:
            ref = frontier.pop()
            if ref in waiting:
                del waiting[ref]
                part.add(ref)
                frontier.extend(linked[ref])
        parts.append([ref for ref in refs if ref in part])
    return parts


def _candidates(kind: str, names: frozenset[str], entities: Iterable[Entity]) -> list[Entity]:
    return [entity for entity in entities if entity.kind == kind and not entity.names.isdisjoint(names)]


def _ids(entities: Iterable[Entity]) -> tuple[EntityId, ...]:
    return tuple(sorted(entity.entity_id for entity in entities))


def _decided(cluster: _Cluster, entities: Sequence[Entity]) -> IdentityDecision:
    kind, known = cluster.mentions[0].kind, cluster.known_entity_id
    if known is None:
        candidates = _candidates(kind, cluster.names, entities)
    else:
        candidates = [entity for entity in entities if entity.entity_id == known]
    if not candidates:
        return NewEntity(refs=cluster.refs, kind=kind, names=cluster.names, context=cluster.context)
    fitting = [entity for entity in candidates if not is_contradiction(cluster.context, entity.context)]
    if len(fitting) == 1:
        return ReusedEntity(
            refs=cluster.refs, entity_id=fitting[0].entity_id, names=cluster.names, context=cluster.context
        )
    several = IdentityQuestionReason.SEVERAL_CANDIDATES
    reason = several if fitting else IdentityQuestionReason.CONTEXT_CONTRADICTS
    return IdentityQuestion(refs=cluster.refs, reason=reason, candidates=_ids(candidates))


def _may_be_known(mention: Mention, entity: Entity | None, *, field: str) -> None:
    if entity is None:
        raise missing("entity", str(mention.known_entity_id), field=f"{field}.known_entity_id")
    if entity.kind != mention.kind:
        raise Refusal(
            Reason.INVALID_FIELD,
            "the known entity is of another kind",
            field=f"{field}.entity_kind",
            metadata={"offered": mention.kind, "allowed": entity.kind},
        )


def _without_contested(decisions: Sequence[IdentityDecision]) -> list[IdentityDecision]:
    """The decisions, with a question wherever mentions that contradict each other would be one stored entity."""
    claims: defaultdict[EntityId, list[ReusedEntity]] = defaultdict(list)
    for decision in decisions:
        if isinstance(decision, ReusedEntity):
            claims[decision.entity_id].append(decision)
    contested = {
        entity_id
        for entity_id, reused in claims.items()
        if any(is_contradiction(one.context, other.context) for one in reused for other in reused)
    }
    return [
        IdentityQuestion(
            refs=decision.refs,
            reason=IdentityQuestionReason.AMBIGUOUS_IN_REQUEST,
            candidates=(decision.entity_id,),
        )
        if isinstance(decision, ReusedEntity) and decision.entity_id in contested
        else decision
        for decision in decisions
    ]
