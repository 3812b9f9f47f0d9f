"""Read masks: what is named comes, with what tells whether it was cut; what no field is called is refused."""

from __future__ import annotations

from typing import Any

import pytest
from corrigenda.recall.v1 import recall_service_pb2, result_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.policy.limits import decide_limit
from corrigenda_core.rpc.json_mapping import fill_from_json, to_json
from corrigenda_core.rpc.read_masks import ReadMask
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

ANSWER = recall_service_pb2.RecallResponse.DESCRIPTOR


def answer() -> recall_service_pb2.RecallResponse:
    result = result_pb2.RecallResult(
        rank=1,
        evidence=evidence_pb2.Evidence(fragment_id="f", content="a text", metadata={"a": "b"}),
        paths=[
            result_pb2.RelationshipPath(
                relationship=relationship_pb2.Relationship(relationship_id="r", scope="here"), conflict_ids=["c"]
            )
        ],
        paths_total=21,
        paths_truncated=True,
    )
    return recall_service_pb2.RecallResponse(
        results=[result],
        results_total=12,
        results_truncated=True,
        conflicts=[result_pb2.RecallConflict(conflict_id="c", question="which?")],
        conflicts_total=1,
        degraded=[result_pb2.DEGRADATION_SEARCH_BEHIND],
        known_at=Timestamp(seconds=1),
        revision=7,
    )


def kept(*paths: str) -> dict[str, Any]:
    """The answer's lists of messages as JSON, as far as the mask keeps them."""
    said = to_json(ReadMask.of(FieldMask(paths=paths), ANSWER, field="read_mask").kept(answer()))
    return {name: said[name] for name in ("results", "conflicts") if said[name]}


def test_without_a_path_everything_comes() -> None:
    assert ReadMask.of(FieldMask(), ANSWER, field="read_mask").kept(answer()) == answer()


def test_what_is_named_comes_and_nothing_else() -> None:
    said = ReadMask.of(FieldMask(paths=["results.evidence.content"]), ANSWER, field="read_mask").kept(answer())
    assert list(said.results) == [result_pb2.RecallResult(evidence=evidence_pb2.Evidence(content="a text"))]
    assert not said.conflicts
    assert kept("conflicts") == {"conflicts": to_json(answer())["conflicts"]}
    assert "results" not in kept("conflicts.question")
    assert kept("results.rank", "conflicts.question")["conflicts"][0]["question"] == "which?"
    assert kept("results.evidence.metadata")["results"][0]["evidence"]["metadata"] == {"a": "b"}
    assert kept("results.evidence", "results")["results"] == kept("results")["results"]
    assert kept("results")["results"] == to_json(answer())["results"]


def test_a_list_never_comes_without_what_tells_whether_it_was_cut() -> None:
    (result,) = kept("results.paths.relationship.relationship_id")["results"]
    assert (result["paths_total"], result["paths_truncated"]) == (21, True)
    assert result["paths"][0]["relationship"]["relationship_id"] == "r"
    assert "scope" not in result["paths"][0]["relationship"]
    assert "evidence" not in result


@pytest.mark.parametrize("paths", [("results.rank",), ("revision",), ("resolved",)])
def test_the_answers_own_figures_times_and_codes_always_come(paths: tuple[str, ...]) -> None:
    said = ReadMask.of(FieldMask(paths=paths), ANSWER, field="read_mask").kept(answer())
    assert (said.revision, said.results_total, said.results_truncated, said.conflicts_total) == (7, 12, True, 1)
    assert list(said.degraded) == [result_pb2.DEGRADATION_SEARCH_BEHIND]
    assert said.known_at.seconds == 1


@pytest.mark.parametrize(
    "path",
    [
        "",
        "result",
        "results.",
        ".results",
        "results..evidence",
        "results.content",
        "results.evidence.content.more",
        "results.evidence.metadata.a",
        "known_at.seconds",
        "results[0].evidence",
        "*",
        "Results",
        "results evidence",
    ],
)
def test_a_path_that_names_no_field_is_refused_by_its_place(path: str) -> None:
    with pytest.raises(Refusal) as refused:
        ReadMask.of(FieldMask(paths=["results.rank", path]), ANSWER, field="read_mask")
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_FIELD, "read_mask.paths[1]")
    assert not path or path not in refused.value.message.replace("read_mask.paths[1]", "")


def test_so_many_paths_and_no_more() -> None:
    most = decide_limit("read_mask_paths").greatest
    ReadMask.of(FieldMask(paths=["results"] * most), ANSWER, field="read_mask")
    with pytest.raises(Refusal) as refused:
        ReadMask.of(FieldMask(paths=["results"] * (most + 1)), ANSWER, field="read_mask")
    assert (refused.value.reason, refused.value.field) == (Reason.TOO_MANY_ITEMS, "read_mask.paths")
    assert refused.value.metadata == {
        "bound": "read_mask_paths",
        "offered": str(most + 1),
        "allowed": str(most),
    }


def test_agents_write_the_names_that_fields_have() -> None:
    request = recall_service_pb2.RecallRequest()
    fill_from_json(request, {"query": "q", "read_mask": "results.evidence.content_sha256,results.paths_total"})
    assert list(request.read_mask.paths) == ["results.evidence.content_sha256", "results.paths_total"]


@pytest.mark.parametrize("text", ["results_", "results__total", "_"])
def test_what_is_no_name_is_refused_and_not_quoted(text: str) -> None:
    def read() -> ReadMask:
        request = recall_service_pb2.RecallRequest()
        fill_from_json(request, {"query": "q", "read_mask": text})
        return ReadMask.of(request.read_mask, ANSWER, field="read_mask")

    with pytest.raises(Refusal) as refused:
        read()
    assert refused.value.reason is Reason.INVALID_FIELD
