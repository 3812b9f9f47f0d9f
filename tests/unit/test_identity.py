"""Identity: which entity a mention means, and which answers are accepted."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from corrigenda_core.domain.entities import Entity, IdentityContext, Mention, MentionRef
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import EntityId
from corrigenda_core.policy.identity import (
    IdentityDecision,
    IdentityQuestion,
    IdentityQuestionReason,
    NewEntity,
    ReusedEntity,
    decide_identities,
    is_contradiction,
    may_confirm_new_entity,
    may_select_entity,
)
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 2_000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 150


def context(text: str) -> IdentityContext:
    """``"team=a team=b lang=x"`` as a context."""
    pairs = [pair.split("=") for pair in text.split()]
    return IdentityContext(pairs=frozenset((key, value) for key, value in pairs))


def mention(
    ref: str, name: str = "mark", about: str = "", *, aliases: str = "", kind: str = "person", known: str = ""
) -> Mention:
    return Mention(
        ref=MentionRef(ref),
        kind=kind,
        name=name,
        aliases=frozenset(aliases.split()),
        context=context(about),
        known_entity_id=EntityId(known) if known else None,
    )


def entity(entity_id: str, names: str = "mark", about: str = "", *, kind: str = "person") -> Entity:
    return Entity(entity_id=EntityId(entity_id), kind=kind, names=frozenset(names.split()), context=context(about))


def in_short(decision: IdentityDecision) -> str:
    """``"m1,m2 new"``, ``"m1 = e1"``, ``"m1 ? e1,e2 reason"`` and ``"m1 ? e1 (m2,m3) reason"``."""
    refs = ",".join(decision.refs)
    match decision:
        case NewEntity():
            return f"{refs} new"
        case ReusedEntity(entity_id=entity_id):
            return f"{refs} = {entity_id}"
        case IdentityQuestion(reason=reason, candidates=candidates, candidate_refs=candidate_refs):
            inside = f" ({','.join(candidate_refs)})" if candidate_refs else ""
            return f"{refs} ? {','.join(candidates)}{inside} {reason.value}"


@pytest.mark.rule("R3.7")
@pytest.mark.parametrize(
    ("mine", "theirs", "contradicts"),
    [
        ("", "", False),
        ("repo=a", "", False),
        ("repo=a", "repo=a", False),
        ("repo=a", "repo=b", True),
        ("repo=a", "lang=b", False),
        ("repo=a lang=x", "repo=a lang=y", True),
        # An entity can have several values of a key; one in common is enough.
        ("repo=a", "repo=a repo=b", False),
        ("repo=c", "repo=a repo=b", True),
    ],
)
def test_contradiction_of_contexts(mine: str, theirs: str, contradicts: bool) -> None:
    assert is_contradiction(context(mine), context(theirs)) is contradicts
    assert is_contradiction(context(theirs), context(mine)) is contradicts


@pytest.mark.rule("R3.7")
@pytest.mark.parametrize(
    ("mentions", "entities", "expected"),
    [
        # --- one mention against what is stored
        ([], [], []),
        ([mention("m")], [], ["m new"]),
        ([mention("m")], [entity("e", "huang")], ["m new"]),
        ([mention("m")], [entity("e", kind="company")], ["m new"]),
        ([mention("m")], [entity("e")], ["m = e"]),
        ([mention("m", "mark")], [entity("e", "huang mark")], ["m = e"]),
        ([mention("m", "mark", aliases="huang")], [entity("e", "huang")], ["m = e"]),
        ([mention("m", about="repo=a")], [entity("e")], ["m = e"]),
        ([mention("m")], [entity("e", about="repo=a")], ["m = e"]),
        ([mention("m", about="repo=a")], [entity("e", about="repo=a")], ["m = e"]),
        ([mention("m", about="repo=a")], [entity("e", about="repo=b")], ["m ? e context_contradicts"]),
        ([mention("m")], [entity("e2"), entity("e1")], ["m ? e1,e2 several_candidates"]),
        # The context tells the one that is meant.
        ([mention("m", about="repo=a")], [entity("e1", about="repo=a"), entity("e2", about="repo=b")], ["m = e1"]),
        (
            [mention("m", about="repo=a")],
            [entity("e1", about="repo=b"), entity("e2", about="repo=c")],
            ["m ? e1,e2 context_contradicts"],
        ),
        (
            [mention("m", about="repo=a")],
            [entity("e1"), entity("e2", about="repo=a"), entity("e3", about="repo=b")],
            ["m ? e1,e2,e3 several_candidates"],
        ),
        # --- what the caller knows goes before names, not before a contradiction
        ([mention("m", "anything", known="e2")], [entity("e1"), entity("e2")], ["m = e2"]),
        (
            [mention("m", about="repo=a", known="e2")],
            [entity("e1"), entity("e2", about="repo=b")],
            ["m ? e2 context_contradicts"],
        ),
        # --- several mentions of one request
        ([mention("m1"), mention("m2")], [], ["m1,m2 new"]),
        ([mention("m1"), mention("m2", kind="company")], [], ["m1 new", "m2 new"]),
        ([mention("m1"), mention("m2", "huang")], [], ["m1 new", "m2 new"]),
        ([mention("m1", aliases="huang"), mention("m2", "huang")], [], ["m1,m2 new"]),
        ([mention("m1", about="repo=a"), mention("m2", about="lang=x")], [], ["m1,m2 new"]),
        ([mention("m1", about="repo=a"), mention("m2", about="repo=b")], [], ["m1 new", "m2 new"]),
        ([mention("m1"), mention("m2")], [entity("e")], ["m1,m2 = e"]),
        ([mention("m1"), mention("m2", known="e")], [entity("e"), entity("e2")], ["m1,m2 = e"]),
        (
            [mention("m1", known="e1"), mention("m2", known="e2")],
            [entity("e1"), entity("e2")],
            ["m1 = e1", "m2 = e2"],
        ),
        # A mention that fits two entities which contradict each other is asked about, whatever its place.
        (
            [mention("m1"), mention("m2", about="repo=a"), mention("m3", about="repo=b")],
            [],
            ["m1 ?  (m2,m3) ambiguous_in_request", "m2 new", "m3 new"],
        ),
        (
            [mention("m1", about="repo=a"), mention("m2", about="repo=b"), mention("m3")],
            [entity("e", about="repo=a")],
            ["m1 = e", "m2 ? e context_contradicts", "m3 ? e (m1,m2) ambiguous_in_request"],
        ),
        # What it could be are entities of the request, also if it shares a name with only one mention of each.
        (
            [
                mention("m1"),
                mention("m2", "huang", "repo=a"),
                mention("m3", about="repo=a", aliases="huang"),
                mention("m4", about="repo=b"),
            ],
            [],
            ["m1 ?  (m2,m4) ambiguous_in_request", "m2,m3 new", "m4 new"],
        ),
        # ... unless it says itself which one it is.
        (
            [mention("m1", known="e"), mention("m2", about="repo=a"), mention("m3", about="repo=b")],
            [entity("e", "other")],
            ["m1 = e", "m2 new", "m3 new"],
        ),
        # A stored entity that has no context cannot be two that contradict each other.
        (
            [mention("m1", about="repo=a"), mention("m2", about="repo=b")],
            [entity("e")],
            ["m1 ? e ambiguous_in_request", "m2 ? e ambiguous_in_request"],
        ),
        # Two names of one stored entity are no dispute.
        ([mention("m1"), mention("m2", "huang")], [entity("e", "mark huang")], ["m1 = e", "m2 = e"]),
        # A chain of aliases whose ends contradict each other.
        (
            [
                mention("m1", "a", "repo=a", aliases="b"),
                mention("m2", "b", aliases="c"),
                mention("m3", "c", aliases="d"),
                mention("m4", "d", "repo=b"),
            ],
            [],
            [f"m{n} ?  ambiguous_in_request" for n in range(1, 5)],
        ),
    ],
)
def test_what_a_mention_means(mentions: list[Mention], entities: list[Entity], expected: list[str]) -> None:
    assert [in_short(decision) for decision in decide_identities(mentions, entities)] == expected


@pytest.mark.rule("R3.7")
def test_an_entity_takes_over_what_its_mentions_say() -> None:
    mentions = [mention("m1", about="repo=a", aliases="huang"), mention("m2", about="lang=x")]
    (new,) = decide_identities(mentions, [])
    assert new == NewEntity(
        refs=(MentionRef("m1"), MentionRef("m2")),
        kind="person",
        names=frozenset({"mark", "huang"}),
        context=context("repo=a lang=x"),
    )
    (reused,) = decide_identities(mentions, [entity("e")])
    assert isinstance(reused, ReusedEntity)
    assert (reused.names, reused.context) == (new.names, new.context)
    assert entity("e").context.joined(reused.context) == new.context


@pytest.mark.rule("R3.7")
@pytest.mark.parametrize(
    ("mentions", "reason", "field"),
    [
        (
            [mention("m"), mention("n", known="missing")],
            Reason.RESOURCE_NOT_FOUND,
            "proposal.entities[1].known_entity_id",
        ),
        ([mention("m", kind="company", known="e")], Reason.INVALID_FIELD, "proposal.entities[0].entity_kind"),
        ([mention("m"), mention("m")], Reason.INVALID_FIELD, "proposal.entities"),
    ],
)
def test_refused_requests(mentions: list[Mention], reason: Reason, field: str) -> None:
    with pytest.raises(Refusal) as raised:
        decide_identities(mentions, [entity("e")])
    assert (raised.value.reason, raised.value.field) == (reason, field)


# --- algebra

NAMES = st.sampled_from(["mark", "huang", "ann"])
PAIRS = st.dictionaries(st.sampled_from(["repo", "lang"]), st.sampled_from("ab"), max_size=2)


@st.composite
def requests(draw: st.DrawFn) -> list[Mention]:
    drawn = draw(
        st.lists(
            st.tuples(NAMES, st.sets(NAMES, max_size=1), PAIRS, st.sampled_from(["person", "company"])), max_size=6
        )
    )
    return [
        mention(f"m{n}", name, " ".join(f"{k}={v}" for k, v in pairs.items()), aliases=" ".join(aliases), kind=kind)
        for n, (name, aliases, pairs, kind) in enumerate(drawn)
    ]


@st.composite
def stores(draw: st.DrawFn) -> list[Entity]:
    drawn = draw(
        st.lists(st.tuples(st.sets(NAMES, min_size=1), PAIRS, st.sampled_from(["person", "company"])), max_size=4)
    )
    return [
        entity(f"e{n}", " ".join(names), " ".join(f"{k}={v}" for k, v in pairs.items()), kind=kind)
        for n, (names, pairs, kind) in enumerate(drawn)
    ]


def as_partition(decisions: Sequence[IdentityDecision]) -> set[tuple[frozenset[MentionRef], str, tuple[EntityId, ...]]]:
    return {
        (
            frozenset(decision.refs),
            type(decision).__name__,
            decision.candidates if isinstance(decision, IdentityQuestion) else (),
        )
        for decision in decisions
    }


@pytest.mark.rule("R3.7")
@settings(max_examples=EXAMPLES)
@given(mentions=requests(), entities=stores(), data=st.data())
def test_the_order_of_a_request_decides_nothing(
    mentions: list[Mention], entities: list[Entity], data: st.DataObject
) -> None:
    decided = decide_identities(mentions, entities)
    shuffled = decide_identities(data.draw(st.permutations(mentions)), data.draw(st.permutations(entities)))
    assert as_partition(decided) == as_partition(shuffled)


@pytest.mark.rule("R3.7")
@settings(max_examples=EXAMPLES)
@given(mentions=requests(), entities=stores())
def test_nothing_that_contradicts_becomes_one_entity(mentions: list[Mention], entities: list[Entity]) -> None:
    decisions = decide_identities(mentions, entities)
    assert sorted(ref for decision in decisions for ref in decision.refs) == sorted(m.ref for m in mentions)
    by_ref = {m.ref: m for m in mentions}
    by_id = {e.entity_id: e for e in entities}
    meant: dict[str, list[Mention]] = {}
    for n, decision in enumerate(decisions):
        members = [by_ref[ref] for ref in decision.refs]
        assert len({m.kind for m in members}) == 1
        if isinstance(decision, IdentityQuestion):
            continue
        meant.setdefault(decision.entity_id if isinstance(decision, ReusedEntity) else f"new {n}", []).extend(members)
        if isinstance(decision, ReusedEntity):
            stored = by_id[decision.entity_id]
            assert stored.kind == members[0].kind
            assert not stored.names.isdisjoint(decision.names)
            assert not is_contradiction(decision.context, stored.context)
    for members in meant.values():
        assert not any(is_contradiction(one.context, other.context) for one in members for other in members)


# --- answers to an identity item

QUESTION = IdentityQuestion(
    refs=(MentionRef("mark"),),
    reason=IdentityQuestionReason.SEVERAL_CANDIDATES,
    candidates=(EntityId("e1"), EntityId("e2")),
)


@pytest.mark.rule("R3.8")
@pytest.mark.parametrize(
    ("ref", "entity_id", "field"),
    [
        ("mark", "e1", None),
        ("mark", "e2", None),
        ("mark", "e3", "decision.entity_id"),
        ("mark", "of another team", "decision.entity_id"),
        ("other", "e1", "decision.mention_ref"),
    ],
)
def test_only_an_offered_candidate_is_selected(ref: str, entity_id: str, field: str | None) -> None:
    if field is None:
        may_select_entity(QUESTION, MentionRef(ref), EntityId(entity_id))
        return
    with pytest.raises(Refusal) as raised:
        may_select_entity(QUESTION, MentionRef(ref), EntityId(entity_id))
    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_FIELD, field)


@pytest.mark.rule("R3.8")
def test_missing_and_foreign_candidates_are_refused_alike() -> None:
    texts = set()
    for entity_id in ("missing", "foreign", "of the team but not on offer"):
        with pytest.raises(Refusal) as raised:
            may_select_entity(QUESTION, MentionRef("mark"), EntityId(entity_id))
        texts.add((raised.value.reason, raised.value.message, raised.value.metadata["allowed"]))
    assert len(texts) == 1


@pytest.mark.rule("R3.8")
@pytest.mark.parametrize(
    ("evidence_count", "entity_id", "field"),
    [(1, None, None), (20, None, None), (0, None, "evidence"), (1, "e9", "decision.entity_id")],
)
def test_a_new_entity_needs_evidence_and_gets_its_id(
    evidence_count: int, entity_id: str | None, field: str | None
) -> None:
    named = EntityId(entity_id) if entity_id else None
    if field is None:
        may_confirm_new_entity(evidence_count=evidence_count, entity_id=named)
        return
    with pytest.raises(Refusal) as raised:
        may_confirm_new_entity(evidence_count=evidence_count, entity_id=named)
    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_FIELD, field)


def test_values_that_cannot_exist() -> None:
    with pytest.raises(ValueError, match="empty normal form"):
        mention("m", "")
    with pytest.raises(ValueError, match="two values"):
        mention("m", about="repo=a repo=b")
    with pytest.raises(ValueError, match="not empty"):
        IdentityContext(pairs=frozenset({("", "a")}))
