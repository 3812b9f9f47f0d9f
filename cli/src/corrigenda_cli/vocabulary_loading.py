"""Registers a vocabulary in a team: what is missing there and, if asked to, the next version of what is different."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import predicate_pb2

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

    from corrigenda_cli.vocabulary import Vocabulary

PAGE_SIZE = 200


async def register_vocabulary(client: Client, vocabulary: Vocabulary, *, update: bool) -> dict[str, list[str]]:
    """What became of each predicate: its key under ``new``, ``updated``, ``unchanged`` or ``different``."""
    known = await _known(client)
    done: dict[str, list[str]] = {"new": [], "updated": [], "unchanged": [], "different": []}
    for entry in vocabulary.entries:
        definition = entry.definition
        before = known.get(definition.key)
        active = before is not None and before.lifecycle == predicate_pb2.PREDICATE_LIFECYCLE_ACTIVE
        if before is not None and active and before.definition == definition:
            done["unchanged"].append(definition.key)
            continue
        if before is not None and not update:
            done["different"].append(definition.key)
            continue
        version = 0 if before is None else before.version
        digest = hashlib.sha256(definition.SerializeToString(deterministic=True)).hexdigest()[:16]
        await client.admin.RegisterPredicate(
            admin_service_pb2.RegisterPredicateRequest(
                # A load that was cut off is repeated and not doubled.
                idempotency_key=f"vocabulary:{definition.key}:{version}:{digest}",
                definition=definition,
                expected_version=version or None,
            )
        )
        done["new" if before is None else "updated"].append(definition.key)
    return done


async def _known(client: Client) -> dict[str, predicate_pb2.Predicate]:
    known: dict[str, predicate_pb2.Predicate] = {}
    request = recall_service_pb2.ListPredicatesRequest(include_retired=True, page_size=PAGE_SIZE)
    while True:
        page = await client.recall.ListPredicates(request)
        known |= {one.definition.key: one for one in page.predicates}
        if not page.next_page_token:
            return known
        request.page_token = page.next_page_token
