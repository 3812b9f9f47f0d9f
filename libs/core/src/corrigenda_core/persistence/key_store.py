"""Looks up API keys before any team is known."""

from __future__ import annotations

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.persistence.database import Database
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.security.keys import KnownKey


async def find_key(database: Database, key_id: KeyId, key_hash: bytes) -> KnownKey | None:
    """What the database says about a key's id and hash; ``None`` for an unknown one."""
    query = load_sql("keys.sql").query("find_key", key_id=key_id, key_hash=key_hash)
    rows = await database.ask(query)
    if not rows:
        return None
    (row,) = rows
    return KnownKey(
        key_id=KeyId(row["key_id"]),
        team_id=TeamId(row["team_id"]),
        profile_id=ProfileId(row["profile_id"]),
        scopes=frozenset(KeyScope(scope) for scope in row["scopes"]),
        expires_at=row["expires_at"],
        is_revoked=row["revoked_at"] is not None,
    )
