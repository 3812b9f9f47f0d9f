"""Authority: who may speak for a source, what a claim is granted, and how a source moves on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, SourceType, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, PredicateKey, ProfileId, SupportId
from corrigenda_core.domain.sources import (
    EveryPredicate,
    FragmentSource,
    OnlyPredicates,
    OnlyProfiles,
    RegisteredSource,
    SourceClaim,
    SourceState,
)
from corrigenda_core.policy.authority import (
    NOTE_AUTHORITY_LOWERED,
    NOTE_STORED_AS_MANUAL,
    Advance,
    ClaimedSupport,
    FirstRevision,
    NoRevision,
    RevisionDecision,
    SameRevision,
    decide_authority,
    decide_registered_labels,
    decide_source_revision,
    decide_source_type,
    decide_spoken_labels,
    decide_superseded_fragments,
    may_correct_with,
    may_supersede_fragments,
    may_use_source,
    plan_regrants,
)

ANN, BOB = ProfileId("ann"), ProfileId("bob")
TIER, BRANCH = PredicateKey("tier"), PredicateKey("deploys_from")
AUTHORITATIVE, PRIMARY = Authority.AUTHORITATIVE, Authority.PRIMARY

CRM = RegisteredSource(
    source_group="crm",
    speakers=OnlyProfiles(profiles=frozenset({ANN})),
    authoritative_for=OnlyPredicates(keys=frozenset({TIER})),
    record=True,
)
WIKI = RegisteredSource(source_group="wiki", source_key="wiki/deploy", authoritative_for=EveryPredicate())
REGISTRY = (CRM, WIKI)


def claim(
    author: ProfileId = ANN,
    group: str | None = None,
    key: str | None = None,
    revision: str | None = None,
    previous: str | None = None,
) -> SourceClaim:
    return SourceClaim(
        author=author,
        source_group=group,
        source_key=key,
        source_revision=(revision or "r1") if key else revision,
        previous_source_revision=previous,
    )


def state(current: str, prior: str | None = None, first_user: ProfileId = ANN, key: str = "doc") -> SourceState:
    return SourceState(source_key=key, first_user=first_user, current_revision=current, prior_revision=prior)


@pytest.mark.rule("R2.3")
@pytest.mark.parametrize(
    ("claimed", "predicate", "made", "scopes", "granted"),
    [
        (AUTHORITATIVE, TIER, claim(group="crm"), (), AUTHORITATIVE),
        (AUTHORITATIVE, BRANCH, claim(group="crm"), (), PRIMARY),
        (AUTHORITATIVE, TIER, claim(BOB, group="crm"), (), PRIMARY),
        (AUTHORITATIVE, TIER, claim(), (), PRIMARY),
        (AUTHORITATIVE, TIER, claim(group="other"), (), PRIMARY),
        (AUTHORITATIVE, BRANCH, claim(BOB, group="wiki", key="wiki/deploy"), (), AUTHORITATIVE),
        # An entry with a group and a key is about that key of that group only.
        (AUTHORITATIVE, BRANCH, claim(BOB, group="wiki"), (), PRIMARY),
        (AUTHORITATIVE, BRANCH, claim(BOB, key="wiki/deploy"), (), PRIMARY),
        (AUTHORITATIVE, BRANCH, claim(), {KeyScope.ASSERT_AUTHORITY}, AUTHORITATIVE),
        (AUTHORITATIVE, BRANCH, claim(), {KeyScope.ADMIN, KeyScope.WRITE, KeyScope.READ}, PRIMARY),
        *((other, TIER, claim(), (), other) for other in Authority if other is not AUTHORITATIVE),
        # Nothing is ever raised.
        (Authority.INFERRED, TIER, claim(group="crm"), {KeyScope.ASSERT_AUTHORITY}, Authority.INFERRED),
    ],
)
def test_authority_is_granted_not_claimed(
    claimed: Authority, predicate: PredicateKey, made: SourceClaim, scopes: set[KeyScope], granted: Authority
) -> None:
    answer = decide_authority(claimed, predicate=predicate, claim=made, registry=REGISTRY, scopes=scopes)
    assert answer.authority is granted
    assert answer.note == (NOTE_AUTHORITY_LOWERED if granted is not claimed else "")


@pytest.mark.rule("R2.3")
def test_a_system_record_needs_a_source_registered_as_a_record() -> None:
    assert decide_source_type(SourceType.SYSTEM_RECORD, claim(group="crm"), REGISTRY) == (SourceType.SYSTEM_RECORD, "")
    manual = (SourceType.MANUAL, NOTE_STORED_AS_MANUAL)
    assert decide_source_type(SourceType.SYSTEM_RECORD, claim(group="wiki"), REGISTRY) == manual
    assert decide_source_type(SourceType.SYSTEM_RECORD, claim(BOB, group="crm"), REGISTRY) == manual
    assert decide_source_type(SourceType.SYSTEM_RECORD, claim(), REGISTRY) == manual
    for other in set(SourceType) - {SourceType.SYSTEM_RECORD}:
        assert decide_source_type(other, claim(), REGISTRY) == (other, "")


@pytest.mark.rule("R2.3")
def test_a_change_of_the_registry_appends_decisions_that_keep_the_kind_of_the_last() -> None:
    def claimed(name: str, kind: SupportDecisionKind, authority: Authority, *scopes: KeyScope) -> ClaimedSupport:
        return ClaimedSupport(
            last=SupportDecision(support_id=SupportId(name), kind=kind, authority=authority, reason="at ingest"),
            claimed=AUTHORITATIVE,
            predicate=TIER,
            claim=claim(group="crm"),
            key_scopes=frozenset(scopes),
        )

    granted = claimed("granted", SupportDecisionKind.GRANT, AUTHORITATIVE)
    revoked = claimed("revoked", SupportDecisionKind.REVOKE, AUTHORITATIVE)
    by_key = claimed("by key", SupportDecisionKind.GRANT, AUTHORITATIVE, KeyScope.ASSERT_AUTHORITY)
    supports = (granted, revoked, by_key)

    assert plan_regrants(supports, REGISTRY) == ()
    lowered = plan_regrants(supports, (replace(CRM, authoritative_for=OnlyPredicates()),))
    assert [(d.support_id, d.kind, d.authority) for d in lowered] == [
        ("granted", SupportDecisionKind.GRANT, PRIMARY),
        ("revoked", SupportDecisionKind.REVOKE, PRIMARY),
    ]
    assert {d.reason for d in lowered} == {"source_registry_changed"}
    again = [replace(one, last=decision) for one, decision in zip(supports[:2], lowered, strict=True)]
    assert [d.authority for d in plan_regrants(again, REGISTRY)] == [AUTHORITATIVE, AUTHORITATIVE]


@pytest.mark.rule("R2.4")
@pytest.mark.parametrize(
    ("made", "key_state", "refused"),
    [
        (claim(), None, None),
        (claim(group="crm"), None, None),
        (claim(BOB, group="crm"), None, ("source_group", "crm")),
        (claim(BOB, group="wiki"), None, None),
        (claim(BOB, group="anything"), None, None),
        (claim(key="doc"), None, None),
        (claim(key="doc"), state("r1"), None),
        (claim(BOB, key="doc"), state("r1"), ("source_key", "doc")),
        # A registered key is the registry's, whoever used it first.
        (claim(BOB, key="wiki/deploy"), state("r1", key="wiki/deploy"), None),
        (claim(BOB, group="crm", key="doc"), None, ("source_group", "crm")),
    ],
)
def test_who_may_speak_for_a_source(
    made: SourceClaim, key_state: SourceState | None, refused: tuple[str, str] | None
) -> None:
    if refused is None:
        may_use_source(made, REGISTRY, key_state)
        return
    with pytest.raises(Refusal) as raised:
        may_use_source(made, REGISTRY, key_state)
    assert raised.value.reason is Reason.SOURCE_NOT_ALLOWED
    assert (raised.value.field, raised.value.metadata) == (refused[0], {"source": refused[1]})


@pytest.mark.rule("R2.4")
def test_a_registered_key_with_listed_speakers_is_theirs() -> None:
    registry = [RegisteredSource(source_key="doc", speakers=OnlyProfiles(profiles=frozenset({BOB})))]
    may_use_source(claim(BOB, key="doc"), registry, state("r1", first_user=ANN))
    with pytest.raises(Refusal) as raised:
        may_use_source(claim(ANN, key="doc"), registry, state("r1", first_user=ANN))
    assert raised.value.field == "source_key"


def test_labels_of_the_sources_that_an_author_speaks_for() -> None:
    assert decide_registered_labels(ANN, REGISTRY) == {"group:crm", "group:wiki", "key:wiki/deploy"}
    assert decide_registered_labels(BOB, REGISTRY) == {"group:wiki", "key:wiki/deploy"}


@pytest.mark.rule("R6.1")
@pytest.mark.parametrize(
    ("made", "key_is_spoken_for"),
    [
        # The whole group is registered, so that every key in it is; for those who speak for it.
        (claim(ANN, group="crm", key="crm/1"), True),
        (claim(BOB, group="crm", key="crm/1"), False),
        (claim(key="crm/1"), False),
        # One key of the group is registered.
        (claim(group="wiki", key="wiki/deploy"), True),
        (claim(group="wiki", key="wiki/new"), False),
    ],
)
def test_whoever_speaks_for_a_group_speaks_for_the_keys_in_it(made: SourceClaim, key_is_spoken_for: bool) -> None:
    labels = decide_spoken_labels(made, REGISTRY)
    assert (f"key:{made.source_key}" in labels) is key_is_spoken_for
    assert labels >= decide_registered_labels(made.author, REGISTRY)


STALE = "stale"


@pytest.mark.rule("R2.5")
@pytest.mark.parametrize(
    ("revision", "previous", "key_state", "expected"),
    [
        ("r1", None, None, FirstRevision(state=state("r1"))),
        ("r1", "r0", None, STALE),
        ("r1", None, state("r1"), SameRevision()),
        ("r2", "r1", state("r1"), Advance(state=state("r2", "r1"))),
        ("r2", None, state("r1"), STALE),
        ("r2", "r0", state("r1"), STALE),
        # The second fragment of a revision says the same as the first one did.
        ("r2", "r1", state("r2", "r1"), SameRevision()),
        ("r2", None, state("r2", "r1"), SameRevision()),
        ("r2", "r0", state("r2", "r1"), STALE),
        # A late copy of an older revision is none of the current one.
        ("r1", None, state("r2", "r1"), STALE),
        # A token may come back, as a new activation.
        ("r1", "r2", state("r2", "r1"), Advance(state=state("r1", "r2"))),
    ],
)
def test_advancing_a_source_compares_and_sets(
    revision: str, previous: str | None, key_state: SourceState | None, expected: RevisionDecision | str
) -> None:
    made = claim(key="doc", revision=revision, previous=previous)
    if expected != STALE:
        assert decide_source_revision(made, key_state) == expected
        return
    with pytest.raises(Refusal) as raised:
        decide_source_revision(made, key_state)
    assert raised.value.reason is Reason.SOURCE_REVISION_STALE
    assert raised.value.metadata == {
        "source_key": "doc",
        "expected_revision": previous or "",
        "current_revision": key_state.current_revision if key_state else "",
    }


@pytest.mark.rule("R2.5")
def test_a_fragment_without_a_key_takes_part_in_no_revision() -> None:
    assert decide_source_revision(claim(group="crm"), None) == NoRevision()


def stored(name: str, **of: str) -> FragmentSource:
    author = ProfileId(of.pop("author", "ann"))
    return FragmentSource(fragment_id=FragmentId(name), claim=claim(author, **of))


@pytest.mark.rule("R2.5")
def test_activation_takes_effect_on_the_prior_revision_whoever_wrote_it() -> None:
    fragments = [
        stored("old", key="doc", revision="r1"),
        stored("old of another", author="bob", key="doc", revision="r1"),
        stored("older", key="doc", revision="r0"),
        stored("new", key="doc", revision="r2"),
        stored("elsewhere", key="other", revision="r1"),
        stored("without key", group="crm"),
    ]
    assert decide_superseded_fragments(state("r2", "r1"), fragments) == ("old", "old of another")


@pytest.mark.rule("R2.9")
@pytest.mark.parametrize(
    ("made", "named", "allowed"),
    [
        (claim(key="doc"), stored("f", key="doc"), True),
        (claim(key="doc", group="crm"), stored("f", key="doc"), True),
        (claim(key="doc"), stored("f", key="doc", author="bob"), False),
        (claim(key="doc"), stored("f", key="other"), False),
        (claim(key="doc"), stored("f"), False),
        (claim(group="crm"), stored("f", group="crm"), True),
        (claim(group="crm"), stored("f", group="wiki"), False),
        (claim(group="crm"), stored("f", group="crm", key="doc"), False),
        (claim(), stored("f"), True),
    ],
)
def test_only_own_fragments_of_the_same_source_are_superseded(
    made: SourceClaim, named: FragmentSource, allowed: bool
) -> None:
    same = FragmentSource(fragment_id=FragmentId("same"), claim=made)
    if allowed:
        may_supersede_fragments(made, [same, named])
        return
    with pytest.raises(Refusal) as raised:
        may_supersede_fragments(made, [same, named])
    assert raised.value.reason is Reason.NOT_OWNER
    assert raised.value.metadata == {"resource_type": "fragment", "resource_id": "f"}


@pytest.mark.rule("R2.9")
def test_a_correction_advances_no_source() -> None:
    may_correct_with(claim(group="user-resolution:1"))
    with pytest.raises(Refusal) as raised:
        may_correct_with(claim(key="doc", revision="r2", previous="r1"))
    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_FIELD, "evidence.source_revision")


@pytest.mark.parametrize(
    "broken",
    [
        lambda: RegisteredSource(),
        lambda: SourceClaim(author=ANN, source_key="doc"),
        lambda: SourceClaim(author=ANN, source_revision="r1"),
        lambda: SourceClaim(author=ANN, previous_source_revision="r1"),
        lambda: claim(key="doc", revision="r1", previous="r1"),
    ],
)
def test_values_that_cannot_exist(broken: object) -> None:
    assert callable(broken)
    with pytest.raises(ValueError, match="source"):
        broken()
