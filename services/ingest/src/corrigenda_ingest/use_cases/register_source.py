"""Registering a source: what it may say, and what its word is worth from now on, also where it has spoken already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda_core.domain.actors import Actor, ActorKind, Caller
from corrigenda_core.domain.errors import Reason, Refusal, missing, stale
from corrigenda_core.domain.evidence import SupportDecision
from corrigenda_core.domain.ids import IdempotencyKey, IdRange
from corrigenda_core.domain.objects import Slot
from corrigenda_core.domain.slots import PlanContext
from corrigenda_core.domain.sources import OnlyPredicates, OnlyProfiles, RegisteredSource, SourceLifecycle
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import predicate_of, team_policy_of
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.source_store import (
    SlotSupport,
    predicates_by_key,
    registered_sources,
    slot_support_of,
    source_columns,
    source_of,
    supports_of_source,
)
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.policy.authority import REASON_REGISTRY_CHANGED, plan_regrants
from corrigenda_core.policy.limits import decide_limit, may_offer
from corrigenda_core.policy.support_switches import plan_support_switches
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.source_messages import source_message, source_of_definition

from corrigenda_ingest.computing import SLOT_AS_CODE_POINTS, computed
from corrigenda_ingest.touched_slots import SlotChange, load_slots
from corrigenda_ingest.use_cases.administration import Administration

CHANGE_KIND = "register_source"

# The group and the key name an entry for good.
_CHANGED_COLUMNS = ("speakers", "authoritative_for_all", "authoritative_for", "record", "lifecycle")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterSource:
    """The use case; see `__call__`."""

    administration: Administration

    async def __call__(
        self, caller: Caller, request: admin_service_pb2.RegisterSourceRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.RegisterSourceResponse]:
        """Registers a version of a source and decides again what its evidence was granted, in one commit.

        Raises:
            Refusal: STALE_VERSION; INVALID_FIELD for a definition that contradicts itself, for a predicate that is not
                registered and for `retire` of what is not registered; RESOURCE_NOT_FOUND for a speaker;
                TOO_MANY_ITEMS if more would be decided again than one commit can.
        """
        defined = source_of_definition(request.definition, version=(request.expected_version or 0) + 1)
        ids = self.administration.new_ids()

        async def plan(transaction: Transaction) -> admin_service_pb2.RegisterSourceResponse:
            _require_version(request, next(iter(transaction.prefetched["source_row"]), None))
            _require_named(defined, transaction.prefetched)
            supports = [slot_support_of(row) for row in _supports(transaction.prefetched)]
            may_offer("supports_per_source_change", len(supports), field="definition")
            regrants = await _regrants(transaction, supports, defined, in_use=not request.retire)
            versions = CaseRowVersions()
            changes = await _changes(transaction, caller, regrants, ids, versions)
            moment = _write(transaction, caller, request, defined, changes, versions, ids)
            return admin_service_pb2.RegisterSourceResponse(
                source=source_message(defined, active=not request.retire),
                changed_supports=sum(len(one) for one in regrants.values()),
                changed_relationships=sum(len(one.changes.relationships) for one in changes),
                revision=moment.revision,
            )

        return await self.administration.runner.run(
            caller.team_id,
            plan,
            prefetch=_prefetch(caller, defined),
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.RegisterSourceResponse),
            deadline=deadline,
        )


def _prefetch(caller: Caller, defined: RegisteredSource) -> list[Query]:
    sql, team = load_sql("sources.sql"), {"team_id": caller.team_id}
    group, key = defined.source_group or "", defined.source_key or ""
    speakers = defined.speakers.profiles if isinstance(defined.speakers, OnlyProfiles) else ()
    listed = defined.authoritative_for.keys if isinstance(defined.authoritative_for, OnlyPredicates) else ()
    return [
        sql.query("source_row", **team, source_group=group, source_key=key),
        sql.query("profiles_there", **team, profile_ids=sorted(speakers)),
        sql.query("predicates_there", **team, predicates=sorted(listed)),
        load_sql("ingest.sql").query("team_settings", **team, profile_id=caller.profile_id),
        supports_of_source(
            caller.team_id,
            source_group=group,
            source_key=key,
            limit=decide_limit("supports_per_source_change").greatest + 1,
        ),
    ]


def _supports(answers: Mapping[str, list[Row]]) -> Sequence[Row]:
    return answers.get("supports_of_source_key") or answers.get("supports_of_source_group") or ()


def _require_version(request: admin_service_pb2.RegisterSourceRequest, before: Row | None) -> None:
    current = 0 if before is None else before["version"]
    expected = request.expected_version if request.HasField("expected_version") else 0
    if expected != current:
        raise stale(
            f"the source is at version {current}, not {expected}",
            resource_type="source",
            resource_id=request.definition.source_key or request.definition.source_group,
            expected=expected,
            current=current,
            field="expected_version",
        )
    if request.retire and before is None:
        raise Refusal(Reason.INVALID_FIELD, "what is not registered cannot be retired", field="retire")


def _require_named(defined: RegisteredSource, answers: Mapping[str, list[Row]]) -> None:
    """Every speaker is a profile of the team, every predicate is registered."""
    speakers = defined.speakers.profiles if isinstance(defined.speakers, OnlyProfiles) else frozenset()
    for absent in sorted(speakers - {row["profile_id"] for row in answers["profiles_there"]}):
        raise missing("profile", absent, field="definition.speaker_profile_ids")
    listed = defined.authoritative_for.keys if isinstance(defined.authoritative_for, OnlyPredicates) else frozenset()
    for unknown in sorted(listed - {row["predicate"] for row in answers["predicates_there"]}):
        raise Refusal(
            Reason.INVALID_FIELD,
            f"no predicate {unknown} is registered",
            field="definition.authoritative_for",
            metadata={"predicate": unknown},
        )


async def _regrants(
    transaction: Transaction, supports: Sequence[SlotSupport], defined: RegisteredSource, *, in_use: bool
) -> dict[Slot, list[SupportDecision]]:
    """By slot, the decision for each support whose authority changes once the registry says this."""
    groups = {one.claimed.claim.source_group for one in supports} - {None}
    keys = {one.claimed.claim.source_key for one in supports} - {None}
    if not supports:
        return {}
    names = (defined.source_group, defined.source_key)
    query = registered_sources(
        transaction.team_id, groups={one for one in groups if one}, keys={one for one in keys if one}
    )
    others = [source_of(row) for row in await transaction.fetch(query)]
    registry = [one for one in others if (one.source_group, one.source_key) != names]
    decisions = plan_regrants([one.claimed for one in supports], [*registry, defined] if in_use else registry)
    slots = {one.claimed.last.support_id: one.slot for one in supports}
    by_slot: dict[Slot, list[SupportDecision]] = defaultdict(list)
    for decision in decisions:
        by_slot[slots[decision.support_id]].append(decision)
    return dict(by_slot)


async def _changes(
    transaction: Transaction,
    caller: Caller,
    regrants: Mapping[Slot, Sequence[SupportDecision]],
    ids: IdRange,
    versions: CaseRowVersions,
) -> list[SlotChange]:
    """What the decisions do to each slot; the slots are loaded now, while the team waits."""
    may_offer("slots_per_source_change", len(regrants), field="definition")
    if not regrants:
        return []
    rows = await transaction.fetch(predicates_by_key(transaction.team_id, {slot.predicate for slot in regrants}))
    predicates = {row["predicate"]: predicate_of(row) for row in rows}
    touched = {slot: predicates[slot.predicate] for slot in regrants}
    views = await load_slots(transaction.fetch_all, transaction.team_id, touched, versions)
    (settings,) = transaction.prefetched["team_settings"]
    moment, policy = transaction.reading.next_moment(), team_policy_of(settings)

    def planned() -> list[SlotChange]:
        changes = []
        for number, (slot, view) in enumerate(views.items()):
            context = PlanContext(moment=moment, ids=ids.part(number + 1), actor=_actor(caller), policy=policy)
            switched = plan_support_switches(view, context, regrants[slot], REASON_REGISTRY_CHANGED)
            changes.append(SlotChange(before=view, changes=switched))
        return changes

    return await computed(SLOT_AS_CODE_POINTS * len(views), planned)


def _write(
    transaction: Transaction,
    caller: Caller,
    request: admin_service_pb2.RegisterSourceRequest,
    defined: RegisteredSource,
    changes: Sequence[SlotChange],
    versions: CaseRowVersions,
    ids: IdRange,
) -> Moment:
    moment = transaction.next_moment(_actor(caller), CHANGE_KIND)
    before = next(iter(transaction.prefetched["source_row"]), None)
    source_id = ids.nth(0) if before is None else before["source_id"]
    lifecycle = SourceLifecycle.RETIRED if request.retire else SourceLifecycle.ACTIVE
    transaction.put(
        tables.sources,
        source_columns(defined, source_id=source_id, lifecycle=lifecycle),
        None if before is None else before["version"],
        _CHANGED_COLUMNS,
    )
    writer = ChangesWriter(
        transaction=transaction,
        actor=_actor(caller),
        versions=versions,
        key=IdempotencyKey(request.idempotency_key),
    )
    for change in changes:
        change.write(writer, moment)
    return moment


def _actor(caller: Caller) -> Actor:
    return Actor(kind=ActorKind.PROFILE, profile_id=caller.profile_id)
