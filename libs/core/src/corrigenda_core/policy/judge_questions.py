"""Judge questions: what a judge is shown of a pair, put together from what is stored and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrigenda_core.domain.ids import EntityId, FragmentId, RelationshipId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.judging import MOST_OTHERS, JudgedSide, JudgeQuestion
from corrigenda_core.domain.objects import EntityObject, Object, Polarity
from corrigenda_core.domain.relationships import LIVING_STATUSES, Relationship
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.domain.time import ClosedToNothing, Interval, TextSpan

SURROUNDING_CODE_POINTS = 240
"""How much of a text is shown on either side of what is cited."""
EXCERPT_CODE_POINTS = 1_200
"""A longer passage is cut: a judge reads what decides, not a whole document."""
MOST_EXCERPTS = 6
MOST_SOURCES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedText:
    """A stored text and, in words, where it comes from."""

    content: str
    source: str


def plan_judge_question(
    view: SlotView,
    item: ReviewItem,
    *,
    texts: Mapping[FragmentId, JudgedText],
    names: Mapping[EntityId, str],
    others: Iterable[Relationship] = (),
) -> JudgeQuestion:
    """The question about an item's pair.

    Args:
        view: the slot as it stands.
        item: a question to an owner about exactly two rows.
        texts: the fragments of the view's supports; one that is missing is not shown.
        names: how the subject and the objects of the pair and of ``others`` are shown.
        others: rows of the subject; those that are living, and none of the pair, are shown in the order given.

    Raises:
        ValueError: the item has not exactly two sides in the view.
    """
    rows = {row.relationship_id: row for row in view.rows}
    sides = [rows[row_id] for row_id in (*item.incoming, *item.opposing) if row_id in rows]
    if len(sides) != 2:
        raise ValueError(f"a judge is asked about two sides, not {len(sides)}")
    shown = [row for row in others if is_living(row) and row.relationship_id not in {*item.incoming, *item.opposing}]
    return JudgeQuestion(
        item_id=item.item_id,
        item_version=item.version,
        incoming=_side(view, sides[0], texts, names),
        opposing=_side(view, sides[1], texts, names),
        others=tuple(_in_words(row, names) for row in shown[:MOST_OTHERS]),
        subject=names.get(view.slot.subject_id, ""),
        predicate=view.slot.predicate,
        scope=view.slot.scope,
    )


def is_living(row: Relationship) -> bool:
    """Whether a row counts as a living statement: placed, and not closed to nothing."""
    return row.status in LIVING_STATUSES and isinstance(row.validity, Interval)


def _side(
    view: SlotView, row: Relationship, texts: Mapping[FragmentId, JudgedText], names: Mapping[EntityId, str]
) -> JudgedSide:
    carried = [statement for statement in view.statements if statement.relationship_id == row.relationship_id]
    starts = [statement.start for statement in carried if statement.start is not None]
    ends = [statement.end for statement in carried if statement.end is not None]
    stated = [statement.stated_start for statement in carried if statement.stated_start is not None]
    cited = _cited(view, row.relationship_id)
    return JudgedSide(
        relationship_id=row.relationship_id,
        value=_value(row.object, names),
        polarity=row.polarity,
        start=min(starts, key=lambda bound: bound.at, default=None),
        end=max(ends, key=lambda bound: bound.at, default=None),
        stated_start=min(stated, default=None),
        witness_at=max((statement.witness_at for statement in carried), default=row.first_recorded_at),
        recorded_at=row.first_recorded_at,
        sources=tuple(dict.fromkeys(texts[one].source for one in cited if one in texts))[:MOST_SOURCES],
        excerpts=tuple(
            excerpt
            for fragment_id, spans in cited.items()
            if fragment_id in texts
            for excerpt in _excerpts(texts[fragment_id].content, spans)
        )[:MOST_EXCERPTS],
    )


def _cited(view: SlotView, row_id: RelationshipId) -> dict[FragmentId, list[TextSpan]]:
    """What the effective supports of a row cite, the oldest first."""
    cited: dict[FragmentId, list[TextSpan]] = {}
    own = {s.statement_id for s in view.statements if s.relationship_id == row_id}
    for support in sorted(view.supports, key=lambda one: (one.recorded_at, one.support_id)):
        if support.effective and support.statement_id in own:
            cited.setdefault(support.fragment_id, []).extend(support.spans)
    return cited


def _excerpts(content: str, spans: Sequence[TextSpan]) -> Iterator[str]:
    """The cited passages with their surroundings; passages that touch are shown as one."""
    shown: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        start = max(0, span.start - SURROUNDING_CODE_POINTS)
        end = min(len(content), span.end + SURROUNDING_CODE_POINTS, start + EXCERPT_CODE_POINTS)
        if shown and start <= shown[-1][1] and end - shown[-1][0] <= EXCERPT_CODE_POINTS:
            shown[-1] = (shown[-1][0], max(end, shown[-1][1]))
        elif start < end:
            shown.append((start, end))
    for start, end in shown:
        yield content[start:end]


def _value(object_: Object, names: Mapping[EntityId, str]) -> str:
    if isinstance(object_, EntityObject):
        return names.get(object_.entity_id, object_.entity_id)
    written = object_.display or object_.canonical
    return written if not object_.unit or written.endswith(object_.unit) else f"{written} {object_.unit}"


def _in_words(row: Relationship, names: Mapping[EntityId, str]) -> str:
    """A living row as a sentence, with its times; an end that is not known is not told."""
    parts = [names.get(row.slot.subject_id, row.slot.subject_id), row.slot.predicate.replace("_", " ")]
    if row.polarity is Polarity.NEGATIVE:
        parts.insert(1, "does not:")
    parts.append(_value(row.object, names))
    if row.slot.scope:
        parts.append(f"({row.slot.scope})")
    ends = () if isinstance(row.validity, ClosedToNothing) else (row.validity.start, row.validity.end)
    parts += [f"{word} {at.isoformat()}" for word, at in zip(("from", "until"), ends, strict=False) if at is not None]
    return " ".join(parts)
