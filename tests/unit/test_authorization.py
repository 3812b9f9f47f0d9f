"""Rights: which key may call what, and whose record a call may change."""

from __future__ import annotations

import itertools

import pytest
from corrigenda_core.domain.actors import SYSTEM_REVIEWER, Actor, ActorKind, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.policy.authorization import RIGHTS, Reach, Verb, may_call, may_call_method, may_change

ANN, BOB = ProfileId("ann"), ProfileId("bob")
READ, WRITE, ADMIN, OPERATOR = KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN, KeyScope.OPERATOR

# Written down a second time, by scope: what a key with nothing but this one may call.
CALLS: dict[KeyScope, str] = {
    READ: """GetPlacement ListConflicts GetConflict ExplainConflict GetCompetingFacts WatchConflicts ListReviewItems
        Recall Trace Timeline GetRelationship SearchEntities ListPredicates GetSourceHistory ListChanges ListProfiles
        ListSources GetTeam""",
    WRITE: """Remember RememberStream PreflightRemember GetPlacement ResolvePlacement CorrectEntityResolution
        AdoptEvidence Forget ResolveConflict RevertResolution AutoResolve""",
    KeyScope.ASSERT_AUTHORITY: "",
    ADMIN: """ResolvePlacement GetTeam UpdateTeamPolicy CreateProfile ListProfiles CreateKey RotateKey RevokeKey
        ListKeys RegisterSource ListSources RegisterPredicate DriveClock OpenTeam ScanConflicts EraseEvidence
        ListAlerts""",
    OPERATOR: "ReviewNow ListReviewRuns GetTeam ListAlerts",
}

OWNERS_VERBS = {
    Verb.REMEMBER, Verb.REMEMBER_STREAM, Verb.ACKNOWLEDGE, Verb.SELECT_ENTITY, Verb.CONFIRM_NEW_ENTITY,
    Verb.SELECT_PREDICATE, Verb.PROPOSE_PREDICATE, Verb.ACCEPT, Verb.REJECT, Verb.CORRECT, Verb.RETRY_VERIFICATION,
    Verb.SPLIT, Verb.MERGE, Verb.ADOPT_EVIDENCE, Verb.RETRACT, Verb.END, Verb.RESOLVE_CONFLICT, Verb.REVERT_RESOLUTION,
    Verb.AUTO_RESOLVE,
}  # fmt: skip
TEAM_VERBS = {Verb.RELEASE_QUARANTINE, Verb.REGISTER_SOURCE, Verb.ERASE_EVIDENCE}

ACTORS = {
    "ann": Actor(kind=ActorKind.PROFILE, profile_id=ANN),
    "judge for ann": Actor(kind=ActorKind.JUDGE, profile_id=ANN),
    "operator ann": Actor(kind=ActorKind.OPERATOR, profile_id=ANN),
    "reviewer": SYSTEM_REVIEWER,
}


def is_refused(check: object, *arguments: object, **more: object) -> Refusal | None:
    assert callable(check)
    try:
        check(*arguments, **more)
    except Refusal as refusal:
        return refusal
    return None


def test_every_verb_has_one_row() -> None:
    assert set(RIGHTS) == set(Verb)
    assert all(right.verb is verb for verb, right in RIGHTS.items())
    assert {verb.method for verb in Verb if verb.value.startswith("IngestService/ResolvePlacement")} == {
        "IngestService/ResolvePlacement"
    }
    assert Verb.RECALL.method == "RecallService/Recall"


@pytest.mark.rule("R11.1")
@pytest.mark.parametrize("scope", KeyScope)
def test_no_permission_implies_another(scope: KeyScope) -> None:
    methods = {verb.method for verb in Verb}
    allowed = {method for method in methods if is_refused(may_call_method, method, {scope}) is None}
    assert {method.split("/")[1] for method in allowed} == set(CALLS[scope].split())
    callable_verbs = {verb for verb in Verb if is_refused(may_call, verb, {scope}) is None}
    assert {verb.method for verb in callable_verbs} == allowed


@pytest.mark.rule("R11.1")
def test_the_action_decides_where_a_method_has_several() -> None:
    assert is_refused(may_call, Verb.RELEASE_QUARANTINE, {WRITE, READ}) is not None
    assert is_refused(may_call, Verb.RELEASE_QUARANTINE, {ADMIN}) is None
    assert is_refused(may_call, Verb.ACCEPT, {ADMIN}) is not None


@pytest.mark.rule("R11.1")
def test_the_refusal_names_what_is_needed() -> None:
    refusal = is_refused(may_call, Verb.GET_PLACEMENT, ())
    assert refusal is not None
    assert (refusal.reason, refusal.metadata) == (Reason.SCOPE_MISSING, {"needed": "read,write"})


@pytest.mark.rule("R11.1")
def test_nobody_calls_what_the_table_does_not_have_or_what_only_the_reviewer_does() -> None:
    everything = set(KeyScope)
    assert is_refused(may_call_method, "/corrigenda.ingest.v1.IngestService/Remember", everything) is None
    assert is_refused(may_call_method, "/corrigenda.ingest.v1.IngestService/Unknown", everything) is not None
    assert is_refused(may_call_method, "reviewer/close_case", everything) is not None
    assert is_refused(may_call, Verb.CLOSE_CASE, everything) is not None


def may(actor: Actor, owner: ProfileId, verb: Verb) -> bool:
    refusal = is_refused(may_change, actor, owner, verb, resource_type="relationship", resource_id="r1")
    assert refusal is None or refusal.reason is Reason.NOT_OWNER
    assert refusal is None or refusal.metadata == {"resource_type": "relationship", "resource_id": "r1"}
    return refusal is None


@pytest.mark.rule("R4.6")
@pytest.mark.parametrize(("name", "verb"), list(itertools.product(ACTORS, Verb)))
def test_owner_times_verb(name: str, verb: Verb) -> None:
    """The whole table: every actor, every verb, own record and another's."""
    actor = ACTORS[name]
    own, others = may(actor, ANN, verb), may(actor, BOB, verb)
    if verb in OWNERS_VERBS:
        assert own == (name == "ann" or (name == "judge for ann" and verb is Verb.AUTO_RESOLVE))
        assert not others
    elif verb in TEAM_VERBS:
        assert own == others == (name == "ann")
    elif verb is Verb.CLOSE_CASE:
        assert own == others == (name == "reviewer")
    else:
        assert RIGHTS[verb].reach is Reach.NOBODY
        assert not own
        assert not others


@pytest.mark.rule("R4.6")
def test_reading_scopes_change_nothing() -> None:
    for right in RIGHTS.values():
        if READ in right.any_of:
            assert right.reach is Reach.NOBODY
