"""Which texts an erasure leaves in place, and why; every other text, document or byte string of the schema it may take.

A test compares this list with the schema and with the rights of the eraser's role: a new column that can hold words is
either erased or listed here with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping

_CODE = "one of our own codes, or a version of ours"
_REGISTRY = "an administrator's registry, not a submission"
_KEY = "the caller's own name for a call"
_SOURCE = "what a source is called, which counting witnesses needs"
_PLACE = "places in a text, not the text"
_HASH = "a hash"

KEPT_TEXTS: Mapping[str, Mapping[str, str]] = {
    "alerts": {"kind": _CODE, "reason": "our own words", "details": "ids and codes"},
    "api_keys": {"label": _REGISTRY, "key_hash": _HASH},
    "case_evaluations": {"policy_version": _CODE},
    "case_events": {"reason": _CODE, "policy_version": _CODE},
    "case_positions": {"support_digest": "a hash of ids of supports"},
    "conflict_cases": {"predicate": _REGISTRY, "resolution_reason": _CODE, "policy_version": _CODE},
    "decisions": {"kind": _CODE, "idempotency_key": _KEY},
    "entities": {"kind": "a kind, which groups names and is none"},
    "entity_contexts": {"context_key": "what kind of context it is, not which"},
    "erased_texts": {
        "table_name": "a table's name",
        "row_key": "ids and tombstones",
        "column_name": "a column's name",
        "entered": "the hash without which the ledger would not verify",
        "tombstone": "a keyed hash",
    },
    "erasures": {"reason": "the administrator's words about the erasure"},
    "evidence_fragments": {
        "source_group": _SOURCE,
        "source_key": _SOURCE,
        "source_revision": _SOURCE,
        "previous_source_revision": _SOURCE,
        "inherited_labels": _SOURCE,
        "labels": "tags by which its author groups texts",
        "scan_findings": _PLACE,
    },
    "evidence_occurrences": {"labels": "tags by which its author groups texts"},
    "idempotency_records": {
        "idempotency_key": _KEY,
        "rpc": _CODE,
        "request_hash": "the hash of a whole request, by which a repeated one is known",
    },
    "ledger": {"prior_hash": _HASH, "change_hash": _HASH, "hash": _HASH, "change_kind": _CODE},
    "observation_bindings": {"predicate": _REGISTRY},
    "observations": {"predicate": _REGISTRY, "value_unit": "a unit", "spans": _PLACE},
    "predicate_aliases": {"alias": _REGISTRY, "predicate": _REGISTRY},
    "predicates": {
        "predicate": _REGISTRY,
        "aliases": _REGISTRY,
        "subject_kinds": _REGISTRY,
        "object_kinds": _REGISTRY,
        "value_types": _REGISTRY,
        "unit": _REGISTRY,
        "pii_class": _REGISTRY,
    },
    "profiles": {"name": _REGISTRY},
    "reference_decisions": {"reason": _CODE},
    "relationships": {"predicate": _REGISTRY, "value_unit": "a unit"},
    "review_items": {"reason": _CODE, "predicate": _REGISTRY},
    "review_reservations": {"policy_version": _CODE},
    "review_runs": {"policy_version": _CODE},
    "search_documents": {"embedding_space": _CODE},
    "source_states": {"source_key": _SOURCE, "current_revision": _SOURCE, "prior_revision": _SOURCE},
    "sources": {"source_group": _REGISTRY, "source_key": _REGISTRY, "authoritative_for": _REGISTRY},
    "statements": {"predicate": _REGISTRY, "value_unit": "a unit", "source": _SOURCE},
    "support_decisions": {"reason": _CODE},
    "team_clock": {"ledger_head": _HASH},
    "teams": {"name": _REGISTRY, "time_zone": _REGISTRY},
    "transitions": {"reason": _CODE, "idempotency_key": _KEY},
    "verification_events": {"verifier": _CODE, "bounds": "times and places in a text"},
    "webhook_cursors": {"endpoint": "what the operator calls it", "problem": _CODE},
}
"""Column to reason, by table; a history table is its table."""
