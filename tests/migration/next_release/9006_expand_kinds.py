"""Example of a next release: one more allowed value; the wider constraint is valid before the narrower one goes."""

from alembic import op
from corrigenda_core.persistence.migration_steps import validate_beside_traffic

revision = "9006_expand_kinds"
down_revision = "9005_expand_check"
branch_labels = None
depends_on = None

LOCKS = {"evidence_fragments": "NOT VALID, and a constraint that goes: no row is looked at"}
NARROW, WIDE = "evidence_fragments_source_type_check", "evidence_fragments_source_type_wide_check"
KNOWN = "source_type IN ('conversation', 'document', 'observation', 'manual', 'system_record')"


def upgrade() -> None:
    _replace(NARROW, WIDE, f"{KNOWN} OR source_type = 'letter'")


def downgrade() -> None:
    _replace(WIDE, NARROW, KNOWN)


def _replace(former: str, latter: str, condition: str) -> None:
    # An attempt that was cut off after the first of its transactions is simply repeated.
    op.execute(f"ALTER TABLE evidence_fragments DROP CONSTRAINT IF EXISTS {latter}")
    op.execute(f"ALTER TABLE evidence_fragments ADD CONSTRAINT {latter} CHECK ({condition}) NOT VALID")
    validate_beside_traffic(op, "evidence_fragments", latter)
    op.execute(f"ALTER TABLE evidence_fragments DROP CONSTRAINT {former}")
