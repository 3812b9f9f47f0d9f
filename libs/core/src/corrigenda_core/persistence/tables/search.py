"""Search documents and the queue that tells the indexer to make them; all of it can be rebuilt from the evidence."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import BigInteger, CheckConstraint, Index, Text, Uuid
from sqlalchemy.dialects.postgresql import TSVECTOR

from corrigenda_core.persistence.tables.columns import (
    INSTANT,
    index,
    ledgered,
    member_of,
    optional,
    refers,
    required,
    team_table,
)

EMBEDDING_DIMENSIONS = 384
INTENT_REASONS = ("fragment_stored", "fragment_changed", "eligibility_changed")

search_documents = team_table(
    "search_documents",
    required("fragment_id", Uuid),
    required("version", BigInteger, "the revision whose state the indexer read; an older one never replaces a newer"),
    required("lexemes", TSVECTOR, "team_lexemes(team_id, terms)"),
    optional("embedding", HALFVEC(EMBEDDING_DIMENSIONS)),
    optional("embedding_space", Text, "model and version; vectors of two spaces are not compared"),
    required("recorded_from", INSTANT, "of the fragment"),
    required("recorded_to", INSTANT, "infinity: until further notice"),
    CheckConstraint("recorded_from < recorded_to", name="recorded_to"),
    CheckConstraint("(embedding IS NULL) = (embedding_space IS NULL)", name="embedding_space"),
    refers(["fragment_id"], "evidence_fragments"),
    # No team column in a GIN index without another extension; the lexemes themselves begin with the team instead.
    Index(
        "search_documents_lexemes_idx",
        "lexemes",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
        info={"serves": "search_text: lexical branch of recall"},
    ),
    # Nor has a vector index one: a scan goes on until enough of the team's are found (search_near).
    Index(
        "search_documents_embedding_idx",
        "embedding",
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "halfvec_ip_ops"},
        info={"serves": "search_near: vector branch of recall in a large team"},
    ),
    index(
        "search_documents_recorded_from_idx",
        "recorded_from DESC",
        "fragment_id",
        serves="how large a team was; search_text: the latest documents with words that many have",
    ),
    index(
        "search_documents_sample_idx",
        "uuid_hash_extended(fragment_id, 0)",
        serves="search_text: a sample of a team's documents, the same ones at every look at a view",
    ),
    index(
        "search_documents_embedding_space_idx",
        "embedding_space",
        serves="which spaces a team's documents are in, when the embedding model changes",
    ),
    key=("fragment_id",),
    comment="What finds a fragment: one document per fragment, because its text never changes.",
)

search_refresh_intents = team_table(
    "search_refresh_intents",
    required("fragment_id", Uuid),
    *member_of("reason", INTENT_REASONS),
    required("consumed_at", INSTANT, "real time; infinity: waiting"),
    *ledgered(),
    refers(["fragment_id"], "evidence_fragments"),
    index(
        "search_refresh_intents_waiting_idx",
        "revision",
        "fragment_id",
        serves="waiting intents, oldest first; whether a team is stale",
        where="consumed_at = 'infinity'",
    ),
    index(
        "search_refresh_intents_fragment_id_idx",
        "fragment_id",
        serves="intents of a fragment; foreign key to evidence_fragments",
    ),
    key=("revision", "fragment_id"),
    comment="Append queue: the commit of this revision asks the indexer to look at the fragment.",
)
