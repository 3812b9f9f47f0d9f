"""The branches of recall, run as the recall role: nothing stale takes a place, in small teams and in large ones."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from corrigenda_core.persistence.named_sql import load_sql
from corrigenda_core.testing.effort import examples
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from corrigenda_core.testing.sample_team import Connection, SampleTeam, new_id, set_team
from corrigenda_core.testing.sample_transactions import rolled_back, sample_transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import scalar_row, tuple_row

pytestmark = pytest.mark.database

FAR = datetime(2027, 1, 1, tzinfo=UTC)
SPACE = "a space"
STALE = 400
BRANCHES = ("lexical", "vector", "entity")

# Where a large team begins is a figure of this function; tests write a few hundred documents and not 8,001.
MAKE_LARGE = """
CREATE OR REPLACE FUNCTION is_large_team(p_team_id uuid, p_known_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS 'SELECT true'
"""
REFUSE_TO_COUNT = """
CREATE OR REPLACE FUNCTION is_large_team(p_team_id uuid, p_known_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS 'BEGIN RAISE EXCEPTION $x$not counted$x$; END'
"""

# Rows of a draft each: a fragment with its document, and, if it has a subject, what makes it eligible.
DRAFT = """
CREATE TEMPORARY TABLE drafts ON COMMIT DROP AS
SELECT d.*, gen_random_uuid() AS fragment, gen_random_uuid() AS observation, gen_random_uuid() AS relationship,
       gen_random_uuid() AS support
FROM unnest(%(terms)s::text[], %(vectors)s::text[], %(ends)s::timestamptz[], %(subjects)s::uuid[])
     WITH ORDINALITY AS d (terms, vector, valid_to, subject, n)
"""
# Those of one revision do not take the places of the next one's.
NUMBER = "d.n + 450 * (%(revision)s::bigint %% 2)"
COPIES = [
    "INSERT INTO evidence_fragments SELECT (jsonb_populate_record(f, jsonb_build_object('fragment_id', d.fragment,"
    " 'recorded_at', f.recorded_at + interval '1 second' * d.n))).*"
    " FROM evidence_fragments AS f, drafts AS d WHERE f.team_id = %(team)s AND f.fragment_id = %(fragment)s",
    "INSERT INTO search_documents"
    " (team_id, fragment_id, version, lexemes, embedding, embedding_space, recorded_from, recorded_to)"
    " SELECT %(team)s, d.fragment, 1, team_lexemes(%(team)s, string_to_array(d.terms, ' ')), d.vector::halfvec,"
    " CASE WHEN d.vector IS NOT NULL THEN %(space)s END, %(at)s::timestamptz + interval '1 second' * d.n, 'infinity'"
    " FROM drafts AS d",
    "INSERT INTO entities SELECT (jsonb_populate_record(e, jsonb_build_object('entity_id', d.subject))).*"
    " FROM entities AS e, (SELECT DISTINCT subject FROM drafts) AS d WHERE e.team_id = %(team)s"
    " AND e.entity_id = %(subject)s ON CONFLICT DO NOTHING",
    "INSERT INTO observations SELECT (jsonb_populate_record(o, jsonb_build_object('observation_id', d.observation,"
    f" 'ordinal', {NUMBER}, 'proposal_id', ({NUMBER})::text))).* FROM observations AS o, drafts AS d"
    " WHERE o.team_id = %(team)s AND o.observation_id = %(observation)s",
    "INSERT INTO statements SELECT (jsonb_populate_record(s, jsonb_build_object('statement_id', d.observation,"
    f" 'sequence', s.sequence + {NUMBER}))).* FROM statements AS s, drafts AS d"
    " WHERE s.team_id = %(team)s AND s.statement_id = %(observation)s",
    "INSERT INTO relationships SELECT (jsonb_populate_record(r, jsonb_build_object('relationship_id', d.relationship,"
    " 'subject_id', d.subject, 'slot_exclusive', false, 'version', 1, 'valid_to', d.valid_to,"
    " 'first_recorded_at', r.first_recorded_at + interval '1 second' * d.n,"
    " 'valid_to_basis', CASE WHEN d.valid_to < 'infinity' THEN 'evidence_time' END,"
    " 'status', CASE WHEN d.valid_to < 'infinity' THEN 'superseded' ELSE 'active' END))).*"
    " FROM relationships AS r, drafts AS d WHERE r.team_id = %(team)s AND r.relationship_id = %(relationship)s",
    "INSERT INTO carriages SELECT (jsonb_populate_record(c, jsonb_build_object('statement_id', d.observation,"
    " 'relationship_id', d.relationship))).* FROM carriages AS c, drafts AS d"
    " WHERE c.team_id = %(team)s AND c.statement_id = %(observation)s",
    "INSERT INTO supports SELECT (jsonb_populate_record(s, jsonb_build_object('support_id', d.support,"
    " 'relationship_id', d.relationship, 'statement_id', d.observation, 'fragment_id', d.fragment))).*"
    " FROM supports AS s, drafts AS d WHERE s.team_id = %(team)s AND s.support_id = %(support)s",
    "INSERT INTO support_decisions SELECT (jsonb_populate_record(x, jsonb_build_object('support_id', d.support))).*"
    " FROM support_decisions AS x, drafts AS d WHERE x.team_id = %(team)s AND x.support_id = %(support)s",
]


@pytest.fixture(scope="module")
def written(cluster: PostgresCluster) -> Iterator[SampleTeam]:
    with cluster.database() as database, sample_transaction(database.superuser_url) as sample:
        # The sample's own document would be found as well.
        sample.connection.execute("DELETE FROM search_documents WHERE team_id = %s", [sample.team_id])
        yield sample


@pytest.fixture
def sample(written: SampleTeam) -> Iterator[SampleTeam]:
    with rolled_back(written) as sample:
        yield sample


def ids(connection: Connection, statement: bytes, asked: Mapping[str, object] | None = None) -> list[UUID]:
    """The first column of what a statement finds."""
    return connection.cursor(row_factory=scalar_row).execute(statement, asked).fetchall()


class Drafts:
    """Fragments to be written together: the words, the vector, until when they hold, about which entity."""

    def __init__(self, sample: SampleTeam) -> None:
        self._sample = sample
        self.rows: list[tuple[str, str, str, UUID]] = []

    def add(
        self,
        terms: str,
        *,
        vector: Sequence[float] = (1.0,),
        until: datetime | None = None,
        subject: UUID | None = None,
    ) -> None:
        text = f"[{','.join(map(str, [*vector, *[0.0] * (384 - len(vector))]))}]"
        self.rows.append((terms, text, until.isoformat() if until else "infinity", subject or self._sample.subject_id))

    def write(self) -> list[UUID]:
        """Writes them and returns the fragments in their order, the earliest recorded first."""
        sample = self._sample
        terms, vectors, ends, subjects = (list(column) for column in zip(*self.rows, strict=True))
        connection = sample.connection
        connection.execute("DROP TABLE IF EXISTS drafts")
        connection.execute(DRAFT, {"terms": terms, "vectors": vectors, "ends": ends, "subjects": subjects})
        known = {
            "team": sample.team_id,
            "fragment": sample.fragment_id,
            "observation": sample.observation_id,
            "relationship": sample.relationship_a,
            "support": sample.support_id,
            "subject": sample.subject_id,
            "space": SPACE,
            "at": sample.recorded_at,
            "revision": sample.revision,
        }
        # That versions of rows have transitions is checked at commit, and nothing is committed here.
        for copy in COPIES:
            connection.execute(copy.encode(), known)
        return ids(connection, b"SELECT fragment FROM drafts ORDER BY n")


def find(
    sample: SampleTeam,
    branch: str,
    *,
    limit: int,
    words: str = "main",
    known_at: datetime = FAR,
    is_large: bool | None = None,
) -> list[UUID]:
    """What a branch hands over to the recall role."""
    asked: dict[str, object] = {"valid_at": FAR, "known_at": known_at, "hits": limit}
    match branch:
        case "lexical":
            asked |= {"terms": words.split(), "is_large": is_large}
        case "vector":
            asked |= {"embedding": f"[1{',0' * 383}]", "space": SPACE, "is_large": is_large}
        case _:
            asked |= {"team_id": sample.team_id, "names": ["production"], "reader_id": sample.owner_a}
    statement = load_sql("recall.sql")[f"search_{branch}"]
    with sample.connection.transaction(force_rollback=True):
        set_team(sample.connection, sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        return ids(sample.connection, statement.sql.encode(), asked)


@pytest.mark.rule("R9.1")
@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("branch", BRANCHES)
def test_p3_hundreds_of_stale_rows_starve_no_branch(sample: SampleTeam, branch: str, is_large: bool) -> None:
    """All of them are better hits, and more than any branch hands over; each branch still finds what holds."""
    if is_large:
        sample.connection.execute(MAKE_LARGE)
    drafts = Drafts(sample)
    # What holds is recorded first, has one word of three and a vector farther away.
    drafts.add("main", vector=(0.8, 0.6))
    for number in range(STALE):
        drafts.add("main branch release", vector=(1.0, number / 1_000_000), until=FAR - timedelta(days=1))
    current, *_ = drafts.write()
    assert find(sample, branch, words="main branch release", limit=1) == [current]
    # The sample's own fragment has no document and is of the named entity.
    also = [sample.fragment_id] if branch == "entity" else []
    assert find(sample, branch, words="main branch release", limit=40) == [current, *also]
    assert find(sample, branch, limit=40, known_at=sample.recorded_at - timedelta(days=1)) == []


@pytest.mark.rule("R9.1")
@pytest.mark.parametrize("branch", ["lexical", "vector"])
def test_whoever_knows_that_a_team_is_large_need_not_have_it_counted(sample: SampleTeam, branch: str) -> None:
    """What is found is the same; counting is refused here."""
    drafts = Drafts(sample)
    for number in range(60):
        drafts.add("main", vector=(1.0, number / 100))
    drafts.write()
    sample.connection.execute(MAKE_LARGE)
    found = find(sample, branch, limit=40)
    sample.connection.execute(REFUSE_TO_COUNT)
    assert find(sample, branch, limit=40, is_large=True) == found
    with pytest.raises(psycopg.errors.RaiseException):
        find(sample, branch, limit=40)


@pytest.mark.rule("R9.1", "R11.2")
def test_the_vector_index_serves_a_large_team_and_says_so(fresh_database: ThrowawayDatabase) -> None:
    """What it cannot find enough of is looked for among all documents. Rows of other tests would be in its way."""
    asked = ["[1" + ",0" * 383 + "]", SPACE, FAR, FAR]
    statement = "SELECT fragment_id, approximate FROM search_near(%s::halfvec, %s, %s, %s, {}) ORDER BY place"
    with sample_transaction(fresh_database.superuser_url) as sample:
        sample.connection.execute(MAKE_LARGE)
        drafts = Drafts(sample)
        for number in range(60):
            angle = (number + 10) / 50
            drafts.add("main", vector=(math.cos(angle), math.sin(angle)))
        fragments = drafts.write()
        for limit, is_approximate in ((20, True), (60, True), (61, False)):
            rows = sample.connection.execute(statement.format(limit).encode(), asked).fetchall()
            assert [fragment for fragment, _ in rows] == fragments[:limit]
            assert {approximate for _, approximate in rows} == {is_approximate}
        set_team(sample.connection, new_id())
        assert sample.connection.execute(statement.format(5).encode(), asked).fetchall() == []


def test_the_vector_index_is_used_by_the_role_that_searches(sample: SampleTeam) -> None:
    drafts = Drafts(sample)
    drafts.add("main")
    drafts.write()
    with sample.connection.transaction(force_rollback=True):
        sample.connection.execute("SET LOCAL ROLE corrigenda_search")
        sample.connection.execute("SET LOCAL enable_seqscan = off")
        sample.connection.execute("SET LOCAL enable_sort = off")
        lines = sample.connection.execute(
            "EXPLAIN SELECT asked.fragment_id FROM (SELECT d.fragment_id, (SELECT string_agg(e.outline, ',')"
            " FROM edges_of_fragment(%(team)s, d.fragment_id, now(), now()) AS e) AS outlines"
            " FROM search_documents AS d WHERE d.team_id = %(team)s AND d.embedding_space = 'x'"
            f" ORDER BY d.embedding <#> '[1{',0' * 383}]'::halfvec OFFSET 0) AS asked"
            " WHERE asked.outlines IS NOT NULL LIMIT 40",
            {"team": sample.team_id},
        ).fetchall()
    assert "search_documents_embedding_idx" in "\n".join(str(line) for (line,) in lines)


# --- words of a large team


def words_of(numbers: Sequence[int]) -> list[str]:
    return [f"word{number}" for number in numbers]


@pytest.mark.rule("R9.1")
def test_frequent_words_do_not_lead_in_a_large_team(sample: SampleTeam) -> None:
    """A word that few have counts for more than all the words that many have, and those order what it finds."""
    sample.connection.execute(MAKE_LARGE)
    drafts = Drafts(sample)
    drafts.add("telling")
    drafts.add("telling often")
    for number in range(60):
        drafts.add("often common" if number % 3 else "often common usual")
    one, both, *many = drafts.write()
    assert find(sample, "lexical", words="often common usual telling", limit=2) == [both, one]
    found = find(sample, "lexical", words="often common usual telling", limit=100)
    assert found[:2] == [both, one]
    # All the words come before the latest.
    assert found[2:22] == [many[number] for number in reversed(range(0, 60, 3))]
    assert set(found) == {one, both, *many}
    assert find(sample, "lexical", words="often", limit=3) == [many[59], many[58], many[57]]
    sample.connection.execute(MAKE_LARGE.replace("SELECT true", "SELECT false"))
    assert find(sample, "lexical", words="often common usual telling", limit=1) == [many[57]]


@pytest.mark.rule("R8.1")
def test_what_is_recorded_later_changes_no_order_of_words_at_an_earlier_instant(sample: SampleTeam) -> None:
    """Which words are frequent is a matter of what was known then."""
    sample.connection.execute(MAKE_LARGE)
    drafts = Drafts(sample)
    for number in range(40):
        drafts.add("rare" if number % 13 == 0 else "often common")
    written = drafts.write()
    known_at = sample.recorded_at + timedelta(seconds=50)
    asked = "rare often common"
    before = find(sample, "lexical", words=asked, limit=100, known_at=known_at)
    assert before[:5] == [written[number] for number in (39, 26, 13, 0, 38)]
    assert set(before) == set(written)
    # Three times as often, the rare word is a frequent one, and two of those come before it.
    sample.next_revision()
    drafts.rows *= 2
    *_, last, _ = drafts.write()
    assert find(sample, "lexical", words=asked, limit=100, known_at=known_at) == before
    assert find(sample, "lexical", words=asked, limit=10, known_at=known_at) == before[:10]
    now = find(sample, "lexical", words=asked, limit=200)
    assert (now[0], len(now)) == (last, 120)


@pytest.mark.rule("R9.1")
@settings(
    max_examples=examples(fast=8, full=100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 7))
def test_a_large_team_finds_what_a_small_one_does(written: SampleTeam, seed: int, count: int) -> None:
    """Only the order differs: nothing that has a word of the query is left out."""
    chosen = random.Random(seed)
    with rolled_back(written) as sample:
        drafts = Drafts(sample)
        for _ in range(60):
            # Words 0 and 1 are in most of them, word 9 in hardly any.
            has = [number for number in range(10) if chosen.random() < 0.9 / (1 + number)]
            until = None if chosen.random() < 0.8 else FAR - timedelta(days=1)
            drafts.add(" ".join(["every", *words_of(has)]), until=until)
        drafts.write()
        asked = " ".join(words_of(chosen.sample(range(10), count)))
        small = find(sample, "lexical", words=asked, limit=100)
        sample.connection.execute(MAKE_LARGE)
        large = find(sample, "lexical", words=asked, limit=100)
        assert len(large) == len(set(large))
        assert set(large) == set(small)
        for limit in (1, 5, 20):
            assert find(sample, "lexical", words=asked, limit=limit) == large[:limit]


# --- names


def add_names(sample: SampleTeam, names: Sequence[str]) -> list[UUID]:
    """Entities that the team knows by these names."""
    connection = sample.connection
    connection.execute("DROP TABLE IF EXISTS named")
    connection.execute(
        "CREATE TEMPORARY TABLE named ON COMMIT DROP AS"
        " SELECT gen_random_uuid() AS entity, d.* FROM unnest(%s::text[]) WITH ORDINALITY AS d (name, n)",
        [list(names)],
    )
    for copy in (
        "INSERT INTO entities SELECT (jsonb_populate_record(e, jsonb_build_object('entity_id', d.entity))).*"
        " FROM entities AS e, named AS d WHERE e.team_id = %(team)s AND e.entity_id = %(subject)s",
        "INSERT INTO entity_names SELECT (jsonb_populate_record(e, jsonb_build_object('entity_id', d.entity,"
        " 'name', d.name, 'normal_name', d.name))).*"
        " FROM entity_names AS e, named AS d WHERE e.team_id = %(team)s AND e.entity_id = %(subject)s",
    ):
        connection.execute(copy.encode(), {"team": sample.team_id, "subject": sample.subject_id})
    return ids(connection, b"SELECT entity FROM named ORDER BY n")


def find_names(sample: SampleTeam, text: str, *, team_id: UUID | None = None) -> dict[UUID, int]:
    """The entities that the recall role finds by a part of a name, and how well each fits."""
    with sample.connection.transaction(force_rollback=True):
        set_team(sample.connection, team_id or sample.team_id)
        sample.connection.execute("SET LOCAL ROLE corrigenda_recall")
        found = sample.connection.cursor(row_factory=tuple_row).execute(
            "SELECT entity_id, place FROM search_names(%s, %s, %s)", [text, sample.owner_a, FAR]
        )
        return dict(found.fetchall())


NAMES = [
    "blue harbour",
    "harbour",
    "old harbour",
    "sharbourne",
    "100% sure",
    "snake_case",
    "a\\b",
    "港町",
    "ab",
    "ba b",
]


@pytest.mark.rule("R11.2")
def test_a_part_of_a_name_finds_it_with_and_without_the_index(sample: SampleTeam) -> None:
    """Whatever stands in a name is text: no part of it is a pattern."""
    made = dict(zip(NAMES, add_names(sample, NAMES), strict=True))
    expected = {"harbour": 0, "blue harbour": 2, "old harbour": 2, "sharbourne": 3}
    assert find_names(sample, "harbour") == {made[name]: place for name, place in expected.items()}
    for text, found in (
        ("harbourn", ["sharbourne"]),
        ("00% s", ["100% sure"]),
        ("100%", ["100% sure"]),
        ("%", ["100% sure"]),
        ("e_c", ["snake_case"]),
        ("snake_case", ["snake_case"]),
        ("snakeecase", []),
        ("\\", ["a\\b"]),
        ("港", ["港町"]),
        ("b", ["blue harbour", "harbour", "old harbour", "sharbourne", "a\\b", "ab", "ba b"]),
    ):
        assert find_names(sample, text) == {made[name]: place for name, place in _places(found, text)}, text
    assert set(find_names(sample, "")) >= set(made.values())
    assert find_names(sample, "harbour", team_id=new_id()) == {}
    assert find_names(sample, "", team_id=new_id()) == {}


def _places(names: Sequence[str], text: str) -> Iterator[tuple[str, int]]:
    for name in names:
        yield name, 0 if name == text else 1 if name.startswith(text) else 2 if f" {text}" in name else 3


def test_the_index_of_names_serves_the_recall_role(sample: SampleTeam) -> None:
    """Row-level security keeps the planner from it; the definer function is there to use it."""
    add_names(sample, [f"harbour {number} of the north" for number in range(5_000)])
    sample.connection.execute("ANALYZE entity_names")
    plans = {}
    for role in ("corrigenda_recall", "corrigenda_search"):
        with sample.connection.transaction(force_rollback=True):
            set_team(sample.connection, sample.team_id)
            sample.connection.execute(f"SET LOCAL ROLE {role}")
            lines = sample.connection.execute(
                "EXPLAIN SELECT entity_id FROM entity_names WHERE normal_name LIKE %s AND team_id = %s",
                ["%bour 77 of%", sample.team_id],
            ).fetchall()
        plans[role] = "entity_names_trigrams_idx" in "\n".join(str(line) for (line,) in lines)
    assert plans == {"corrigenda_recall": False, "corrigenda_search": True}
    assert len(find_names(sample, "bour 77 of")) == 1
