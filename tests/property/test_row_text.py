"""Canonical text of values and the hashes made from it."""

import json
import os
import uuid
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.ids import ProfileId, TeamId
from corrigenda_core.domain.time import Moment
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.ledger import LedgerEntry, change_hash, row_digest
from corrigenda_core.persistence.row_text import encoder_of, exact_json
from corrigenda_core.persistence.row_writing import writer_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Boolean, LargeBinary, Numeric, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB, TIMESTAMP
from sqlalchemy.types import TypeEngine

EXAMPLES = settings(max_examples=2000 if os.environ.get("CORRIGENDA_TEST_TIER") == "full" else 100)
INSTANT = TIMESTAMP(timezone=True)
ID = "0190a0b0-c0d0-7e00-8f00-0000000000ab"

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


EXACT = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@EXAMPLES
@given(value=st.dictionaries(TEXTS, EXACT, max_size=4))
def test_an_object_without_fractions_is_written_alike_in_one_go(value: dict[str, Any]) -> None:
    write = encoder_of(JSONB())
    assert write(exact_json(value)) == exact_json(value) == write(value)


@pytest.mark.parametrize(
    ("column_type", "value", "text"),
    [
        (Text(), "as it is", "as it is"),
        (Text(), ActorKind.PROFILE, "profile"),
        (Uuid(), ID.upper(), ID),
        (Uuid(), uuid.UUID(ID), ID),
        (BigInteger(), -7, "-7"),
        (Boolean(), True, "true"),
        (BYTEA(), b"\x00\xff", "\\x00ff"),
        (INSTANT, datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01 00:00:00.000000+00:00"),
        (INSTANT, datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=1))), "2026-03-01 00:00:00.000000+00:00"),
        (INSTANT, Unbounded.START, "-infinity"),
        (INSTANT, Unbounded.END, "infinity"),
        (Numeric(), Decimal("1.500"), "1.5"),
        (Numeric(), 100, "100"),
        (Numeric(), Decimal("1E+3"), "1000"),
        (Numeric(), -0.0, "0"),
        (Numeric(), 1e-7, "0.0000001"),
        (JSONB(), {"b": 1.0, "a": [None, "ü", False]}, '{"a":[null,"ü",false],"b":1}'),
        (ARRAY(Text), ['a"b', "c\\d", "", "NULL"], '{"a\\"b","c\\\\d","","NULL"}'),
        (ARRAY(Uuid), (ID,), f'{{"{ID}"}}'),
        (ARRAY(Uuid), [], "{}"),
    ],
)
def test_each_type_has_one_text(column_type: TypeEngine[Any], value: object, text: str) -> None:
    assert encoder_of(column_type)(value) == text


@pytest.mark.parametrize(
    ("column_type", "value"),
    [
        (Text(), 1),
        (Uuid(), 1),
        (BigInteger(), True),
        (BigInteger(), "1"),
        (Boolean(), 1),
        (INSTANT, datetime(2026, 3, 1)),  # noqa: DTZ001 the naive time is what is refused
        (INSTANT, "2026-03-01"),
        (Numeric(), "1"),
        (Numeric(), True),
        (Numeric(), Decimal("NaN")),
        (JSONB(), {1: 2}),
        (JSONB(), {"a": object()}),
        (JSONB(), float("inf")),
        (ARRAY(Text), "text"),
    ],
)
def test_a_value_of_another_type_is_refused(column_type: TypeEngine[Any], value: object) -> None:
    with pytest.raises(TypeError):
        encoder_of(column_type)(value)


def test_an_unknown_type_has_no_text() -> None:
    with pytest.raises(TypeError, match="no canonical text"):
        encoder_of(LargeBinary())


@EXAMPLES
@given(value=JSON)
def test_json_is_read_back_as_the_same_text(value: object) -> None:
    encode = encoder_of(JSONB())
    # The server keeps numbers as decimals and hands them out as the reader's own kind of number.
    read = json.loads(encode(value), parse_int=int, parse_float=Decimal)
    assert encode(read) == encode(value)
    assert encode(json.loads(encode(value))) == encode(value)


ROW = {
    "team_id": ID,
    "entity_id": ID,
    "kind": "person",
    "created_by": ID,
    "revision": 1,
    "recorded_at": datetime(2026, 3, 1, tzinfo=UTC),
}


@pytest.mark.rule("R11.4")
@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "persons"},
        {"revision": 2},
        {"recorded_at": datetime(2026, 3, 1, 0, 0, 0, 1, tzinfo=UTC)},
        {"created_by": ID[:-1] + "c"},
    ],
)
def test_every_value_counts(changed: dict[str, object]) -> None:
    writer = writer_of(tables.entities)
    assert row_digest(writer, writer.text(ROW)) != row_digest(writer, writer.text({**ROW, **changed}))


@pytest.mark.rule("R11.4")
def test_the_order_of_rows_does_not_count_but_each_row_does() -> None:
    assert change_hash([b"a", b"b"]) == change_hash([b"b", b"a"])
    assert len({change_hash(rows) for rows in ([], [b"a"], [b"a", b"a"], [b"a", b"b"])}) == 4


@pytest.mark.rule("R11.4")
@given(moved=st.sampled_from(["a", "ab", "b", ""]))
def test_neighbouring_texts_do_not_run_into_each_other(moved: str) -> None:
    base = {**ROW, "normal_name": "x", "name": "y", "is_primary": True, "given_by": ID, "is_confirmed": False}
    del base["kind"], base["created_by"]
    writer = writer_of(tables.entity_names)
    one = writer.text({**base, "normal_name": "p" + moved, "name": "q"})
    other = writer.text({**base, "normal_name": "p", "name": moved + "q"})
    assert (row_digest(writer, one) == row_digest(writer, other)) == (moved == "")


@pytest.mark.rule("R11.4")
def test_an_entrys_hash_depends_on_all_of_it() -> None:
    def entry(**changes: object) -> bytes:
        parts: dict[str, Any] = {
            "team_id": TeamId(ID),
            "moment": Moment(revision=1, at=datetime(2026, 3, 1, tzinfo=UTC)),
            "prior_hash": bytes(32),
            "change_hash": bytes(32),
            "actor": Actor(kind=ActorKind.PROFILE, profile_id=ProfileId(ID)),
            "change_kind": "remember",
        }
        return LedgerEntry(**{**parts, **changes}).hash

    hashes = {
        entry(),
        entry(team_id=TeamId(ID[:-1] + "c")),
        entry(moment=Moment(revision=2, at=datetime(2026, 3, 1, tzinfo=UTC))),
        entry(moment=Moment(revision=1, at=datetime(2026, 3, 2, tzinfo=UTC))),
        entry(prior_hash=bytes(31) + b"\1"),
        entry(change_hash=bytes(31) + b"\1"),
        entry(actor=Actor(kind=ActorKind.PROFILE, profile_id=ProfileId(ID[:-1] + "c"))),
        entry(actor=Actor(kind=ActorKind.OPERATOR, profile_id=ProfileId(ID))),
        entry(change_kind="forget"),
    }
    assert len(hashes) == 9
