"""`corrigenda predicates list`, `register` and `scan`: the registry of a team, one predicate at a time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.calling import add_idempotency_option, printed, runs
from corrigenda_cli.help_text import add_command
from corrigenda_cli.output import print_json

if TYPE_CHECKING:
    from corrigenda.type.v1 import predicate_pb2
    from corrigenda_core.rpc.client import Client

PAGE_SIZE = 200
_KINDS, _CARDINALITIES = ("state", "event"), ("one", "many")
_VALUE_TYPES = ("text", "number", "boolean", "date", "instant")
_BASES = ("evidence_time", "stated_time", "observed_time")


def add_registry_parsers(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the three actions."""
    listing = add_command(
        actions,
        "list",
        summary="list the registered predicates of a team",
        examples=["corrigenda predicates list deploy"],
    )
    listing.add_argument("prefix", nargs="?", default="", help="only those whose key or alias begins so")
    listing.add_argument("--retired", action="store_true", help="also retired ones")
    runs(listing, _list)

    register = add_command(
        actions,
        "register",
        summary="register a predicate or its next version",
        description="Registers a predicate, or its next version, with everything that it says: nothing is taken over "
        "from the version before. Where a cardinality changes, `corrigenda predicates scan` looks at what "
        "is recorded.",
        examples=['corrigenda predicates register owned_by --cardinality one --alias "is owned by"'],
    )
    register.add_argument("key", help="its key, such as owned_by")
    register.add_argument("--kind", choices=_KINDS, default="state", help="a state that holds, or an event (state)")
    register.add_argument("--cardinality", choices=_CARDINALITIES, default="one", help="values at a time (one)")
    register.add_argument("--alias", action="append", default=[], help="a phrase that means it; repeatable")
    register.add_argument("--subject-kind", action="append", default=[], help="a kind of subject; repeatable")
    register.add_argument("--object-kind", action="append", default=[], help="a kind of object; repeatable")
    register.add_argument("--value-type", action="append", default=[], choices=_VALUE_TYPES, help="repeatable")
    register.add_argument("--unit", default="", help="unit of its numbers")
    register.add_argument("--basis", choices=_BASES, help="which times order its values")
    register.add_argument("--same-moment", choices=("hold", "compete", "close"), help="what becomes of a tie")
    register.add_argument("--granularity", choices=("instant", "day"), help="of starts")
    register.add_argument("--pii-class", default="", help="stored and shown")
    register.add_argument("--review-after-days", type=int, metavar="N", help="stored and shown")
    register.add_argument(
        "--expected-version", type=int, metavar="N", help="the version that you saw (default: the current one)"
    )
    register.add_argument("--retire", action="store_true", help="it takes no new statements any more")
    add_idempotency_option(register)
    runs(register, _register)

    scan = add_command(
        actions,
        "scan",
        summary="look at what is recorded after a change of the registry",
        description="Folds every slot of a predicate, or of all, by the registry as it is now, and opens the conflicts "
        "that follow. Repeated with its --idempotency-key it goes on where it ended.",
        examples=["corrigenda predicates scan owned_by"],
    )
    scan.add_argument("key", nargs="?", default="", help="key of the predicate (default: all)")
    scan.add_argument("--slots-per-commit", type=int, metavar="N", help="1..100 (20)")
    add_idempotency_option(scan)
    runs(scan, _scan)


async def _list(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.recall.v1 import recall_service_pb2

    request = recall_service_pb2.ListPredicatesRequest(
        prefix=options.prefix, include_retired=options.retired, page_size=PAGE_SIZE
    )
    whole = recall_service_pb2.ListPredicatesResponse()
    while True:
        page = await client.recall.ListPredicates(request)
        whole.predicates.extend(page.predicates)
        whole.total, whole.revision = page.total, page.revision
        if not page.next_page_token:
            return printed(options, whole, [_line(one) for one in whole.predicates] or ["no predicates"])
        request.page_token = page.next_page_token


async def _register(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2

    answer = await client.admin.RegisterPredicate(
        admin_service_pb2.RegisterPredicateRequest(
            idempotency_key=options.idempotency_key,
            definition=_definition(options),
            expected_version=options.expected_version,
            retire=options.retire,
        )
    )
    return printed(options, answer, [_line(answer.predicate)])


async def _scan(options: argparse.Namespace, client: Client) -> int:
    from corrigenda.admin.v1 import admin_service_pb2

    request = admin_service_pb2.ScanConflictsRequest(
        idempotency_key=options.idempotency_key, predicate=options.key, slots_per_commit=options.slots_per_commit
    )
    async for answer in client.admin.ScanConflicts(request):
        # A long scan is followed line by line.
        if options.json:
            print_json(answer)
        else:
            print(
                f"{answer.scanned_slots} of {answer.total_slots} slots: {answer.changed_relationships} relationships "
                f"changed, {answer.opened_conflicts} conflicts opened, {answer.changed_conflicts} changed",
                flush=True,
            )
    return 0


def _definition(options: argparse.Namespace) -> predicate_pb2.PredicateDefinition:
    from corrigenda.type.v1 import object_pb2, predicate_pb2

    def member(enum: str, value: str | None) -> str:
        return f"{enum}_{'UNSPECIFIED' if value is None else value.upper()}"

    return predicate_pb2.PredicateDefinition(
        key=options.key,
        aliases=options.alias,
        subject_kinds=options.subject_kind,
        object_kinds=options.object_kind,
        value_types=[object_pb2.ValueType.Value(member("VALUE_TYPE", one)) for one in options.value_type],
        unit=options.unit,
        relationship_kind=predicate_pb2.RelationshipKind.Value(member("RELATIONSHIP_KIND", options.kind)),
        current_cardinality=predicate_pb2.Cardinality.Value(member("CARDINALITY", options.cardinality)),
        supersession_basis=predicate_pb2.SupersessionBasis.Value(member("SUPERSESSION_BASIS", options.basis)),
        same_moment_policy=predicate_pb2.SameMomentPolicy.Value(member("SAME_MOMENT_POLICY", options.same_moment)),
        start_granularity=predicate_pb2.StartGranularity.Value(member("START_GRANULARITY", options.granularity)),
        pii_class=options.pii_class,
        review_after_days=options.review_after_days,
    )


def _line(predicate: predicate_pb2.Predicate) -> str:
    from corrigenda.type.v1 import predicate_pb2

    definition = predicate.definition
    kind = predicate_pb2.RelationshipKind.Name(definition.relationship_kind).removeprefix("RELATIONSHIP_KIND_")
    cardinality = predicate_pb2.Cardinality.Name(definition.current_cardinality).removeprefix("CARDINALITY_")
    retired = predicate.lifecycle == predicate_pb2.PREDICATE_LIFECYCLE_RETIRED
    aliases = f"  ({', '.join(definition.aliases)})" if definition.aliases else ""
    words = f"{kind.lower()} of {cardinality.lower()}{', retired' if retired else ''}"
    return f"{definition.key}  version {predicate.version}  {words}{aliases}"
