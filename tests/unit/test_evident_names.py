"""By which names a text may speak of an entity."""

import pytest
from corrigenda_core.policy.names import decide_evident_names, is_named_in


@pytest.mark.parametrize(
    ("written", "team_names", "text", "evident"),
    [
        (["main"], {"main"}, "production deploys from main", ["main"]),
        (["Main"], {"main"}, "production deploys from main", ["Main"]),
        # The text names another thing; that both are one is the author's word alone.
        (["main", "release"], {"main"}, "production deploys from release", ["main"]),
        (["release", "main"], {"main"}, "production deploys from release", ["main"]),
        (["release"], {"main"}, "production deploys from release", ["main"]),
        # The evidence itself names it both ways.
        (["main", "release"], {"main"}, "release, once main, is deployed", ["main", "release"]),
        (["release"], {"main"}, "release, once main, is deployed", ["release", "main"]),
        # Part of a longer word is no name.
        (["main", "release"], {"main"}, "release follows the mainline", ["main"]),
        (["prod"], {"prod", "production"}, "nothing of it", ["prod", "production"]),
    ],
)
@pytest.mark.rule("R3.7")
def test_an_alias_is_its_authors_word_until_the_evidence_or_the_team_knows_it(
    written: list[str], team_names: set[str], text: str, evident: list[str]
) -> None:
    found = decide_evident_names(written, team_names=frozenset(team_names), texts=[text])
    assert list(found) == evident


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("main", "main", True),
        ("main", "on main.", True),
        ("main", "mainline", False),
        ("main", "domain", False),
        ("main", "domain main", True),
        ("main", "", False),
        ("東京", "東京都の本番", True),
        ("c++", "in c++ and c", True),
        ("c", "in c++", True),
    ],
)
def test_a_name_stands_in_a_text_as_a_word(name: str, text: str, named: bool) -> None:
    assert is_named_in(name, text) is named
