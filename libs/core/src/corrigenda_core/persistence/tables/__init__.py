"""The declared schema: alembic, admin queries and tests read these tables; services run named SQL of their own."""

from corrigenda_core.persistence.tables.columns import metadata
from corrigenda_core.persistence.tables.evidence import evidence_fragments, ingests
from corrigenda_core.persistence.tables.ledger import idempotency_records, ledger, team_clock
from corrigenda_core.persistence.tables.team import api_keys, profiles, teams

__all__ = [
    "api_keys",
    "evidence_fragments",
    "idempotency_records",
    "ingests",
    "ledger",
    "metadata",
    "profiles",
    "team_clock",
    "teams",
]
