"""A stored response after an erasure keeps its ids, numbers and times, and not one word."""

from __future__ import annotations

import pytest
from corrigenda.conflict.v1 import auto_resolution_pb2, conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.type.v1 import object_pb2
from corrigenda_core.rpc.erased_responses import without_words
from google.protobuf.timestamp_pb2 import Timestamp

pytestmark = pytest.mark.rule("R11.3")

ID, OTHER = "0190a6e2-0000-7000-8000-000000000001", "0190a6e2-0000-7000-8000-000000000002"
WORD = "canary"


def test_a_response_keeps_its_ids_and_loses_its_words() -> None:
    response = ingest_service_pb2.RememberResponse(
        placement=placement_pb2.Placement(
            ingest_id=ID,
            revision=7,
            recorded_at=Timestamp(seconds=1),
            fragments=[placement_pb2.FragmentPlacement(fragment_id=OTHER)],
            entities=[
                placement_pb2.EntityPlacement(
                    ref=WORD, entity=object_pb2.EntitySummary(entity_id=ID, name=WORD, entity_kind=WORD)
                )
            ],
        )
    )
    kept = ingest_service_pb2.RememberResponse.FromString(
        without_words("corrigenda.ingest.v1.RememberRequest", response.SerializeToString())
    )
    assert WORD not in str(kept)
    assert (kept.placement.ingest_id, kept.placement.revision, kept.placement.recorded_at.seconds) == (ID, 7, 1)
    assert kept.placement.fragments[0].fragment_id == OTHER
    assert kept.placement.entities[0].entity.entity_id == ID
    again = without_words("corrigenda.ingest.v1.RememberRequest", kept.SerializeToString(deterministic=True))
    assert again == kept.SerializeToString(deterministic=True)


def test_what_a_run_of_the_judge_keeps_is_no_response_and_is_known_all_the_same() -> None:
    name = conflict_service_pb2.AutoResolveRequest.DESCRIPTOR.full_name
    run = f"{ID}\n{OTHER}".encode()
    assert without_words(name, run) == run
    item = auto_resolution_pb2.AutoResolvedItem(item_id=ID, reason=WORD)
    kept = auto_resolution_pb2.AutoResolvedItem.FromString(without_words(name, item.SerializeToString()))
    assert (kept.item_id, WORD in str(kept)) == (ID, False)


def test_an_unknown_request_is_a_defect() -> None:
    with pytest.raises(KeyError):
        without_words("corrigenda.ingest.v1.NoRequest", b"")
