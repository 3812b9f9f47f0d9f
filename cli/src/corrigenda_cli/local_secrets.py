"""The secrets of a local stack: made once, kept beside its data, readable by their owner alone."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

DATABASE_ROLES = (
    "corrigenda_migrator",
    "corrigenda_ingest",
    "corrigenda_conflict",
    "corrigenda_reviewer",
    "corrigenda_recall",
    "corrigenda_indexer",
    "corrigenda_notifier",
    "corrigenda_auditor",
    "corrigenda_backup",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSecrets:
    """What the processes of a local stack must share: the key pepper, the page-token key, the roles' passwords."""

    key_pepper: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    page_token_key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    role_passwords: dict[str, str] = field(
        default_factory=lambda: {role: secrets.token_urlsafe(24) for role in DATABASE_ROLES}
    )


def load(path: Path) -> LocalSecrets:
    """The secrets kept at ``path``.

    Raises:
        FileNotFoundError: none are kept there.
    """
    return LocalSecrets(**json.loads(path.read_text(encoding="utf-8")))


def load_or_make(path: Path) -> LocalSecrets:
    """The secrets kept at ``path``, made and written there (mode 0600) on first use.

    A role that did not exist when they were made gets its password now.
    """
    try:
        kept = load(path)
    except FileNotFoundError:
        kept = LocalSecrets(role_passwords={})
    missing = {role: secrets.token_urlsafe(24) for role in DATABASE_ROLES if role not in kept.role_passwords}
    if not missing:
        return kept
    completed = replace(kept, role_passwords=kept.role_passwords | missing)
    write_private(path, json.dumps(asdict(completed), indent=1) + "\n")
    return completed


def write_private(path: Path, text: str) -> None:
    """Writes ``text`` so that it is there whole or not at all, and readable by its owner alone."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)
