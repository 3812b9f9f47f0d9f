"""Migrations: what they make is what is declared and what the snapshot says; they go down and up again."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from corrigenda_core.persistence import migrate as migrations
from corrigenda_core.persistence.catalogue import describe, describe_table
from corrigenda_core.persistence.embedded import temporary_server
from corrigenda_core.persistence.migrate import EXTENSIONS, MigrationRefused, downgrade, migrate
from corrigenda_core.persistence.migration_steps import migrations_folder
from corrigenda_core.persistence.roles import LOGIN_ROLES, ROLES, RolesRefused, role_statements
from corrigenda_core.persistence.sql_text import statements
from corrigenda_core.persistence.tables import metadata
from corrigenda_core.testing.postgres import PostgresCluster, ThrowawayDatabase
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.pool import NullPool

pytestmark = pytest.mark.database

SNAPSHOT = migrations_folder() / "schema_snapshot.txt"
WRITE_SNAPSHOT = "CORRIGENDA_WRITE_SNAPSHOT"


@pytest.fixture
def empty_database(cluster: PostgresCluster) -> Iterator[ThrowawayDatabase]:
    database = cluster.create_empty()
    try:
        yield database
    finally:
        cluster.drop(database)


def description(database: ThrowawayDatabase) -> str:
    with database.connect() as connection:
        return describe(connection, roles=[role.name for role in ROLES])


def revisions() -> list[str]:
    """From the first to the last."""
    script = ScriptDirectory(str(migrations_folder()))
    return [revision.revision for revision in reversed(list(script.walk_revisions()))]


@pytest.mark.promise("Q22")
def test_the_migrated_schema_is_the_snapshot(fresh_database: ThrowawayDatabase) -> None:
    found = description(fresh_database)
    if os.environ.get(WRITE_SNAPSHOT):
        SNAPSHOT.write_text(found, encoding="utf-8")
    wanted = SNAPSHOT.read_text(encoding="utf-8")
    assert found == wanted, f"if the change is meant, run this test with {WRITE_SNAPSHOT}=1 and commit the snapshot"


def test_the_migrated_tables_are_the_declared_ones(
    fresh_database: ThrowawayDatabase, empty_database: ThrowawayDatabase
) -> None:
    """Stronger than alembic's comparison, which sees no exclusion constraint, no check and no comment on an index."""
    with empty_database.connect() as declared:
        for extension in EXTENSIONS:
            declared.execute(f"CREATE EXTENSION {extension}")
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(empty_database.superuser_url), poolclass=NullPool
    )
    with engine.begin() as connection:
        metadata.create_all(connection)
        for table in metadata.tables.values():
            for index in table.indexes:
                connection.exec_driver_sql(f"COMMENT ON INDEX {index.name} IS $${index.info['serves']}$$")
    with empty_database.connect() as declared, fresh_database.connect() as migrated:
        for name in metadata.tables:
            assert describe_table(migrated, name) == describe_table(declared, name), name


def test_alembic_finds_nothing_to_add(fresh_database: ThrowawayDatabase) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(fresh_database.superuser_url), poolclass=NullPool
    )
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


@pytest.mark.promise("Q22")
def test_expanding_migrations_go_down_and_up_again(empty_database: ThrowawayDatabase) -> None:
    seen: dict[str, str] = {}
    for revision in revisions():
        migrate(empty_database.superuser_url, revision=revision)
        seen[revision] = description(empty_database)
    for later, earlier in zip(reversed(revisions()), [*reversed(revisions()[:-1]), "base"], strict=True):
        assert description(empty_database) == seen[later]
        downgrade(empty_database.superuser_url, earlier)
    with empty_database.connect() as connection:
        left = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' UNION ALL "
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
            "AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"
        ).fetchall()
    assert left == [("alembic_version",)]
    migrate(empty_database.superuser_url)
    assert description(empty_database) == seen[revisions()[-1]]


def test_names_say_what_a_migration_may_do() -> None:
    files = sorted(path.stem for path in (migrations_folder() / "versions").glob("*.py"))
    assert files == revisions()
    assert all("_expand_" in name or "_contract_" in name for name in files)


def test_migrating_twice_changes_nothing(empty_database: ThrowawayDatabase) -> None:
    migrate(empty_database.superuser_url)
    first = description(empty_database)
    migrate(empty_database.superuser_url)
    assert description(empty_database) == first


def test_databases_of_a_new_server_migrate_at_once() -> None:
    """Roles belong to the server: three migrations of two databases meet where nobody has made any yet."""
    with temporary_server() as server:
        first, second = server.url, server.url.replace("/postgres", "/second")
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute("CREATE DATABASE second TEMPLATE template0 ENCODING 'UTF8'")
        passwords = dict.fromkeys(LOGIN_ROLES, "corrigenda-test")
        with ProcessPoolExecutor(max_workers=3, mp_context=multiprocessing.get_context("spawn")) as pool:
            runs = [pool.submit(migrate, url, role_passwords=passwords) for url in (first, second, first)]
            for run in runs:
                run.result()
        for url in (first, second):
            with psycopg.connect(url) as connection:
                found = describe(connection, roles=[role.name for role in ROLES])
            assert found == SNAPSHOT.read_text(encoding="utf-8")


def test_two_threads_of_a_process_migrate_one_after_the_other(cluster: PostgresCluster) -> None:
    databases = [cluster.create_empty(), cluster.create_empty()]
    try:
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(migrate, [database.superuser_url for database in databases]))
        assert description(databases[0]) == description(databases[1])
    finally:
        for database in databases:
            cluster.drop(database)


def test_every_statement_is_a_call_of_its_own(empty_database: ThrowawayDatabase) -> None:
    """Citus distributes one DDL command per call."""
    calls: list[str] = []

    def remember(_: SqlConnection, __: object, statement: str, *rest: object) -> None:
        calls.append(statement)

    event.listen(Engine, "before_cursor_execute", remember)
    try:
        migrate(empty_database.superuser_url)
    finally:
        event.remove(Engine, "before_cursor_execute", remember)
    created = [call for call in calls if "CREATE TABLE" in call]
    assert len(created) == len(metadata.tables) + 1
    assert [call for call in calls if len(statements(call)) != 1] == []


def test_roles_get_the_given_passwords_and_keep_the_others(empty_database: ThrowawayDatabase) -> None:
    migrate(empty_database.superuser_url)
    with psycopg.connect(empty_database.url("corrigenda_recall")) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("corrigenda_recall",)
    with pytest.raises(ValueError, match="corrigenda_definer"):
        migrate(empty_database.superuser_url, role_passwords={"corrigenda_definer": "x"})


def test_a_database_older_than_it_may_be_is_refused(
    empty_database: ThrowawayDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 99)
    with pytest.raises(MigrationRefused, match="PostgreSQL 99 or newer is needed"):
        migrate(empty_database.superuser_url)
    monkeypatch.undo()
    monkeypatch.setattr(migrations, "OLDEST_VECTOR", (99, 0))
    with pytest.raises(MigrationRefused, match=r"pgvector 99\.0 or newer is needed"):
        migrate(empty_database.superuser_url)


def test_a_missing_extension_is_named(empty_database: ThrowawayDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "EXTENSIONS", ("no_such_extension",))
    with pytest.raises(MigrationRefused, match="the server has no extension no_such_extension"):
        migrate(empty_database.superuser_url)


def test_a_database_in_another_encoding_is_refused(cluster: PostgresCluster, empty_database: ThrowawayDatabase) -> None:
    name = f"{empty_database.name}_latin"
    with empty_database.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    latin = ThrowawayDatabase(name=name, superuser_url=empty_database.superuser_url.replace(empty_database.name, name))
    try:
        with pytest.raises(MigrationRefused, match="UTF8"):
            migrate(latin.superuser_url)
    finally:
        cluster.drop(latin)


class TestWithoutASuperuser:
    """The migrator's own role migrates, once somebody has prepared roles, extensions and rights."""

    def test_it_is_told_what_somebody_has_to_do(self, empty_database: ThrowawayDatabase) -> None:
        with pytest.raises(MigrationRefused, match="CREATE EXTENSION vector SCHEMA public"):
            migrate(self.url_with_rights(empty_database, extensions=("btree_gist", "pg_trgm", "unaccent")))
        with empty_database.connect() as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("REVOKE CREATE ON SCHEMA public FROM corrigenda_migrator")
        with pytest.raises(MigrationRefused, match="GRANT USAGE, CREATE ON SCHEMA public TO corrigenda_migrator"):
            migrate(empty_database.url("corrigenda_migrator"))

    def test_it_migrates_to_the_same_schema(self, empty_database: ThrowawayDatabase) -> None:
        migrate(self.url_with_rights(empty_database, extensions=EXTENSIONS))
        assert description(empty_database) == SNAPSHOT.read_text(encoding="utf-8")

    def url_with_rights(self, database: ThrowawayDatabase, *, extensions: tuple[str, ...]) -> str:
        with database.connect() as connection:
            for extension in extensions:
                connection.execute(f"CREATE EXTENSION {extension}")
            connection.execute("GRANT USAGE, CREATE ON SCHEMA public TO corrigenda_migrator WITH GRANT OPTION")
        return database.url("corrigenda_migrator")

    def test_roles_that_differ_are_named(self, empty_database: ThrowawayDatabase) -> None:
        with empty_database.connect() as connection:
            connection.execute("ALTER ROLE corrigenda_indexer CREATEDB")
            try:
                with pytest.raises(RolesRefused, match="CREATE ROLE corrigenda_indexer"):
                    migrate(self.url_with_rights(empty_database, extensions=EXTENSIONS))
            finally:
                connection.execute("ALTER ROLE corrigenda_indexer NOCREATEDB")
        assert "GRANT corrigenda_search TO corrigenda_migrator;" in role_statements()

    def test_a_role_that_makes_roles_prepares_everything_but_what_needs_a_superuser(self) -> None:
        """On a server of its own, where no role of ours is there yet."""
        with temporary_server() as server, psycopg.connect(server.url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE operations LOGIN CREATEROLE PASSWORD 'x'")
            superuser.execute("CREATE DATABASE corrigenda OWNER operations")
            parts = urlsplit(server.url)
            url = urlunsplit(parts._replace(netloc=f"operations:x@{parts.hostname}:{parts.port}", path="/corrigenda"))
            with pytest.raises(RolesRefused, match="GRANT corrigenda_migrator TO operations"):
                migrate(url)
            for name in ("corrigenda_backup", "corrigenda_auditor"):
                superuser.execute(f"CREATE ROLE {name} LOGIN NOINHERIT BYPASSRLS")
            with pytest.raises(MigrationRefused, match="CREATE EXTENSION vector SCHEMA public"):
                migrate(url)
            with psycopg.connect(url.replace("operations:x", parts.netloc.rpartition("@")[0])) as connection:
                connection.execute("CREATE EXTENSION vector")
            migrate(url)
            with psycopg.connect(url) as connection:
                found = describe(connection, roles=[role.name for role in ROLES])
        assert found == SNAPSHOT.read_text(encoding="utf-8")


def test_the_folder_is_found_from_the_checkout() -> None:
    assert (migrations_folder() / "env.py").is_file()
    assert migrations_folder() == Path(__file__).resolve().parents[2] / "migrations"
