"""What people give becomes the request that the services know: options, files, JSON lines."""

import argparse
import io
from typing import Any

import pytest
from corrigenda_cli.calling import InputError
from corrigenda_cli.reading.lines import LINE_BYTES_MAX, BadLine, Line, key_prefix_of, lines_of
from corrigenda_cli.reading.submissions import add_submission_options, submission_of
from corrigenda_core.rpc.json_mapping import fill_from_json

ID = "01920000-0000-7000-8000-000000000001"
CLAIM = ("--subject", "environment:production", "--predicate", "deploys_from")


def submission(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_submission_options(parser)
    return submission_of(parser.parse_args(arguments))


def test_a_text_alone_is_evidence_without_a_proposal() -> None:
    assert submission("it rains") == {"evidence": [{"content": "it rains", "source_type": "manual"}]}


def test_a_claim_becomes_a_proposal_that_cites_the_whole_text() -> None:
    said = submission("production deploys from main", *CLAIM, "--object", "git_branch:feature:x", "--deny")
    assert [one["name"] for one in said["proposal"]["entities"]] == ["production", "feature:x"]
    (one,) = said["proposal"]["relationships"]
    assert one["evidence"] == [{"evidence_index": 0, "start": 0, "end": 28}]
    assert (one["polarity"], one["object_ref"], "object_value" in one) == ("-", "object", False)


def test_everything_that_options_say_fits_the_request() -> None:
    from corrigenda.ingest.v1 import ingest_service_pb2

    said = submission(
        "the limit is 10 ms",
        *(*CLAIM, "--value", "number:10", "--unit", "ms", "--scope", "edge", "--quote", "10 ms", "--comment", "c"),
        *("--from", "2026-03-01T00:00:00Z", "--to", "2026-04-01T00:00:00Z", "--modality", "plan"),
        *("--corrects", f"{ID}@3", "--answers", ID, "--label", "a", "--label", "b", "--confidence", "0.5"),
        *("--source-type", "document", "--authority", "primary", "--source-group", "g", "--source-key", "k"),
        *("--source-revision", "2", "--previous-source-revision", "1", "--supersedes", ID, "--derived-from", ID),
        *("--occurred-at", "2026-03-01T00:00:00Z", "--metadata", "a=b=c"),
    )
    request = ingest_service_pb2.RememberRequest()
    fill_from_json(request, said)
    (item,), (one,) = request.evidence, request.proposal.relationships
    assert (item.source_key, item.previous_source_revision, list(item.labels)) == ("k", "1", ["a", "b"])
    assert (one.object_value.text, one.object_value.unit, one.evidence[0].quote) == ("10", "ms", "10 ms")
    assert (one.correction_target.expected_version, one.conflict_context.HasField("expected_version")) == (3, False)
    assert dict(request.metadata) == {"a": "b=c"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give one of"),
        (("a", "--file", "b"), "give one of"),
        (("a", "--subject", "environment:production"), "given together"),
        (("a", *CLAIM, "--object", "main"), "--object is KIND:NAME"),
        (("a", *CLAIM, "--value", "weight:3"), "--value is TYPE:TEXT"),
        (("a", "--answers", ID), "need --subject"),
        (("a", *CLAIM, "--object", "a:b", "--answers", f"{ID}@x"), "ID@VERSION"),
        (("a", "--metadata", "b"), "KEY=VALUE"),
        (("--file", "/no/such/file"), "cannot be read"),
        (("--request", "/no/such/file"), "cannot be read"),
    ],
)
def test_what_does_not_fit_together_is_told(arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        submission(*arguments)


def lines(text: str | bytes, **how: Any) -> list[Line | BadLine]:
    data = text.encode() if isinstance(text, str) else text
    return list(lines_of(io.BytesIO(data), prefix="items.jsonl", **how))


def keys(text: str) -> list[str]:
    return [line.key for line in lines(text) if isinstance(line, Line)]


def test_a_line_keeps_its_key_or_is_given_the_same_one_by_every_run() -> None:
    text = '{"evidence": [1]}\n\n{"evidence": [1]}\n{"idempotency_key": "mine"}'
    first, second, third = lines(text)
    assert [first.number, second.number, third.number] == [1, 3, 4]
    assert isinstance(first, Line)
    assert isinstance(second, Line)
    assert isinstance(third, Line)
    assert first.key.startswith("items.jsonl:1:")
    assert first.key != second.key
    assert third.key == "mine"
    assert lines(text) == [first, second, third]
    assert lines(text, first=3) == [second, third]
    # How the line is written makes no difference; what it says does.
    assert keys('{ "evidence" : [1] }') == [first.key]
    assert keys('{"evidence": [2]}') != [first.key]
    assert sum(line.size_bytes for line in lines(text)) == len(text) - 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"no json", "no JSON"),
        (b"[1]", "no JSON object"),
        (b"\xff\xfe", "utf-8"),
        (b"[" * 100_000, "no JSON"),
        (b'{"a": "' + b"x" * LINE_BYTES_MAX + b'"}', "longer than"),
    ],
)
def test_a_bad_line_is_told_and_the_next_one_is_read(data: bytes, problem: str) -> None:
    bad, good = lines(data + b'\n{"evidence": []}')
    assert isinstance(bad, BadLine)
    assert problem in bad.problem
    assert bad.size_bytes == len(data) + 1
    assert (good.number, isinstance(good, Line)) == (2, True)


def test_the_name_in_derived_keys() -> None:
    assert key_prefix_of("/a/b/items.jsonl", None) == "items.jsonl"
    assert key_prefix_of("-", None) == "stdin"
    assert key_prefix_of("/a/items.jsonl", "monday") == "monday"
    assert len(key_prefix_of("ü" * 60, None).encode()) == 64
    with pytest.raises(InputError, match="at most 64 bytes"):
        key_prefix_of("a", "x" * 65)
