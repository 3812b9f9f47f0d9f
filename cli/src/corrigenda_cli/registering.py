"""`corrigenda predicates list`, `register` and `scan`: the registry of a team, one predicate at a time."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigenda_cli.asking import add_paging_options, ask, ask_pages, listen, page_lines, said
from corrigenda_cli.calling import add_idempotency_option, printed, runs
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command
from corrigenda_cli.reading.submissions import VALUE_TYPES

if TYPE_CHECKING:
    from corrigenda.type.v1 import predicate_pb2
    from corrigenda_core.rpc.client import Client

KINDS, CARDINALITIES = ("state", "event"), ("one", "many")
SAME_MOMENT_POLICIES, GRANULARITIES = ("hold", "compete", "close"), ("instant", "day")
BASES = ("evidence_time", "stated_time", "observed_time")


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
    add_paging_options(listing)
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
    register.add_argument("--kind", choices=KINDS, default="state", help="a state that holds, or an event (state)")
    register.add_argument("--cardinality", choices=CARDINALITIES, default="one", help="values at a time (one)")
    register.add_argument("--alias", action="append", default=[], help="a phrase that means it; repeatable")
    register.add_argument("--subject-kind", action="append", default=[], help="a kind of subject; repeatable")
    register.add_argument("--object-kind", action="append", default=[], help="a kind of object; repeatable")
    register.add_argument("--value-type", action="append", default=[], choices=VALUE_TYPES, help="repeatable")
    register.add_argument("--unit", default="", help="unit of its numbers")
    register.add_argument("--basis", choices=BASES, help="which times order its values")
    register.add_argument("--same-moment", choices=SAME_MOMENT_POLICIES, help="what becomes of a tie")
    register.add_argument("--granularity", choices=GRANULARITIES, help="of starts")
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
    fields = said(prefix=options.prefix, include_retired=options.retired)
    answer = await ask_pages(client, options, "ListPredicates", fields)
    lines = [_line(one) for one in answer.predicates] or ["no predicates"]
    return printed(options, answer, [*lines, *page_lines(answer)])


async def _register(options: argparse.Namespace, client: Client) -> int:
    definition = said(
        key=options.key,
        aliases=options.alias,
        subject_kinds=options.subject_kind,
        object_kinds=options.object_kind,
        value_types=options.value_type,
        unit=options.unit,
        relationship_kind=options.kind,
        current_cardinality=options.cardinality,
        supersession_basis=options.basis,
        same_moment_policy=options.same_moment,
        start_granularity=options.granularity,
        pii_class=options.pii_class,
        review_after_days=options.review_after_days,
    )
    fields = said(
        idempotency_key=options.idempotency_key,
        definition=definition,
        expected_version=options.expected_version,
        retire=options.retire,
    )
    answer = await ask(client, "RegisterPredicate", fields)
    return printed(options, answer, [_line(answer.predicate)])


async def _scan(options: argparse.Namespace, client: Client) -> int:
    fields = said(
        idempotency_key=options.idempotency_key, predicate=options.key, slots_per_commit=options.slots_per_commit
    )
    async for answer in listen(client, "ScanConflicts", fields):
        # A long scan is followed line by line.
        told = (
            f"{answer.scanned_slots} of {answer.total_slots} slots: {answer.changed_relationships} relationships "
            f"changed, {answer.opened_conflicts} conflicts opened, {answer.changed_conflicts} changed"
        )
        printed(options, answer, [told])
    return ExitStatus.DONE


def _line(predicate: predicate_pb2.Predicate) -> str:
    from corrigenda.type.v1 import predicate_pb2

    definition = predicate.definition
    kind = predicate_pb2.RelationshipKind.Name(definition.relationship_kind).removeprefix("RELATIONSHIP_KIND_")
    cardinality = predicate_pb2.Cardinality.Name(definition.current_cardinality).removeprefix("CARDINALITY_")
    retired = predicate.lifecycle == predicate_pb2.PREDICATE_LIFECYCLE_RETIRED
    aliases = f"  ({', '.join(definition.aliases)})" if definition.aliases else ""
    words = f"{kind.lower()} of {cardinality.lower()}{', retired' if retired else ''}"
    return f"{definition.key}  version {predicate.version}  {words}{aliases}"
