"""Small complete revisions for tests of the write path: a submission with its evidence, a predicate's next version."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping

from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.transaction import Transaction


def actor_of(profile_id: ProfileId) -> Actor:
    """The profile as actor."""
    return Actor(kind=ActorKind.PROFILE, profile_id=profile_id)


def write_evidence(transaction: Transaction, profile_id: ProfileId, text: str) -> Moment:
    """One revision: a submission with one fragment."""
    moment = transaction.next_moment(actor_of(profile_id), "test_evidence")
    ingest_id = str(uuid.uuid4())
    transaction.insert(tables.ingests, {"ingest_id": ingest_id, "profile_id": profile_id, "result": b""})
    transaction.insert(tables.evidence_fragments, fragment_row(ingest_id, profile_id, text))
    return moment


def fragment_row(ingest_id: str, profile_id: ProfileId, text: str) -> dict[str, object]:
    """A plain fragment."""
    return {
        "fragment_id": str(uuid.uuid4()),
        "ingest_id": ingest_id,
        "author_id": profile_id,
        "content": text,
        "content_sha256": hashlib.sha256(text.encode()).digest(),
        "normal_sha256": hashlib.sha256(text.casefold().encode()).digest(),
        "source_type": "manual",
        "claimed_authority": "primary",
        "supersedes_fragment_ids": [],
        "derived_from_fragment_ids": [],
        "inherited_labels": [],
        "labels": ["one", 'with "quotes" and \\'],
        "metadata": {"number": 1.50, "nested": {"b": [1, None, True], "a": "ü"}},
        "scan_verdict": "pass",
        "scan_findings": [],
    }


def predicate_row(key: str, version: int, **changes: object) -> dict[str, object]:
    """A version of a predicate."""
    row: dict[str, object] = {
        "predicate": key,
        "version": version,
        "aliases": [],
        "subject_kinds": [],
        "object_kinds": [],
        "value_types": [],
        "unit": "",
        "relationship_kind": "state",
        "current_cardinality": "one",
        "supersession_basis": "evidence_time",
        "same_moment_policy": "hold",
        "start_granularity": "instant",
        "pii_class": "",
        "review_after_days": None,
        "lifecycle": "active",
    }
    return {**row, **changes}


def write_predicate(
    transaction: Transaction, profile_id: ProfileId, row: Mapping[str, object], prior_version: int | None
) -> Moment:
    """One revision: a version of a predicate."""
    moment = transaction.next_moment(actor_of(profile_id), "test_predicate")
    transaction.put(tables.predicates, row, prior_version)
    return moment
