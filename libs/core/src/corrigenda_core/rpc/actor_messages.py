"""Actors as messages: who acted, by the columns that every record of an act has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigenda.type.v1 import actor_pb2

from corrigenda_core.domain.actors import ActorKind
from corrigenda_core.rpc.enums import ACTOR_KIND


def actor_message(row: Mapping[str, Any]) -> actor_pb2.Actor:
    """Who acted, by the columns ``actor_kind``, ``actor_profile_id`` and ``actor_name``."""
    profile = None
    if row["actor_profile_id"] is not None:
        profile = actor_pb2.ProfileSummary(profile_id=row["actor_profile_id"], name=row["actor_name"] or "")
    return actor_pb2.Actor(kind=ACTOR_KIND.to_wire(ActorKind(row["actor_kind"])), profile=profile)
