"""Page tokens: they go on where the page ended, and nowhere else."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import KeyId, ProfileId, TeamId
from corrigenda_core.rpc.page_tokens import TOKEN_BYTES_MAX, Page, PageTokens
from hypothesis import given
from hypothesis import strategies as st

KEY = bytes(range(32))
CALLER = Caller(team_id=TeamId("t1"), profile_id=ProfileId("p1"), key_id=KeyId("k1"), scopes=frozenset({KeyScope.READ}))
TOKENS = PageTokens(KEY)


def listing(**fields: Any) -> conflict_service_pb2.ListConflictsRequest:
    return conflict_service_pb2.ListConflictsRequest(predicate="deploys_from", **fields)


def second_page(**fields: Any) -> conflict_service_pb2.ListConflictsRequest:
    token = TOKENS.next_token(listing(), CALLER, after=("2026-03-01", "id"), revision=12)
    return listing(page_token=token, **fields)


@pytest.mark.parametrize(("asked", "size"), [(0, 50), (1, 1), (200, 200), (201, 200), (2**32 - 1, 200)])
def test_page_sizes_are_clamped(asked: int, size: int) -> None:
    assert TOKENS.page_of(listing(page_size=asked), CALLER) == Page(size=size)


@pytest.mark.parametrize("character", ["\U0001f600", "\x01", "\u2028", '"'])
def test_the_longest_name_of_any_character_fits_into_a_token(character: str) -> None:
    token = TOKENS.next_token(listing(), CALLER, after=(character * 128,), revision=2**62)
    assert TOKENS.page_of(listing(page_token=token), CALLER).after == (character * 128,)


@given(after=st.lists(st.text(max_size=20), max_size=4), revision=st.integers(0, 2**62))
def test_a_token_goes_on_where_the_page_ended(after: list[str], revision: int) -> None:
    token = TOKENS.next_token(listing(), CALLER, after=tuple(after), revision=revision)
    page = TOKENS.page_of(listing(page_token=token), CALLER)
    assert page == Page(size=50, after=tuple(after), revision=revision)


@pytest.mark.parametrize("fields", [{"page_size": 7}, {"min_revision": 9}])
def test_what_does_not_choose_the_entries_may_change_between_pages(fields: dict[str, Any]) -> None:
    assert TOKENS.page_of(second_page(**fields), CALLER).revision == 12


def test_another_replica_with_the_same_key_reads_it() -> None:
    assert PageTokens(KEY).page_of(second_page(), CALLER).after == ("2026-03-01", "id")


@pytest.mark.parametrize(
    ("request_", "caller", "tokens"),
    [
        pytest.param(second_page(mine=True), CALLER, TOKENS, id="another request"),
        pytest.param(second_page(), replace(CALLER, team_id=TeamId("t2")), TOKENS, id="another team"),
        pytest.param(second_page(), replace(CALLER, profile_id=ProfileId("p2")), TOKENS, id="another profile"),
        pytest.param(second_page(), CALLER, PageTokens(bytes(32)), id="another key"),
        pytest.param(listing(page_token="x"), CALLER, TOKENS, id="no base64"),
        pytest.param(listing(page_token="é"), CALLER, TOKENS, id="no ASCII"),
        pytest.param(listing(page_token="AAAA"), CALLER, TOKENS, id="too short"),
    ],
)
def test_a_token_is_good_for_nothing_else(request_: Any, caller: Caller, tokens: PageTokens) -> None:
    with pytest.raises(Refusal) as caught:
        tokens.page_of(request_, caller)
    assert (caught.value.reason, caught.value.field) == (Reason.PAGE_TOKEN_MISMATCH, "page_token")


def test_a_token_of_another_list_is_refused_though_the_requests_are_equal_byte_for_byte() -> None:
    token = TOKENS.next_token(recall_service_pb2.ListPredicatesRequest(), CALLER, after=("a",), revision=1)
    assert TOKENS.page_of(recall_service_pb2.ListPredicatesRequest(page_token=token), CALLER).after == ("a",)
    with pytest.raises(Refusal):
        TOKENS.page_of(conflict_service_pb2.ListReviewRunsRequest(page_token=token), CALLER)


def test_no_bit_of_a_token_can_be_changed() -> None:
    token = base64.urlsafe_b64decode(second_page().page_token)
    for position in range(len(token) * 8):
        changed = bytearray(token)
        changed[position // 8] ^= 1 << position % 8
        request = listing(page_token=base64.urlsafe_b64encode(changed).decode())
        with pytest.raises(Refusal):
            TOKENS.page_of(request, CALLER)


def test_a_token_fits_its_field() -> None:
    with pytest.raises(ValueError, match=str(TOKEN_BYTES_MAX)):
        TOKENS.next_token(listing(), CALLER, after=("x" * 800,), revision=1)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        PageTokens(b"short")
