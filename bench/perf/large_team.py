"""A large team for measurements: one real submission, and as many like it as are wanted, with their search documents.

The copies are made by one INSERT ... SELECT a table, with every constraint and trigger in force, so that the database
itself says that they are a team's rows. Each has a commit of its own, a name of its own, a text of its own and the mean
of the embeddings of its two sentences. The words of the texts are as uneven as words are: some stand in every text, the
code name of a project in one of a thousand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import psycopg
from corrigenda_core.policy.search_terms import plan_document_terms
from psycopg import sql

KINDS = ["service", "worker", "gateway", "cluster", "pipeline", "runner", "replica", "console", "portal", "scheduler"]
BRANCHES = 997
NOTES = 2_000
CODE_NAMES = [
    f"{first}{last}" for first in ["alder", "birch", "cedar", "dogwood", "elm", "fir"] for last in range(334)
][:NOTES]
ADJECTIVES = [
    "late",
    "new",
    "small",
    "shared",
    "broken",
    "slow",
    "quiet",
    "second",
    "weekly",
    "final",
    "manual",
    "missing",
]
NOUNS = [
    "release",
    "backup",
    "ticket",
    "report",
    "invoice",
    "meeting",
    "contract",
    "survey",
    "budget",
    "incident",
    "rollout",
    "audit",
]
VERBS = ["delayed", "replaced", "followed", "approved", "blocked", "closed", "reopened", "caused"]
EVENTS = ["holiday", "migration", "outage", "workshop", "launch", "review", "freeze", "storm"]

# In the order in which rows refer to each other. Everything else of a copy is what the submission has.
_TABLES = (
    "ledger",
    "ingests",
    "evidence_fragments",
    "evidence_occurrences",
    "text_bands",
    "entities",
    "entity_names",
    "entity_contexts",
    "observations",
    "verification_events",
    "statements",
    "relationships",
    "transitions",
    "carriages",
    "supports",
    "support_decisions",
)
_KEPT_IDS = ("team_id", "profile_id", "owner_id", "author_id", "actor_profile_id", "created_by", "given_by")
_STEP = sql.SQL("interval '10 microseconds' * d.n")


def name_of(number: int) -> str:
    """The name of the subject of a copy; of the submission itself, 0."""
    return f"{KINDS[number % len(KINDS)]}-{number:06}"


def branch_of(number: int) -> str:
    """The name of its object."""
    return f"branch-{number % BRANCHES:03}"


def note_of(number: int) -> str:
    """One of the sentences that stand in the texts."""
    chosen = random.Random(number)
    noun, other = chosen.sample(NOUNS, 2)
    return (
        f"The {chosen.choice(ADJECTIVES)} {noun} of {CODE_NAMES[number]} {chosen.choice(VERBS)} the {other}"
        f" after the {chosen.choice(EVENTS)}."
    )


def notes_of(number: int) -> tuple[int, int]:
    """Which two of them stand in the text of a copy."""
    first, second = random.Random(number).sample(range(NOTES), 2)
    return first, second


def text_of(number: int) -> str:
    """The whole text of a copy."""
    first, second = notes_of(number)
    return f"{name_of(number)} deploys from {branch_of(number)}. {note_of(first)} {note_of(second)}"


def telling_query(number: int) -> str:
    """What a reader asks who knows a name: of a subject, or of a project."""
    if number % 2:
        return f"where does {name_of(number)} deploy from"
    first, _ = notes_of(number)
    return f"what happened to the {random.Random(-number).choice(NOUNS)} of {CODE_NAMES[first]}"


def frequent_query(number: int) -> str:
    """The same without any name: every word of it stands in thousands of texts."""
    chosen = random.Random(number)
    noun, other = chosen.sample(NOUNS, 2)
    event, adjective = chosen.choice(EVENTS), chosen.choice(ADJECTIVES)
    return (
        f"which {adjective} {noun} {chosen.choice(VERBS)} the {other} after the {event} of the {chosen.choice(KINDS)}"
    )


def grow(url: str, team_id: str, numbers: range, vectors: Sequence[str], space: str) -> None:
    """Adds the copies of these numbers, from 1 on, to a team whose last commit is the submission itself, or a copy.

    Args:
        url: of a superuser.
        team_id: the team.
        numbers: which copies.
        vectors: the embeddings of `note_of`, as the database reads them.
        space: theirs.
    """
    with psycopg.connect(url) as connection:
        vector_index = _without_vector_index(connection)
        connection.execute(sql.SQL("SET LOCAL app.team_id = {}").format(sql.Literal(team_id)))
        _stage(connection, numbers, vectors)
        first = connection.execute(
            "SELECT min(revision) AS revision FROM relationships WHERE team_id = %s", [team_id]
        ).fetchone()
        (revision,) = first or (None,)
        for table in _TABLES:
            _copy(connection, table, team_id, revision)
        _index(connection, team_id, revision, space)
        connection.execute(
            "UPDATE team_clock SET (revision, closed_at) = (SELECT l.revision, l.recorded_at FROM ledger AS l"
            " WHERE l.team_id = %(team)s ORDER BY l.revision DESC LIMIT 1) WHERE team_id = %(team)s",
            {"team": team_id},
        )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute(vector_index.encode())
        connection.execute("VACUUM (ANALYZE)")


def _without_vector_index(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """Drops the vector index and returns how to make it: one build is minutes faster than as many insertions."""
    row = connection.execute("SELECT pg_get_indexdef('search_documents_embedding_idx'::regclass)").fetchone()
    connection.execute("DROP INDEX search_documents_embedding_idx")
    return str(row[0]) if row else ""


def _stage(connection: psycopg.Connection[tuple[object, ...]], numbers: range, vectors: Sequence[str]) -> None:
    """What differs from copy to copy, as temporary tables."""
    connection.execute(
        "CREATE TEMPORARY TABLE drafts"
        " (n bigint, name text, branch text, content text, terms text[], one int, other int) ON COMMIT DROP"
    )
    with connection.cursor() as cursor, cursor.copy("COPY drafts FROM STDIN") as copy:
        for row in _drafts(numbers):
            copy.write_row(row)
    connection.execute("CREATE TEMPORARY TABLE notes (note int PRIMARY KEY, embedding halfvec(384)) ON COMMIT DROP")
    with connection.cursor() as cursor, cursor.copy("COPY notes FROM STDIN") as copy:
        for note, vector in enumerate(vectors):
            copy.write_row((note, vector))
    connection.execute("ANALYZE drafts")


def _drafts(numbers: range) -> Iterator[tuple[object, ...]]:
    for number in numbers:
        text = text_of(number)
        yield number, name_of(number), branch_of(number), text, list(plan_document_terms(text)), *notes_of(number)


def _copy(connection: psycopg.Connection[tuple[object, ...]], table: str, team_id: str, revision: object) -> None:
    """The rows of one table that the submission wrote, once for each draft."""
    columns = connection.execute(
        "SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = %s"
        " AND is_generated = 'NEVER' ORDER BY ordinal_position",
        [table],
    ).fetchall()
    names = [str(name) for name, _, _ in columns]
    of_submission = (
        sql.SQL("s.revision = {}").format(sql.Literal(revision))
        if "revision" in names
        else sql.SQL(
            "s.fragment_id IN (SELECT fragment_id FROM evidence_fragments WHERE team_id = {} AND revision = {})"
        ).format(sql.Literal(team_id), sql.Literal(revision))
    )
    # A branch is the object of many: only the first one of each name is made.
    once = sql.SQL("")
    if table in ("entities", "entity_names", "entity_contexts"):
        once = sql.SQL(" AND ({} <> 'git_branch' OR d.n < {})").format(_kind(table), sql.Literal(BRANCHES))
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} AS s, drafts AS d WHERE s.team_id = {} AND {}{}").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join(_value(table, str(name), str(kind), str(inner)) for name, kind, inner in columns),
            sql.Identifier(table),
            sql.Literal(team_id),
            of_submission,
            once,
        )
    )


def _kind(table: str) -> sql.Composable:
    if table == "entities":
        return sql.SQL("s.kind")
    return sql.SQL("(SELECT e.kind FROM entities AS e WHERE e.team_id = s.team_id AND e.entity_id = s.entity_id)")


_IS_BRANCH = "(SELECT e.kind FROM entities AS e WHERE e.team_id = s.team_id AND e.entity_id = s.{}) = 'git_branch'"
_TEXTS: Mapping[tuple[str, str], str] = {
    ("evidence_fragments", "content"): "d.content",
    ("evidence_fragments", "content_sha256"): "sha256(convert_to(d.content, 'UTF8'))",
    ("entity_names", "name"): f"CASE WHEN {_IS_BRANCH.format('entity_id')} THEN d.branch ELSE d.name END",
    ("entity_names", "normal_name"): f"CASE WHEN {_IS_BRANCH.format('entity_id')} THEN d.branch ELSE d.name END",
    ("text_bands", "band"): "('x' || substr(md5(s.band::text || ' ' || d.n), 1, 16))::bit(64)::bigint",
    ("statements", "sequence"): "s.sequence + 1000 * d.n",
    ("observations", "subject_phrase"): "d.name",
    ("observations", "object_phrase"): "d.branch",
}


def _value(table: str, name: str, kind: str, inner: str) -> sql.Composable:
    """The expression of one column of a copy."""
    column = sql.SQL("s.{}").format(sql.Identifier(name))
    if (table, name) in _TEXTS:
        return sql.SQL(_TEXTS[table, name])
    if name == "revision":
        return sql.SQL("s.revision + d.n")
    if name in ("recorded_at", "first_recorded_at"):
        return sql.SQL("{} + {}").format(column, _STEP)
    if name == "object_key":
        return sql.SQL("'entity:' || {}").format(_value(table, "object_entity_id", "uuid", "uuid"))
    if inner == "_uuid":
        return sql.SQL(
            "CASE WHEN {0} IS NOT NULL THEN ARRAY(SELECT md5(x::text || ' ' || d.n)::uuid FROM unnest({0}) AS x) END"
        ).format(column)
    if kind != "uuid" or name in _KEPT_IDS:
        return column
    number: sql.Composable = sql.SQL("d.n")
    if name == "object_entity_id":
        number = sql.SQL("d.n % {}").format(sql.Literal(BRANCHES))
    elif name == "entity_id":
        number = sql.SQL("CASE WHEN {} THEN d.n % {} ELSE d.n END").format(
            sql.SQL(_IS_BRANCH.format(name)) if table != "entities" else sql.SQL("s.kind = 'git_branch'"),
            sql.Literal(BRANCHES),
        )
    # The submission is number 0 and keeps its ids.
    return sql.SQL("CASE WHEN {0} = 0 THEN {1} ELSE md5({1}::text || ' ' || {0})::uuid END").format(number, column)


def _index(connection: psycopg.Connection[tuple[object, ...]], team_id: str, revision: object, space: str) -> None:
    """The search documents of the copies."""
    connection.execute(
        "INSERT INTO search_documents"
        " (team_id, fragment_id, version, lexemes, embedding, embedding_space, recorded_from, recorded_to)"
        " SELECT s.team_id, md5(s.fragment_id::text || ' ' || d.n)::uuid, s.revision + d.n,"
        " team_lexemes(s.team_id, d.terms), l2_normalize(one.embedding + other.embedding), %(space)s,"
        " s.recorded_at + interval '10 microseconds' * d.n, 'infinity'"
        " FROM evidence_fragments AS s, drafts AS d JOIN notes AS one ON one.note = d.one"
        " JOIN notes AS other ON other.note = d.other WHERE s.team_id = %(team)s AND s.revision = %(revision)s",
        {"team": team_id, "revision": revision, "space": space},
    )
