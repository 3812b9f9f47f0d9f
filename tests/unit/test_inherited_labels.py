"""Labels at ingest: who declares a group that nobody granted stays one witness."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.ids import ProfileId
from corrigenda_core.policy.independence import decide_inherited_labels, decide_labels
from corrigenda_core.testing.case_snapshots import Witness, case, side

TABLE = [
    pytest.param(None, None, False, (), (), (), id="neither group nor key: the author counts anyway"),
    pytest.param("g", None, False, (), (), ("author:p",), id="a group that nobody granted"),
    pytest.param("g", None, False, ("group:g",), (), (), id="a granted group"),
    pytest.param("g", "k", False, ("group:g",), (), ("author:p",), id="a granted group, a key that nobody granted"),
    pytest.param("g", "k", False, ("group:g", "key:k"), (), (), id="both granted"),
    pytest.param("k", None, False, ("key:k",), (), ("author:p",), id="a granted key is no granted group"),
    pytest.param("g", "k", True, (), (), (), id="the team trusts what is declared"),
    pytest.param(
        "g",
        None,
        True,
        (),
        ("key:k", "group:o", "key:k"),
        ("group:o", "key:k"),
        id="labels of what it is adopted or derived from",
    ),
    pytest.param(
        "g", None, False, (), ("author:q",), ("author:p", "author:q"), id="the author of an origin without group"
    ),
]


@pytest.mark.rule("R6.1")
@pytest.mark.parametrize(("group", "key", "trusted", "registered", "origins", "expected"), TABLE)
def test_labels_to_inherit(
    group: str | None,
    key: str | None,
    trusted: bool,
    registered: tuple[str, ...],
    origins: tuple[str, ...],
    expected: tuple[str, ...],
) -> None:
    inherited = decide_inherited_labels(
        author=ProfileId("p"),
        source_group=group,
        source_key=key,
        trusts_declared_groups=trusted,
        registered_labels=frozenset(registered),
        origin_labels=origins,
    )
    assert inherited == expected


@pytest.mark.rule("R6.1")
@pytest.mark.parametrize(
    ("witness", "labels"),
    [
        (Witness(author="p", group=None), ("author:p",)),
        (Witness(author="p", group="g"), ("group:g",)),
        (Witness(author="p", group=None, key="k"), ("key:k",)),
        (Witness(author="p", group="g", key="k", inherits=("author:p",)), ("group:g", "key:k", "author:p")),
        (Witness(author="p", group=None, inherits=("group:o",)), ("author:p", "group:o")),
    ],
)
def test_labels_of_a_support(witness: Witness, labels: tuple[str, ...]) -> None:
    (support,) = case(side("A", witness)).positions[0].members[0].supports
    assert decide_labels(support) == labels
