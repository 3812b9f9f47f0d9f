"""Who may call what, and whose record a call may change: one table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from corrigenda_core.domain.actors import Actor, ActorKind, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ProfileId


class Verb(StrEnum):
    """Everything that somebody can ask for, or that the system does by itself.

    The value is the service and the method; where the rights of one method differ by its action, the action follows.
    """

    REMEMBER = "IngestService/Remember"
    REMEMBER_STREAM = "IngestService/RememberStream"
    PREFLIGHT_REMEMBER = "IngestService/PreflightRemember"
    GET_PLACEMENT = "IngestService/GetPlacement"
    ACKNOWLEDGE = "IngestService/ResolvePlacement/acknowledge"
    SELECT_ENTITY = "IngestService/ResolvePlacement/select_entity"
    CONFIRM_NEW_ENTITY = "IngestService/ResolvePlacement/confirm_new_entity"
    SELECT_PREDICATE = "IngestService/ResolvePlacement/select_predicate"
    PROPOSE_PREDICATE = "IngestService/ResolvePlacement/propose_predicate"
    ACCEPT = "IngestService/ResolvePlacement/accept"
    REJECT = "IngestService/ResolvePlacement/reject"
    CORRECT = "IngestService/ResolvePlacement/correct"
    RETRY_VERIFICATION = "IngestService/ResolvePlacement/retry_verification"
    RELEASE_QUARANTINE = "IngestService/ResolvePlacement/release_quarantine"
    SPLIT = "IngestService/CorrectEntityResolution/split"
    MERGE = "IngestService/CorrectEntityResolution/merge"
    ADOPT_EVIDENCE = "IngestService/AdoptEvidence"
    RETRACT = "IngestService/Forget/retract"
    END = "IngestService/Forget/end"

    LIST_CONFLICTS = "ConflictService/ListConflicts"
    GET_CONFLICT = "ConflictService/GetConflict"
    EXPLAIN_CONFLICT = "ConflictService/ExplainConflict"
    GET_COMPETING_FACTS = "ConflictService/GetCompetingFacts"
    RESOLVE_CONFLICT = "ConflictService/ResolveConflict"
    REVERT_RESOLUTION = "ConflictService/RevertResolution"
    AUTO_RESOLVE = "ConflictService/AutoResolve"
    WATCH_CONFLICTS = "ConflictService/WatchConflicts"
    REVIEW_NOW = "ConflictService/ReviewNow"
    LIST_REVIEW_RUNS = "ConflictService/ListReviewRuns"
    LIST_REVIEW_ITEMS = "ConflictService/ListReviewItems"

    RECALL = "RecallService/Recall"
    TRACE = "RecallService/Trace"
    TIMELINE = "RecallService/Timeline"
    GET_RELATIONSHIP = "RecallService/GetRelationship"
    SEARCH_ENTITIES = "RecallService/SearchEntities"
    LIST_PREDICATES = "RecallService/ListPredicates"
    GET_SOURCE_HISTORY = "RecallService/GetSourceHistory"
    LIST_CHANGES = "RecallService/ListChanges"

    GET_TEAM = "AdminService/GetTeam"
    UPDATE_TEAM_POLICY = "AdminService/UpdateTeamPolicy"
    CREATE_PROFILE = "AdminService/CreateProfile"
    LIST_PROFILES = "AdminService/ListProfiles"
    CREATE_KEY = "AdminService/CreateKey"
    ROTATE_KEY = "AdminService/RotateKey"
    REVOKE_KEY = "AdminService/RevokeKey"
    LIST_KEYS = "AdminService/ListKeys"
    REGISTER_SOURCE = "AdminService/RegisterSource"
    LIST_SOURCES = "AdminService/ListSources"
    REGISTER_PREDICATE = "AdminService/RegisterPredicate"
    DRIVE_CLOCK = "AdminService/DriveClock"
    OPEN_TEAM = "AdminService/OpenTeam"
    SCAN_CONFLICTS = "AdminService/ScanConflicts"
    ERASE_EVIDENCE = "AdminService/EraseEvidence"
    LIST_ALERTS = "AdminService/ListAlerts"

    CLOSE_CASE = "reviewer/close_case"

    @property
    def method(self) -> str:
        """Service and method, without the action."""
        return "/".join(self.value.split("/")[:2])


class Reach(StrEnum):
    """Whose relationships, observations, supports and items a verb may change."""

    NOBODY = "nobody"
    """It reads, or changes what has no owner."""
    OWN = "own"
    """Those of the profile that acts."""
    TEAM = "team"
    """Those of every profile: what an administrator decides about evidence and registries."""
    CASE = "case"
    """Those of every owner in a team case, by the system reviewer alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One row of the table: a verb, the permissions of which a key needs any one, and how far it reaches.

    No permission implies another one. A verb without permissions is nobody's to call.
    """

    verb: Verb
    any_of: frozenset[KeyScope]
    reach: Reach


def _rights(reach: Reach, scopes: Collection[KeyScope], *verbs: Verb) -> dict[Verb, Right]:
    return {verb: Right(verb=verb, any_of=frozenset(scopes), reach=reach) for verb in verbs}


_READ, _WRITE, _ADMIN, _OPERATOR = KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN, KeyScope.OPERATOR

RIGHTS: dict[Verb, Right] = {
    **_rights(Reach.OWN, {_WRITE}, Verb.REMEMBER, Verb.REMEMBER_STREAM),
    # Preflight says what `Remember` would do, and without the permission to write that would do nothing.
    **_rights(Reach.NOBODY, {_WRITE}, Verb.PREFLIGHT_REMEMBER),
    **_rights(Reach.NOBODY, {_READ, _WRITE}, Verb.GET_PLACEMENT),
    **_rights(Reach.OWN, {_WRITE}, Verb.ACKNOWLEDGE, Verb.SELECT_ENTITY, Verb.CONFIRM_NEW_ENTITY),
    **_rights(Reach.OWN, {_WRITE}, Verb.SELECT_PREDICATE, Verb.PROPOSE_PREDICATE, Verb.RETRY_VERIFICATION),
    **_rights(Reach.OWN, {_WRITE}, Verb.ACCEPT, Verb.REJECT, Verb.CORRECT),
    **_rights(Reach.TEAM, {_ADMIN}, Verb.RELEASE_QUARANTINE),
    **_rights(Reach.OWN, {_WRITE}, Verb.SPLIT, Verb.MERGE, Verb.ADOPT_EVIDENCE, Verb.RETRACT, Verb.END),
    **_rights(Reach.NOBODY, {_READ}, Verb.LIST_CONFLICTS, Verb.GET_CONFLICT, Verb.EXPLAIN_CONFLICT),
    **_rights(Reach.NOBODY, {_READ}, Verb.GET_COMPETING_FACTS, Verb.WATCH_CONFLICTS, Verb.LIST_REVIEW_ITEMS),
    **_rights(Reach.OWN, {_WRITE}, Verb.RESOLVE_CONFLICT, Verb.REVERT_RESOLUTION, Verb.AUTO_RESOLVE),
    **_rights(Reach.NOBODY, {_OPERATOR}, Verb.REVIEW_NOW, Verb.LIST_REVIEW_RUNS),
    **_rights(Reach.NOBODY, {_READ}, Verb.RECALL, Verb.TRACE, Verb.TIMELINE, Verb.GET_RELATIONSHIP),
    **_rights(Reach.NOBODY, {_READ}, Verb.SEARCH_ENTITIES, Verb.LIST_PREDICATES),
    **_rights(Reach.NOBODY, {_READ}, Verb.GET_SOURCE_HISTORY, Verb.LIST_CHANGES),
    # Who reads a team's memory reads its times, and needs its zone for that.
    **_rights(Reach.NOBODY, {_ADMIN, _OPERATOR, _READ}, Verb.GET_TEAM),
    **_rights(Reach.NOBODY, {_ADMIN, _OPERATOR}, Verb.LIST_ALERTS),
    **_rights(Reach.NOBODY, {_ADMIN, _READ}, Verb.LIST_PROFILES, Verb.LIST_SOURCES),
    **_rights(Reach.NOBODY, {_ADMIN}, Verb.UPDATE_TEAM_POLICY, Verb.CREATE_PROFILE, Verb.REGISTER_PREDICATE),
    **_rights(Reach.NOBODY, {_ADMIN}, Verb.CREATE_KEY, Verb.ROTATE_KEY, Verb.REVOKE_KEY, Verb.LIST_KEYS),
    **_rights(Reach.NOBODY, {_ADMIN}, Verb.DRIVE_CLOCK, Verb.OPEN_TEAM, Verb.SCAN_CONFLICTS),
    # A change of the registry appends support decisions, and an erasure makes supports ineffective, whoever owns them.
    **_rights(Reach.TEAM, {_ADMIN}, Verb.REGISTER_SOURCE, Verb.ERASE_EVIDENCE),
    **_rights(Reach.CASE, (), Verb.CLOSE_CASE),
}


def may_call(verb: Verb, scopes: Collection[KeyScope]) -> None:
    """Checks that a key with these permissions may call the verb.

    Raises:
        Refusal: SCOPE_MISSING with the permissions of which one is enough.
    """
    needed = RIGHTS[verb].any_of
    if needed.isdisjoint(scopes):
        raise _scope_missing(needed)


def may_call_method(method: str, scopes: Collection[KeyScope]) -> None:
    """Checks that a key may call a method at all, before its action is known.

    Args:
        method: service and method as the wire names them, with or without the package
            (``/corrigenda.ingest.v1.IngestService/Remember``).
        scopes: the permissions of the key.

    Raises:
        Refusal: SCOPE_MISSING, also for a method that the table does not have.
    """
    name = method.rsplit(".", 1)[-1].lstrip("/")
    needed = frozenset[KeyScope]().union(*(right.any_of for right in RIGHTS.values() if right.verb.method == name))
    if needed.isdisjoint(scopes):
        raise _scope_missing(needed)


def may_change(actor: Actor, owner: ProfileId, verb: Verb, *, resource_type: str, resource_id: str) -> None:
    """Checks that an actor may change a record of this owner by this verb (R4.6).

    A profile changes its own record only; so does the judge for the profile in whose queue it works, and by no other
    verb. An administrator's decisions about evidence and registries reach every profile's supports. The system
    reviewer closes team cases and does nothing else; nobody else does that.

    Args:
        actor: who acts.
        owner: whose record it is; the caller can see it, since a foreign one is refused as missing before.
        verb: what is done.
        resource_type: what kind of record it is, for the refusal.
        resource_id: its id, for the refusal.

    Raises:
        Refusal: NOT_OWNER.
    """
    is_profile = actor.kind is ActorKind.PROFILE
    match RIGHTS[verb].reach:
        case Reach.NOBODY:
            allowed = False
        case Reach.OWN:
            is_judge = actor.kind is ActorKind.JUDGE and verb is Verb.AUTO_RESOLVE
            allowed = actor.profile_id == owner and (is_profile or is_judge)
        case Reach.TEAM:
            allowed = is_profile
        case Reach.CASE:
            allowed = actor.kind is ActorKind.REVIEWER
        case never:
            assert_never(never)
    if not allowed:
        raise Refusal(
            Reason.NOT_OWNER,
            "the record belongs to another profile",
            metadata={"resource_type": resource_type, "resource_id": resource_id},
        )


def _scope_missing(needed: Collection[KeyScope]) -> Refusal:
    return Refusal(
        Reason.SCOPE_MISSING,
        "the key lacks a permission that the call needs",
        metadata={"needed": ",".join(sorted(needed))},
    )
