"""`corrigenda policy` as a process: lines in, lines out, as it goes, and what it says of bad lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from corrigenda_core.policy.decision_codec import encode_decision, encode_explanation
from corrigenda_core.policy.explanation import explain_case
from corrigenda_core.policy.snapshot_codec import encode_snapshot
from corrigenda_core.policy.team_conflict import decide_case
from corrigenda_core.testing.case_snapshots import case, plain, side
from corrigenda_core.testing.policy_vectors import PolicyVector, read_vectors

SNAPSHOT = case(side("A", *plain(4)), side("B", *plain(1)))
LINE = encode_snapshot(SNAPSHOT).encode()
DECISION = encode_decision(decide_case(SNAPSHOT)).encode()
OWN_VECTORS = Path(__file__).with_name("policy_vectors.jsonl")
SHARED_VECTORS = Path(__file__).resolve().parents[2].parent / "shared" / "vectors" / "policy.json"

COMMAND = [sys.executable, "-m", "corrigenda_cli", "policy"]


def run(*arguments: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=text, capture_output=True, timeout=60, check=False)


@pytest.fixture
def evaluating() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*COMMAND, "evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_each_line_is_answered_before_the_next_is_read(evaluating: subprocess.Popen[bytes]) -> None:
    assert evaluating.stdin is not None
    assert evaluating.stdout is not None
    for _ in range(3):
        evaluating.stdin.write(LINE + b"\n")
        evaluating.stdin.flush()
        assert evaluating.stdout.readline() == DECISION + b"\n"
    evaluating.stdin.close()
    assert evaluating.stdout.read() == b""
    assert evaluating.wait(timeout=60) == 0


def test_a_bad_line_is_answered_with_its_number_and_the_others_as_usual() -> None:
    too_long = b'{"policy":"' + b"x" * (4 * 1024 * 1024) + b'"}'
    done = run("evaluate", text=b"\n".join([LINE, b"{}", b"", b"\xff", too_long, b"[" * 100_000, b"  ", LINE]))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("line") for answer in answers] == [None, 2, 4, 5, 6, None]
    assert done.stdout.splitlines()[0] == done.stdout.splitlines()[-1] == DECISION
    assert answers[1]["error"] == "policy: is missing"
    assert answers[3]["error"] == "the line is longer than 4194304 bytes"
    assert (done.returncode, done.stderr) == (1, b"")


def test_nothing_in_is_nothing_out() -> None:
    done = run("evaluate", text=b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with subprocess.Popen(
        [*COMMAND, "evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, complaint = process.communicate(LINE + b"\n")
    assert (process.returncode, complaint) == (1, b"")


def test_explain_writes_tables_or_json() -> None:
    for_people = run("explain", text=LINE)
    assert for_people.stdout.startswith(b"Decision: resolve for A (early_quorum)\n")
    as_json = run("explain", "--json", text=LINE)
    assert as_json.stdout.decode() == encode_explanation(explain_case(SNAPSHOT)) + "\n"
    assert (for_people.returncode, as_json.returncode) == (0, 0)


def test_wrong_usage_is_status_2_and_help_names_the_subcommands() -> None:
    assert run("decide", text=b"").returncode == 2
    assert subprocess.run([sys.executable, "-m", "corrigenda_cli", "no-such"], capture_output=True).returncode == 2
    usage = subprocess.run([sys.executable, "-m", "corrigenda_cli", "--help"], capture_output=True, check=True)
    assert b"decide or explain case snapshots" in usage.stdout


@pytest.mark.promise("case.without-model")
def test_deciding_loads_neither_database_nor_network_nor_model() -> None:
    program = (
        "import sys; from corrigenda_cli.__main__ import main; main(['policy', 'evaluate']);"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=LINE, capture_output=True, timeout=60, check=True)
    loaded = set(done.stderr.decode().replace("'", "").strip("[]\n").split(", "))
    assert loaded.isdisjoint({"psycopg", "sqlalchemy", "grpc", "asyncio", "onnxruntime", "numpy", "pydantic", "socket"})


def require_decided(vectors: Sequence[PolicyVector]) -> None:
    done = run("evaluate", text="".join(json.dumps(vector.case) + "\n" for vector in vectors).encode())
    for vector, line in zip(vectors, done.stdout.splitlines(), strict=True):
        decision = json.loads(line)
        assert {field: decision.get(field) for field in vector.expect} == vector.expect, vector.name


def test_the_vectors() -> None:
    vectors = read_vectors(OWN_VECTORS.read_text(encoding="utf-8"))
    assert len(vectors) == 50
    require_decided(vectors)


@pytest.mark.skipif(
    not SHARED_VECTORS.exists(),
    reason="the shared vectors of decisions are not beside this checkout: ../shared/vectors/policy.json",
)
def test_the_shared_vectors() -> None:
    """The same cases as others have written them down."""
    shared = json.loads(SHARED_VECTORS.read_text(encoding="utf-8"))
    require_decided([PolicyVector(name=one["name"], case=one["case"], expect=one["expect"]) for one in shared])
