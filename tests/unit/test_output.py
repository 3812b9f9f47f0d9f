"""Where answers go and how: colour only where it is wanted, progress only where somebody watches, no traceback."""

import argparse
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_cli.__main__ import main
from corrigenda_cli.asking import known_of, request_of, said, temporal_of
from corrigenda_cli.loading import progress
from corrigenda_cli.output import PIPE_WIDTH, add_output_options, console
from corrigenda_core.domain.errors import Refusal
from rich.text import Text


class Terminal(io.StringIO):
    """A stream that says that somebody watches it."""

    def isatty(self) -> bool:
        return True


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_output_options(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("stream", "no_color", "given", "coloured"),
    [
        (Terminal, "", (), True),
        (Terminal, "1", (), False),
        (Terminal, "", ("--color", "never"), False),
        (Terminal, "1", ("--color", "always"), True),
        (io.StringIO, "", (), False),
        (io.StringIO, "", ("--color", "always"), True),
    ],
)
def test_colour_is_for_terminals_and_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], no_color: str, given: tuple[str, ...], coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    target = stream()
    console(options(*given), target).print(Text("open", style="yellow"))
    assert ("\x1b[33m" in target.getvalue()) is coloured
    assert "open" in target.getvalue()


def test_a_pipe_is_wide_and_a_terminal_is_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console(options(), io.StringIO()).width == PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "43")
    assert console(options(), Terminal()).width == 43


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_progress_is_shown_to_who_watches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stream: type[io.StringIO], shown: bool
) -> None:
    file = tmp_path / "items.jsonl"
    file.write_bytes(b"x" * 100)
    errors = stream()
    monkeypatch.setattr(sys, "stderr", errors)
    with file.open("rb") as opened, progress(options(), opened) as advanced:
        advanced(60)
        advanced(40)
    assert ("2 lines" in errors.getvalue()) is shown
    assert ("100/100" in errors.getvalue()) is shown


def test_only_what_is_said_is_sent() -> None:
    given = said(a=None, b="", c=[], d={}, e=False, f=0, g=True, h="x", i=0.0)
    assert given == {"f": 0, "g": True, "h": "x", "i": 0.0}
    asked = argparse.Namespace(valid_at=None, known_at=None, revision=0)
    assert temporal_of(asked) == {"revision": 0}
    assert known_of(argparse.Namespace(known_at="2026-03-01T00:00:00Z", revision=None)) == {
        "known_at": "2026-03-01T00:00:00Z"
    }


def test_a_request_that_cannot_be_is_refused_before_it_is_sent() -> None:
    request: Any = request_of("Recall", {"query": "x", "temporal": {"revision": 3}})
    assert isinstance(request, recall_service_pb2.RecallRequest)
    assert request.temporal.revision == 3
    for fields in ({"limit": -1}, {"limit": "x"}, {"temporal": {"valid_at": "yesterday"}}, {"querry": "x"}):
        with pytest.raises(Refusal):
            request_of("Recall", fields)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("entities", "list", "--limit", "-1"), 3, "page_size must be a whole number"),
        (("entities", "list", "--page-token", "\udcff"), 3, "unpaired surrogate"),
        (("recall", "\udcff"), 3, "unpaired surrogate"),
        (("remember", "a", "--subject", "b"), 2, "given together"),
        (("remember", "--lines", "/no/such/file"), 2, "cannot be read"),
        (("remember", "a", "--lines", "b"), 2, "comes without a text"),
        (("teams", "policy", "--review-start", "2:70"), 2, "HH:MM"),
        (("conflicts", "resolve", "1", "--merge", "a"), 2, "needs one of"),
        (("conflicts", "resolve", "1", "--keep-existing", "a", "--start", "b"), 2, "goes with"),
        (("conflicts", "resolve", "1", "--keep-both", "--start", "b"), 2, "ID=TIME"),
        (("conflicts", "resolve", "1", "--keep-new", "a", "--value", "text:b"), 2, "go with --merge"),
        (("adopt", "a", "b", "--span", "x"), 2, "START:END"),
        (("recall", "x", "--ingest", "example.org:1"), 2, "plain"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_never_as_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    status: int,
    said: str,
) -> None:
    monkeypatch.setenv("CORRIGENDA_KEY", "cor_key")
    # Nothing is served there: what is told must not need an answer.
    monkeypatch.setenv("CORRIGENDA_RECALL_ADDRESS", "127.0.0.1:1")
    assert main(arguments) == status
    written = capsys.readouterr()
    assert written.out == ""
    assert said in written.err
    assert len(written.err.splitlines()) <= 2


@pytest.mark.parametrize("name", ["No/Where", "../etc/passwd", "\0"])
def test_a_zone_that_is_none_is_told_before_anything_is_sent(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["remember", "a text", "--zone", name])
    assert ended.value.code == 2
    assert "no time zone" in capsys.readouterr().err


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("CORRIGENDA_KEY", raising=False)
    assert main(["recall", "x"]) == 2
    assert "set CORRIGENDA_KEY" in capsys.readouterr().err


def test_a_locale_without_the_characters_ends_no_command() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "CORRIGENDA_KEY": ""}
    command = [sys.executable, "-m", "corrigenda_cli", "recall", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    code = "from corrigenda_cli.__main__ import main; main(['completion', 'bash']); print('⟨東⟩')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"\\u27e8" in done.stdout
