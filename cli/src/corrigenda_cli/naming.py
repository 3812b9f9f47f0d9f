"""Entities on the command line: by id, or by a name that exactly one of them has."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from corrigenda_cli.asking import ask, said
from corrigenda_cli.calling import InputError

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

ENTITY_HELP = "id of the entity, or a name that only one has; KIND:NAME where kinds share it"
_CANDIDATES_SHOWN = 10


async def entity_id_of(client: Client, given: str) -> str:
    """The id of the entity that is meant.

    Raises:
        InputError: no entity is called so, or several are.
    """
    if _is_id(given):
        return given
    from corrigenda_cli.rendering.safe_text import one_line

    found = await _called_so(client, given, "")
    kind, colon, name = given.partition(":")
    if not found and colon:
        found = await _called_so(client, name, kind)
    if len(found) == 1:
        return found[0][0]
    if not found:
        raise InputError(f"no entity is called {given!r}; `corrigenda entities list` finds parts of names")
    listed = "".join(
        f"\n  {entity_id}  {one_line(f'{kind}:{name}')}" for entity_id, kind, name in found[:_CANDIDATES_SHOWN]
    )
    raise InputError(f"{len(found)} entities are called {given!r}; name one by its id:{listed}")


async def _called_so(client: Client, name: str, kind: str) -> list[tuple[str, str, str]]:
    """Id, kind and name of the entities with this very name, as first written or as an alias."""
    if not name.strip():
        return []
    answer = await ask(client, "SearchEntities", said(name=name, entity_kind=kind))
    return [
        (found.entity.entity_id, found.entity.entity_kind, found.entity.name)
        for found in answer.entities
        if name.casefold() in {one.casefold() for one in (found.entity.name, *found.other_names)}
    ]


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
