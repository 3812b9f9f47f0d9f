"""Registering a predicate: its first version, the next one, or its retirement; only an administrator does it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.type.v1 import predicate_pb2
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import Reason, Refusal, stale
from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.predicates import (
    Predicate,
    PredicateLifecycle,
    SameMomentPolicy,
    StartGranularity,
    SupersessionBasis,
)
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.ingest_store import predicate_of
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.persistence.transaction import Committed, Transaction
from corrigenda_core.policy.normalisation import decide_name_form, decide_predicate_key
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.enums import (
    CARDINALITY,
    RELATIONSHIP_KIND,
    SAME_MOMENT_POLICY,
    START_GRANULARITY,
    SUPERSESSION_BASIS,
    VALUE_TYPE,
)
from corrigenda_core.rpc.idempotent import idempotency_of
from corrigenda_core.rpc.predicate_messages import predicate_message

from corrigenda_ingest.use_cases.administration import Administration


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPredicate:
    """The use case; see `__call__`."""

    administration: Administration

    async def __call__(
        self, caller: Caller, request: admin_service_pb2.RegisterPredicateRequest, deadline: Deadline
    ) -> Committed[admin_service_pb2.RegisterPredicateResponse]:
        """Registers a version of a predicate (R3.6); past versions stay as they were.

        Raises:
            Refusal: STALE_VERSION; INVALID_FIELD for an alias that means another predicate, for a key that is another
                one's alias, for a kind that the predicate has not had, and for `retire` of what is not registered.
        """
        defined = _defined(request.definition)
        forms = {
            decide_predicate_key(alias, field=f"definition.aliases[{number}]")
            for number, alias in enumerate(defined.aliases)
        } - {defined.key}

        def check(transaction: Transaction) -> None:
            before = _before(transaction)
            _require_version(request, before)
            _require_same_kind(before, defined)
            _require_free(forms, defined.key, transaction)

        def change(transaction: Transaction, moment: Moment) -> admin_service_pb2.RegisterPredicateResponse:
            before = _before(transaction)
            lifecycle = PredicateLifecycle.RETIRED if request.retire else PredicateLifecycle.ACTIVE
            now = replace(defined, version=1 if before is None else before.version + 1, lifecycle=lifecycle)
            transaction.put(tables.predicates, _row(now), None if before is None else before.version)
            for alias, active in _aliases(forms, transaction.prefetched["alias_rows"], defined.key):
                transaction.replace(
                    tables.predicate_aliases, {"alias": alias, "predicate": defined.key, "active": active}
                )
            return admin_service_pb2.RegisterPredicateResponse(
                predicate=predicate_message(now), revision=moment.revision
            )

        sql = load_sql("admin.sql")
        return await self.administration.commit(
            caller,
            "register_predicate",
            change,
            check=check,
            prefetch=[
                sql.query("predicate_row", team_id=caller.team_id, predicate=defined.key),
                sql.query(
                    "alias_rows", team_id=caller.team_id, predicate=defined.key, forms=sorted({*forms, defined.key})
                ),
                sql.query("keys_taken", team_id=caller.team_id, forms=sorted(forms)),
            ],
            idempotency=idempotency_of(request, caller.profile_id, admin_service_pb2.RegisterPredicateResponse),
            deadline=deadline,
        )


def _defined(definition: predicate_pb2.PredicateDefinition) -> Predicate:
    """The predicate of a definition; kinds in the form in which entities are compared."""

    def kinds(name: str) -> tuple[str, ...]:
        given = getattr(definition, name)
        return tuple(decide_name_form(kind, field=f"definition.{name}[{number}]") for number, kind in enumerate(given))

    return Predicate(
        key=PredicateKey(definition.key),
        aliases=tuple(definition.aliases),
        subject_kinds=kinds("subject_kinds"),
        object_kinds=kinds("object_kinds"),
        value_types=tuple(VALUE_TYPE.to_domain(one) for one in definition.value_types),
        unit=definition.unit,
        kind=RELATIONSHIP_KIND.to_domain(definition.relationship_kind),
        cardinality=CARDINALITY.to_domain(definition.current_cardinality),
        basis=SUPERSESSION_BASIS.to_domain_or(definition.supersession_basis, SupersessionBasis.EVIDENCE_TIME),
        same_moment=SAME_MOMENT_POLICY.to_domain_or(definition.same_moment_policy, SameMomentPolicy.HOLD),
        granularity=START_GRANULARITY.to_domain_or(definition.start_granularity, StartGranularity.INSTANT),
        pii_class=definition.pii_class,
        review_after_days=definition.review_after_days if definition.HasField("review_after_days") else None,
    )


def _before(transaction: Transaction) -> Predicate | None:
    rows = transaction.prefetched["predicate_row"]
    return predicate_of(rows[0]) if rows else None


def _require_version(request: admin_service_pb2.RegisterPredicateRequest, before: Predicate | None) -> None:
    current = 0 if before is None else before.version
    if request.HasField("expected_version") and request.expected_version != current:
        raise stale(
            f"the predicate is at version {current}, not {request.expected_version}",
            resource_type="predicate",
            resource_id=request.definition.key,
            expected=request.expected_version,
            current=current,
            field="expected_version",
        )
    if request.retire and before is None:
        raise Refusal(Reason.INVALID_FIELD, "what is not registered cannot be retired", field="retire")


def _require_same_kind(before: Predicate | None, defined: Predicate) -> None:
    """What happened on a day and what holds for a time are two predicates: no registry turns one into the other."""
    if before is not None and before.kind is not defined.kind:
        raise Refusal(
            Reason.INVALID_FIELD,
            f"definition.relationship_kind of a registered predicate stays {before.kind.value}",
            field="definition.relationship_kind",
            metadata={"offered": defined.kind.value, "allowed": before.kind.value},
        )


def _require_free(forms: Iterable[str], key: PredicateKey, transaction: Transaction) -> None:
    """A phrase means one predicate: none is both a key and an alias, or an alias of two."""
    rows = transaction.prefetched["alias_rows"]
    meant = {row["alias"]: row["predicate"] for row in rows if row["active"] and row["predicate"] != key}
    keys = {row["predicate"] for row in transaction.prefetched["keys_taken"]}
    if key in meant:
        raise Refusal(
            Reason.INVALID_FIELD,
            f"{key} is an alias of {meant[key]} already",
            field="definition.key",
            metadata={"alias": key, "predicate": meant[key]},
        )
    meant |= {form: form for form in keys}
    for form in sorted(forms):
        if form in meant:
            raise Refusal(
                Reason.INVALID_FIELD,
                f"the alias {form} means {meant[form]} already",
                field="definition.aliases",
                metadata={"alias": form, "predicate": meant[form]},
            )


def _aliases(forms: set[PredicateKey], rows: Iterable[Row], key: PredicateKey) -> list[tuple[str, bool]]:
    """The aliases whose row changes, with whether they are active from now on."""
    own = {row["alias"]: row["active"] for row in rows if row["predicate"] == key}
    wanted = dict.fromkeys(forms, True)
    dropped = {alias: False for alias in own if alias not in forms}
    return sorted((alias, active) for alias, active in (wanted | dropped).items() if own.get(alias) is not active)


def _row(predicate: Predicate) -> dict[str, object]:
    return {
        "predicate": predicate.key,
        "version": predicate.version,
        "aliases": predicate.aliases,
        "subject_kinds": predicate.subject_kinds,
        "object_kinds": predicate.object_kinds,
        "value_types": predicate.value_types,
        "unit": predicate.unit,
        "relationship_kind": predicate.kind,
        "current_cardinality": predicate.cardinality,
        "supersession_basis": predicate.basis,
        "same_moment_policy": predicate.same_moment,
        "start_granularity": predicate.granularity,
        "pii_class": predicate.pii_class,
        "review_after_days": predicate.review_after_days,
        "lifecycle": predicate.lifecycle,
    }
