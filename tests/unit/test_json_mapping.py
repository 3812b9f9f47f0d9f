"""Protos as JSON for people and agents, and back."""

from typing import Any

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.json_mapping import MAX_SHOWN_NAME_CODE_POINTS, fill_from_json, to_json, value_names
from corrigenda_core.rpc.validation import find_breaches

REQUEST: dict[str, Any] = {
    "idempotency_key": "k",
    "evidence": [
        {
            "content": "production deploys from main",
            "source_type": "conversation",
            "occurred_at": "2026-03-01T08:00:00+01:00",
            "confidence": 0.5,
        }
    ],
    "proposal": {
        "entities": [
            {"ref": "e", "name": "production", "entity_kind": "environment", "identity_context": {"system": "x"}}
        ],
        "relationships": [
            {
                "proposal_id": "p",
                "subject_ref": "e",
                "predicate": "deploys_from",
                "object_ref": "e",
                "polarity": "-",
                "modality": "statement",
                "evidence": [{"evidence_index": 0, "start": 0, "end": 4}],
            }
        ],
    },
}


def test_a_request_reads_as_it_is_written() -> None:
    message = ingest_service_pb2.RememberRequest()
    fill_from_json(message, REQUEST)
    assert find_breaches(message) == ()
    relationship = message.proposal.relationships[0]
    assert relationship.polarity == relationship_pb2.POLARITY_NEGATIVE
    assert message.evidence[0].source_type == evidence_pb2.SOURCE_TYPE_CONVERSATION
    assert message.evidence[0].occurred_at.ToJsonString() == "2026-03-01T07:00:00Z"
    assert message.evidence[0].occurred_at_offset_minutes == 60
    said = to_json(message)
    assert said["proposal"]["relationships"][0]["polarity"] == "-"
    assert said["proposal"]["entities"][0]["identity_context"] == {"system": "x"}
    again = ingest_service_pb2.RememberRequest()
    fill_from_json(again, said)
    assert again == message


@pytest.mark.parametrize(
    ("written", "said", "kept"),
    [
        ("2026-06-01T19:00:00-07:00", None, -420),
        ("2026-06-01T19:00:00+05:45", None, 345),
        ("2026-06-01T19:00:00Z", None, None),
        ("2026-06-01T19:00:00+02:00", 60, 60),
    ],
)
def test_the_offset_of_an_instant_that_is_text_is_kept(written: str, said: int | None, kept: int | None) -> None:
    message = submission_pb2.EvidenceItem()
    fill_from_json(message, {"occurred_at": written, "occurred_at_offset_minutes": said})
    assert message.HasField("occurred_at_offset_minutes") == (kept is not None)
    assert message.occurred_at_offset_minutes == (kept or 0)


def test_a_null_says_what_an_absent_field_does() -> None:
    message = recall_service_pb2.RecallRequest()
    fill_from_json(message, {"query": "q", "limit": None})
    assert message == recall_service_pb2.RecallRequest(query="q")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"querry": "x"}, "querry"),
        ({"temporal": {"known": 1}}, "temporal.known"),
        ({"temporal": "now"}, "temporal"),
        ({"idempotencyKey": "k"}, "idempotencyKey"),
        ({"limit": "many"}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": 2**32}, "limit"),
        ({"limit": float("inf")}, "limit"),
        ({"limit": float("nan")}, "limit"),
        ({"temporal": {"valid_at": "yesterday"}}, "temporal.valid_at"),
        ({"temporal": {"valid_at": "2026-01-01T00:00:00+99:99"}}, "temporal.valid_at"),
        ({"temporal": {"valid_at": {}}}, "temporal.valid_at"),
        ({"query": 7}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"\ud800" * 100: 1}, "?" * MAX_SHOWN_NAME_CODE_POINTS),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(given: dict[str, object], field: str) -> None:
    with pytest.raises(Refusal) as refused:
        fill_from_json(recall_service_pb2.RecallRequest(), given)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, field)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"metadata": "x"}, "metadata"),
        ({"metadata": {"key": 1}}, "metadata.value"),
        ({"metadata": {"\ud800": "value"}}, "metadata.key"),
        ({"evidence": [{"confidence": 10**400}]}, "evidence[0].confidence"),
        ({"evidence": [{"confidence": "NaN"}]}, "evidence[0].confidence"),
        ({"evidence": [{"confidence": float("nan")}]}, "evidence[0].confidence"),
        ({"proposal": {"entities": [[]]}}, "proposal.entities[0]"),
    ],
)
def test_no_value_that_json_can_write_is_more_than_refused(given: dict[str, object], field: str) -> None:
    with pytest.raises(Refusal) as refused:
        fill_from_json(ingest_service_pb2.RememberRequest(), given)
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, field)
    refused.value.message.encode()


@pytest.mark.parametrize("value", ["POLARITY_POSITIVE", "positive", "", 1])
def test_an_enum_takes_its_short_names_alone(value: object) -> None:
    relationship = {**REQUEST["proposal"]["relationships"][0], "polarity": value}
    given = {"proposal": {"relationships": [relationship]}}
    with pytest.raises(Refusal) as refused:
        fill_from_json(ingest_service_pb2.RememberRequest(), given)
    assert refused.value.field == "proposal.relationships[0].polarity"
    assert refused.value.metadata["allowed"] == "+, -"


def test_an_answer_names_its_lists_flags_and_figures_also_where_they_are_empty() -> None:
    said = to_json(recall_service_pb2.RecallResponse(revision=2**40))
    assert said["revision"] == 2**40
    assert (said["results"], said["results_total"], said["results_truncated"]) == ([], 0, False)
    assert "valid_at" not in said


def test_short_names_are_unique_within_their_enum() -> None:
    for enum in (
        *evidence_pb2.DESCRIPTOR.enum_types_by_name.values(),
        *relationship_pb2.DESCRIPTOR.enum_types_by_name.values(),
    ):
        names = value_names(enum)
        assert len(set(names.values())) == len(names)
