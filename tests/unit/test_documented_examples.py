"""Examples of a page are found, asked with what is known, and compared with what comes back."""

from pathlib import Path
from typing import Any

import pytest
from corrigenda_core.testing.documented_examples import Example, examples_of

PAGE = """# A page

```console
$ export KEY=cor_...
$ call $CONFLICT/ResolveConflict '{"item_id": "...", "expected_version": 1,
    "keep_new": {"relationship_id": "<release>"}}'
decision  KEEP_NEW, revision 17
$ call .../IngestService/Remember
  {"idempotency_key": "a1", "proposal": ..., "entityId": "'$MAIN'"}
{"placement": {"outcome": "OUTCOME_INSERTED", ...}}
```

```console
{"code": "aborted"}   # STALE_VERSION
```

1. A list.

   ```json
   {"b": 1}
   ```

```
a diagram
```
"""


@pytest.fixture
def examples(tmp_path: Path) -> list[Example]:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    return examples_of(page)


def test_the_examples_of_a_page_are_found_in_order(examples: list[Example]) -> None:
    assert [(one.kind, one.line, one.method) for one in examples] == [
        ("console", 4, ""),
        ("console", 5, "ResolveConflict"),
        ("console", 8, "Remember"),
        ("console", 14, ""),
        ("json", 20, ""),
        ("", 24, ""),
    ]
    assert examples[3].answered == '{"code": "aborted"}   # STALE_VERSION\n'


def test_what_is_known_is_put_in(examples: list[Example]) -> None:
    assert examples[1].request(item_id="i", release="r") == {
        "item_id": "i",
        "expected_version": 1,
        "keep_new": {"relationship_id": "r"},
    }
    assert examples[2].request(proposal={"p": 1}, main="m") == {
        "idempotency_key": "a1",
        "proposal": {"p": 1},
        "entityId": "m",
    }
    assert examples[4].request() == {"b": 1}
    with pytest.raises(KeyError):
        examples[1].request(item_id="i")


@pytest.mark.parametrize(
    ("told", "answer", "missing"),
    [
        ('{"outcome": "X_HELD", ...}', {"outcome": "X_HELD", "more": 1}, []),
        ('{"outcome": "X_HELD", ...}', {"outcome": "X_OTHER"}, ["X_HELD"]),
        ('{"relationship_id": "01a2-..."}', {"relationshipId": "any"}, []),
        ('{"relationship_id": "01a2-..."}', {"id": "any"}, ['"relationship_id":']),
        ('"recordedAt": "2026-03-01T00:00:00Z", "revision": "12"', {"recordedAt": "later", "revision": "9"}, []),
        ("decision  KEEP_NEW, revision 17", {"kind": "DECISION_KIND_KEEP_NEW"}, []),
        ("decision  KEEP_NEW, revision 17", {"kind": "DECISION_KIND_MERGE"}, ["KEEP_NEW"]),
        ('# "a text": STALE_VERSION, R4.10', {"reason": "STALE_VERSION"}, []),
        ('{"name": "Für"}', {"name": "Für"}, []),
    ],
)
def test_an_answer_has_what_the_page_tells(told: str, answer: Any, missing: list[str]) -> None:
    assert Example(kind="console", line=1, asked="", answered=told).missing_from(answer) == missing
