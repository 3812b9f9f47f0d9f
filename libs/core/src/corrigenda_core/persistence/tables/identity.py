"""Entities, the names they go by, and what tells namesakes apart."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Index, Text, Uuid

from corrigenda_core.persistence.tables.columns import (
    index,
    ledgered,
    refers,
    required,
    team_table,
)

entities = team_table(
    "entities",
    required("entity_id", Uuid),
    required("kind", Text),
    required("created_by", Uuid, "the profile whose submission named it first"),
    *ledgered(),
    refers(["created_by"], "profiles", ["profile_id"]),
    index("entities_created_by_idx", "created_by", serves="entities a profile brought in; foreign key to profiles"),
    key=("entity_id",),
    comment="A semantic node: an opaque id and a kind; names and contexts are appended beside it.",
)

entity_names = team_table(
    "entity_names",
    required("entity_id", Uuid),
    required("normal_name", Text),
    required("name", Text, "as first written"),
    required("is_primary", Boolean, "the name it was created with; the others are aliases"),
    required("given_by", Uuid, "the profile that gave it; an alias is the giver's own until another gives it as well"),
    required("is_confirmed", Boolean, "given with an admin key, so that it is the team's at once"),
    *ledgered(),
    CheckConstraint("octet_length(normal_name) BETWEEN 1 AND 1280", name="normal_name"),
    refers(["entity_id"], "entities"),
    refers(["given_by"], "profiles", ["profile_id"]),
    index("entity_names_normal_name_idx", "normal_name", serves="candidates of a mention; entity branch of recall"),
    # No team column in a GIN index without another extension; search_names keeps to its team by itself.
    Index(
        "entity_names_trigrams_idx",
        "normal_name",
        postgresql_using="gin",
        postgresql_ops={"normal_name": "gin_trgm_ops"},
        postgresql_with={"fastupdate": "off"},
        info={"serves": "search_names: entities by a part of a name"},
    ),
    index("entity_names_given_by_idx", "given_by", serves="names a profile gave; foreign key to profiles"),
    index(
        "entity_names_primary_key",
        "entity_id",
        serves="an entity is shown by one name",
        where="is_primary",
        is_unique=True,
    ),
    key=("entity_id", "normal_name", "given_by"),
    comment="A name or alias of an entity, as one profile gave it; several entities may share it.",
)

entity_contexts = team_table(
    "entity_contexts",
    required("entity_id", Uuid),
    required("context_key", Text),
    required("context_value", Text, "in normal form"),
    *ledgered(),
    CheckConstraint("octet_length(context_key) BETWEEN 1 AND 512", name="context_key"),
    CheckConstraint("octet_length(context_value) BETWEEN 0 AND 1280", name="context_value"),
    refers(["entity_id"], "entities"),
    key=("entity_id", "context_key", "context_value"),
    comment="One pair of an identity context, as some mention bound to the entity gave it.",
)

entity_merges = team_table(
    "entity_merges",
    required("source_id", Uuid, "the entity that was given up"),
    required("target_id", Uuid),
    required("merged_by", Uuid, "whose observations moved; those of others about the source stay, and show this"),
    required("decision_id", Uuid),
    *ledgered(),
    CheckConstraint("source_id <> target_id", name="target_id"),
    refers(["source_id"], "entities", ["entity_id"]),
    refers(["target_id"], "entities", ["entity_id"]),
    refers(["merged_by"], "profiles", ["profile_id"]),
    refers(["decision_id"], "decisions", deferred=True),
    index("entity_merges_target_id_idx", "target_id", serves="what was merged into an entity; foreign key to entities"),
    index("entity_merges_merged_by_idx", "merged_by", serves="merges of a profile; foreign key to profiles"),
    index("entity_merges_decision_id_idx", "decision_id", serves="what a decision merged; foreign key to decisions"),
    key=("source_id", "merged_by", "revision"),
    comment="A profile holds that one entity is another; append-only, the last one about an entity counts.",
)
