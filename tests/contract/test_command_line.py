"""The command line offers all that the APIs offer, explains it with examples that are right, and completes in bash."""

import argparse
import asyncio
import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from corrigenda.conflict.v1 import conflict_case_pb2, conflict_service_pb2, review_item_pb2
from corrigenda.ingest.v1 import placement_pb2
from corrigenda.options.v1 import key_scope_pb2
from corrigenda.type.v1 import evidence_pb2, object_pb2, predicate_pb2, relationship_pb2
from corrigenda_cli import finding, placement_decisions, registering
from corrigenda_cli.__main__ import command_names, main, parser_for
from corrigenda_cli.commands import conflicts, keys
from corrigenda_cli.help_text import examples_of
from corrigenda_cli.reached import REACHED, command_of
from corrigenda_cli.reading import submissions
from corrigenda_core.rpc.json_mapping import value_names
from corrigenda_core.rpc.wire_methods import WireMethod, wire_methods
from google.protobuf.message_factory import GetMessageClass

METHODS = {method.name: method for method in wire_methods()}
SOME_ID = "01920000-0000-7000-8000-000000000001"
LINE = '{"idempotency_key": "one", "evidence": [{"content": "a", "source_type": "manual"}]}'


class Recorder(grpc.GenericRpcHandler):
    """Answers every method with an empty answer, and notes which ones were called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self._methods = {method.path: method for method in METHODS.values()}

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        method = self._methods.get(details.method)
        if method is None:
            return None
        self.called.append(method.name)
        return _handler(method)


def _handler(method: WireMethod) -> grpc.RpcMethodHandler:
    types = {
        "request_deserializer": GetMessageClass(method.descriptor.input_type).FromString,
        "response_serializer": GetMessageClass(method.descriptor.output_type).SerializeToString,
    }
    answer = GetMessageClass(method.descriptor.output_type)()

    async def once(_request: Any, _context: Any) -> Any:
        return answer

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        yield answer

    async def each(requests: Any, _context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            yield answer

    if method.descriptor.client_streaming:
        return grpc.stream_stream_rpc_method_handler(each, **types)
    if method.descriptor.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream, **types)
    return grpc.unary_unary_rpc_method_handler(once, **types)


@pytest.fixture(scope="module")
async def recorder() -> AsyncIterator[tuple[Recorder, str]]:
    """The recorder and its address."""
    made = Recorder()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([made])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield made, f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.fixture
def run(
    recorder: tuple[Recorder, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Runs a command against the recorder; gives its status, what it wrote and what it called."""
    made, address = recorder
    monkeypatch.setenv("CORRIGENDA_KEY", "cor_key")
    for name in ("INGEST", "CONFLICT", "RECALL"):
        monkeypatch.setenv(f"CORRIGENDA_{name}_ADDRESS", address)

    async def run(*arguments: str) -> tuple[int, str, list[str]]:
        made.called.clear()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINE.encode())))
        status = await asyncio.to_thread(main, arguments)
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        return status, written.out, list(made.called)

    return run


def test_every_method_has_a_command_for_people() -> None:
    assert set(REACHED) == set(METHODS)
    assert command_of("ConflictService/ListConflicts") == "conflicts list"
    assert command_of("RecallService/Recall") == "recall"
    assert command_of("RecallService/NoSuch") == ""


@pytest.mark.parametrize("method", REACHED)
async def test_the_command_of_a_method_calls_it_and_shows_the_answer(method: str, run: Callable[..., Any]) -> None:
    status, out, called = await run(*REACHED[method])
    assert status == 0
    assert method in called
    assert set(called) <= {method, "AdminService/GetTeam"}
    assert out.strip()
    # For programs there is nothing but the answer, and nothing else is asked.
    status, out, called = await run(*REACHED[method], "--json")
    assert (status, called) == (0, [method])
    assert all(line.startswith("{") for line in out.splitlines())


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_is_reached_by_call(method: str, run: Callable[..., Any]) -> None:
    request = '{"submission": {}}' if METHODS[method].descriptor.client_streaming else "{}"
    status, out, called = await run("call", method, request)
    assert (status, called) == (0, [method])
    assert out.startswith("{")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield below
                yield from parsers(below)


ALL_PARSERS = list(parsers(parser_for([])))


@pytest.mark.parametrize("parser", ALL_PARSERS, ids=[parser.prog for parser in ALL_PARSERS])
def test_help_has_examples_that_can_be_typed(parser: argparse.ArgumentParser) -> None:
    assert parser.description
    examples = examples_of(parser)
    assert examples
    for example in examples:
        words = typed_words(example)
        assert " ".join(words).startswith(parser.prog)
        parser_for(words[1:]).parse_args(words[1:])
    assert "%(" not in parser.format_help()


@pytest.mark.parametrize(
    ("choices", "enum"),
    [
        (conflicts.ENTRY_KINDS, conflict_service_pb2.ConflictEntryKind),
        (conflicts.CASE_KINDS, conflict_case_pb2.CaseKind),
        (conflicts.CASE_STATUSES, conflict_case_pb2.CaseStatus),
        (finding.ITEM_KINDS, review_item_pb2.ItemKind),
        (finding.ITEM_STATUSES, review_item_pb2.ItemStatus),
        (placement_decisions.ACTIONS, placement_pb2.PlacementAction),
        (submissions.SOURCE_TYPES, evidence_pb2.SourceType),
        (submissions.AUTHORITIES, evidence_pb2.Authority),
        (submissions.VALUE_TYPES, object_pb2.ValueType),
        (submissions.MODALITIES, relationship_pb2.Modality),
        (keys.SCOPES, key_scope_pb2.KeyScope),
        (registering.KINDS, predicate_pb2.RelationshipKind),
        (registering.CARDINALITIES, predicate_pb2.Cardinality),
        (registering.BASES, predicate_pb2.SupersessionBasis),
        (registering.SAME_MOMENT_POLICIES, predicate_pb2.SameMomentPolicy),
        (registering.GRANULARITIES, predicate_pb2.StartGranularity),
    ],
)
def test_choices_are_those_of_the_protos(choices: tuple[str, ...], enum: Any) -> None:
    assert choices == tuple(name for number, name in value_names(enum.DESCRIPTOR).items() if number)


def commands_of(page: Path) -> list[str]:
    """The command lines of a page's console blocks, joined where they are broken; those that it cuts are left out."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    typed = re.findall(r"^(?:[a-z]*\$ )(?:\w+=\S+ )*(corrigenda .*)$", text, flags=re.MULTILINE)
    whole = [re.sub(r"[0-9a-f][0-9a-f-]*\.\.\.[0-9a-f-]*", SOME_ID, line) for line in typed]
    return [line for line in whole if "..." not in line]


PAGES = {page.name: page for page in sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))}


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if commands_of(page)])
def test_the_commands_of_the_guides_can_be_typed(name: str) -> None:
    for line in commands_of(PAGES[name]):
        words = typed_words(line)
        parser_for(words[1:]).parse_args(words[1:])


def typed_words(line: str) -> list[str]:
    """The words of a command line before it pipes or redirects, and before a remark."""
    words = shlex.split(line, comments=True)
    shell = [place for place, word in enumerate(words) if word in ("<", ">", "|", "&&")]
    return words[: shell[0]] if shell else words


def test_the_parsers_need_no_slow_library() -> None:
    code = (
        "import sys; from corrigenda_cli.__main__ import parser_for; parser_for([]);"
        "print(*{'grpc', 'rich', 'google.protobuf', 'psycopg', 'pydantic', 'shtab'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The completion script, as the command prints it."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        assert main(["completion", "bash"]) == 0
    path = tmp_path_factory.mktemp("completion") / "corrigenda"
    path.write_text(written.getvalue())
    return path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("corrigenda recal", {"recall"}),
        ("corrigenda ", set(command_names())),
        ("corrigenda conflicts re", {"resolve", "revert"}),
        ("corrigenda conflicts list --sta", {"--status"}),
        ("corrigenda conflicts list --status o", {"open", "overdue"}),
        ("corrigenda completion ", {"bash", "zsh", "fish"}),
        ("corrigenda items resolve 1 re", {"reject", "retry_verification", "release_quarantine"}),
    ],
)
def test_bash_completes_what_is_typed(bash_script: Path, typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    before, now = words[-2], words[-1]
    quoted = " ".join(map(shlex.quote, words))
    code = (
        f"source {shlex.quote(str(bash_script))}; complete -p corrigenda >&2; COMP_WORDS=({quoted}); "
        f"COMP_CWORD={len(words) - 1}; _shtab_corrigenda corrigenda {shlex.quote(now)} {shlex.quote(before)}; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, check=True)
    assert "complete" in done.stderr
    assert set(done.stdout.split()) - {"-h", "--help"} == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_other_shells_have_their_script(shell: str, run: Callable[..., Any]) -> None:
    status, out, called = await run("completion", shell)
    assert (status, called) == (0, [])
    assert "conflicts" in out
    assert "corrigenda" in out
    assert "let a relationship of yours stand on a text of another profile" in out
