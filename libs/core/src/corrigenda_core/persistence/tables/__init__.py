"""The declared schema: alembic, admin queries and tests read these tables; services run named SQL of their own."""

from corrigenda_core.persistence.tables.cases import (
    case_evaluations,
    case_events,
    case_members,
    case_members_history,
    case_positions,
    case_positions_history,
    conflict_cases,
    conflict_cases_history,
)
from corrigenda_core.persistence.tables.columns import metadata
from corrigenda_core.persistence.tables.decisions import (
    cross_references,
    decisions,
    reference_decisions,
    review_items,
    review_items_history,
    timeline_decisions,
    transitions,
)
from corrigenda_core.persistence.tables.erasure import erased_texts, erasures
from corrigenda_core.persistence.tables.evidence import evidence_fragments, evidence_occurrences, ingests
from corrigenda_core.persistence.tables.identity import entities, entity_contexts, entity_merges, entity_names
from corrigenda_core.persistence.tables.ledger import idempotency_records, ledger, team_clock
from corrigenda_core.persistence.tables.near_texts import text_bands
from corrigenda_core.persistence.tables.observations import (
    observation_bindings,
    observations,
    statements,
    verification_events,
)
from corrigenda_core.persistence.tables.predicates import predicate_aliases, predicates, predicates_history
from corrigenda_core.persistence.tables.relationships import (
    carriages,
    relationships,
    relationships_history,
    support_decisions,
    supports,
)
from corrigenda_core.persistence.tables.review import alerts, case_lease, review_reservations, review_runs
from corrigenda_core.persistence.tables.search import search_documents, search_refresh_intents
from corrigenda_core.persistence.tables.sources import (
    fragment_retirements,
    source_states,
    source_states_history,
    sources,
    sources_history,
)
from corrigenda_core.persistence.tables.team import api_keys, profiles, teams
from corrigenda_core.persistence.tables.webhooks import webhook_cursors

__all__ = [
    "alerts",
    "api_keys",
    "carriages",
    "case_evaluations",
    "case_events",
    "case_lease",
    "case_members",
    "case_members_history",
    "case_positions",
    "case_positions_history",
    "conflict_cases",
    "conflict_cases_history",
    "cross_references",
    "decisions",
    "entities",
    "entity_contexts",
    "entity_merges",
    "entity_names",
    "erased_texts",
    "erasures",
    "evidence_fragments",
    "evidence_occurrences",
    "fragment_retirements",
    "idempotency_records",
    "ingests",
    "ledger",
    "metadata",
    "observation_bindings",
    "observations",
    "predicate_aliases",
    "predicates",
    "predicates_history",
    "profiles",
    "reference_decisions",
    "relationships",
    "relationships_history",
    "review_items",
    "review_items_history",
    "review_reservations",
    "review_runs",
    "search_documents",
    "search_refresh_intents",
    "source_states",
    "source_states_history",
    "sources",
    "sources_history",
    "statements",
    "support_decisions",
    "supports",
    "team_clock",
    "teams",
    "text_bands",
    "timeline_decisions",
    "transitions",
    "verification_events",
    "webhook_cursors",
]
