"""Runs the migrations on the connection that `corrigenda_core.persistence.migrate` hands over, and on no other."""

from alembic import context
from corrigenda_core.persistence.tables import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError("run `corrigenda migrate`: it prepares the roles and extensions that migrations rely on")

context.configure(
    connection=connection,
    target_metadata=metadata,
    transaction_per_migration=True,
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
