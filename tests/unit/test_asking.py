"""Pages become one answer, names become ids, and a team's zone is used where the key may read it."""

import argparse
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import grpc
import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.asking import ask_pages, view_of
from corrigenda_cli.calling import InputError
from corrigenda_cli.finding import item_of
from corrigenda_cli.naming import entity_id_of

ID = "01920000-0000-7000-8000-000000000001"


def serving(service: str, method: str, answer: Callable[[Any], Any]) -> Any:
    """A client with one method."""

    async def call(request: Any) -> Any:
        return answer(request)

    return SimpleNamespace(**{service: SimpleNamespace(**{method: call})})


def paging(*, all: bool = False, limit: int | None = None, token: str = "") -> argparse.Namespace:
    return argparse.Namespace(all=all, limit=limit, page_token=token)


def pages_of(request: recall_service_pb2.TraceRequest) -> recall_service_pb2.TraceResponse:
    """Three pages of one record each, with the relationship and the sizes on every one."""
    number = int(request.page_token or "1")
    answer = recall_service_pb2.TraceResponse(revision=7, next_page_token=str(number + 1) if number < 3 else "")
    answer.relationship.relationship_id = "r"
    answer.sections.add(total=3)
    answer.evidence.add(fragment_id=f"f{number} of {request.page_size}")
    return answer


async def trace(options: argparse.Namespace) -> Any:
    client = serving("recall", "Trace", pages_of)
    repeated = ["relationship", "sections"]
    return await ask_pages(client, options, "Trace", {"relationship_id": ID}, on_every_page=repeated)


async def test_one_page_is_answered_as_it_is() -> None:
    answer = await trace(paging(limit=2, token="2"))
    assert ([one.fragment_id for one in answer.evidence], answer.next_page_token) == (["f2 of 2"], "3")


async def test_all_pages_are_one_answer_and_what_every_page_repeats_is_there_once() -> None:
    answer = await trace(paging(all=True))
    assert [one.fragment_id for one in answer.evidence] == ["f1 of 200", "f2 of 200", "f3 of 200"]
    assert (len(answer.sections), answer.next_page_token, answer.revision) == (1, "", 7)
    assert answer.relationship.relationship_id == "r"


ENTITIES = (
    ("e1", "environment", "production", ("prod",)),
    ("e2", "environment", "production two", ()),
    ("e3", "team", "prod", ()),
    ("e4", "team", "a:b", ()),
    ("e5", "host", "x\x1b[2J\n  e9  team:fake", ("evil",)),
    ("e6", "disk", "x\x1b[2J\n  e9  team:fake", ("evil",)),
)


def found(request: recall_service_pb2.SearchEntitiesRequest) -> recall_service_pb2.SearchEntitiesResponse:
    answer = recall_service_pb2.SearchEntitiesResponse()
    for entity_id, kind, name, others in ENTITIES:
        if request.entity_kind in ("", kind) and any(request.name.casefold() in one for one in (name, *others)):
            one = answer.entities.add(other_names=others)
            one.entity.entity_id, one.entity.entity_kind, one.entity.name = entity_id, kind, name
    return answer


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (ID, ID),
        ("production", "e1"),
        ("Production", "e1"),
        ("team:prod", "e3"),
        ("environment:prod", "e1"),
        ("a:b", "e4"),
        ("team:a:b", "e4"),
    ],
)
async def test_an_entity_is_meant_by_its_id_or_by_a_name_that_one_has(given: str, meant: str) -> None:
    assert await entity_id_of(serving("recall", "SearchEntities", found), given) == meant


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("nobody", "no entity is called 'nobody'"),
        ("", "no entity is called"),
        ("team:", "no entity is called"),
        ("prod", "2 entities are called 'prod'"),
    ],
)
async def test_a_name_that_none_or_several_have_is_told(given: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        await entity_id_of(serving("recall", "SearchEntities", found), given)


async def test_the_names_of_candidates_make_no_lines_of_their_own() -> None:
    with pytest.raises(InputError) as told:
        await entity_id_of(serving("recall", "SearchEntities", found), "evil")
    assert len(str(told.value).splitlines()) == 3
    assert "e5  host:x␛[2J e9 team:fake" in str(told.value)


def items(request: conflict_service_pb2.ListReviewItemsRequest) -> conflict_service_pb2.ListReviewItemsResponse:
    answer = conflict_service_pb2.ListReviewItemsResponse(next_page_token="" if request.page_token else "2")
    answer.items.add(item_id="i2" if request.page_token else "i1", version=len(request.statuses))
    return answer


async def test_a_question_is_found_on_whichever_page_it_is() -> None:
    client = serving("conflict", "ListReviewItems", items)
    assert (await item_of(client, "i2")).version == 1
    assert (await item_of(client, "i2", pending=False)).version == 3
    with pytest.raises(InputError, match="no pending question i3"):
        await item_of(client, "i3")


def team(zone: str) -> Callable[[Any], Any]:
    def answer(_request: Any) -> admin_service_pb2.GetTeamResponse:
        if not zone:
            metadata = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(grpc.StatusCode.PERMISSION_DENIED, metadata, metadata, "not yours")
        told = admin_service_pb2.GetTeamResponse()
        told.team.policy.time_zone = zone
        return told

    return answer


@pytest.mark.parametrize(
    ("asked", "of_team", "as_json", "zone"),
    [
        ("", "Asia/Tokyo", False, "Asia/Tokyo"),
        ("Europe/Vienna", "Asia/Tokyo", False, "Europe/Vienna"),
        ("", "", False, "UTC"),
        ("Europe/Vienna", "Asia/Tokyo", True, "UTC"),
    ],
)
async def test_times_are_in_the_zone_that_is_asked_for_or_the_team_s(
    asked: str, of_team: str, as_json: bool, zone: str
) -> None:
    view = await view_of(serving("admin", "GetTeam", team(of_team)), argparse.Namespace(zone=asked, json=as_json))
    assert view.zone_name == zone
    assert as_json or view.zone == ZoneInfo(zone)
