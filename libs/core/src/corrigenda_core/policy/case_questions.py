"""Case questions: what a case asks, in words, from names and never from ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from corrigenda_core.domain.cases import CaseKind

SHOWN_POSITIONS = 10


def decide_question(
    kind: CaseKind, *, subject: str, predicate: str, scope: str, positions: Sequence[str], object_name: str = ""
) -> str:
    """The question of a case.

    Args:
        kind: the kind of the case.
        subject: the name of the subject.
        predicate: the predicate's key; its underscores are read as spaces.
        scope: the scope of the slot, empty for none.
        positions: what each position says, in words; beyond `SHOWN_POSITIONS` the rest is counted.
        object_name: the object of a polarity case.
    """
    about = f"{subject} {predicate.replace('_', ' ')}"
    within = f" ({scope})" if scope else ""
    match kind:
        case CaseKind.CURRENT_STATE:
            return f"{about}{within}: {_either(positions)}?"
        case CaseKind.POLARITY:
            return f"{about} {object_name}{within}: is it so or not?"
        case CaseKind.REFERENCE:
            return f"{about}{within}: is what is recorded right, or what corrects it ({_either(positions)})?"
        case _:
            assert_never(kind)


def _either(positions: Sequence[str]) -> str:
    shown = list(positions[:SHOWN_POSITIONS])
    more = len(positions) - len(shown)
    if more:
        shown.append(f"one of {more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}" if shown else "nothing"
