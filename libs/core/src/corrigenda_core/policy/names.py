"""By which names a text may speak of an entity: an alias is its author's word until the team goes by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.scripts import is_unspaced


def decide_evident_names(
    written: Sequence[str], *, team_names: frozenset[str], texts: Iterable[str]
) -> tuple[str, ...]:
    """The names by which evidence may speak of a mentioned entity, those of the mention first, as written.

    A name of the team always may. Another one is only what the author calls it: it may if a name of the team stands in
    the evidence too ("the release branch, until May called main"). Otherwise a text about one thing would speak for
    another one, by no more than a claim of its author that the two have the same name.

    Args:
        written: the name of the mention and its aliases, as the author wrote them.
        team_names: the names that the entity has for the team, in normal form.
        texts: the evidence of the submission, in normal form.
    """
    is_told = any(is_named_in(name, text) for text in texts for name in team_names)
    forms = [decide_text_form(name) for name in written]
    mine = [name for name, form in zip(written, forms, strict=True) if is_told or form in team_names]
    return (*mine, *sorted(team_names.difference(forms)))


def is_named_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, both in normal form, and is no part of a longer word there."""
    place = text.find(name)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(name) : place + len(name) + 1]
        if not _goes_on(before, name[:1]) and not _goes_on(name[-1:], after):
            return True
        place = text.find(name, place + 1)
    return False


def _goes_on(left: str, right: str) -> bool:
    """Whether a word goes on from one letter to the other; scripts without word breaks have no words to end."""
    return left.isalnum() and right.isalnum() and not is_unspaced(left) and not is_unspaced(right)
