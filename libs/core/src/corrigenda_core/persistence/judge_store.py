"""Reads what a judge is asked about: the waiting questions, earlier looks, texts, names, and what else is said."""

from __future__ import annotations

from corrigenda_core.domain.ids import EntityId, FragmentId, ItemId, ProfileId, TeamId
from corrigenda_core.domain.items import ReviewItem
from corrigenda_core.domain.judging import MOST_OTHERS, JudgeQuestion, Look
from corrigenda_core.domain.objects import EntityObject
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.slots import SlotView
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.past_decisions import record_of
from corrigenda_core.persistence.read_transaction import ReadTransaction
from corrigenda_core.persistence.row_values import relationship_of
from corrigenda_core.persistence.shown_store import (
    ShownFragment,
    entity_names_of,
    entity_names_query,
    fragments_query,
    shown_fragment_of,
)
from corrigenda_core.policy.judge_questions import JudgedText, plan_judge_question

_SQL = "judging.sql"
# The two sides may be among the owner's latest rows of the subject.
_SIDES = 2


def pending_pairs(team_id: TeamId, owner_id: ProfileId, limit: int) -> Query:
    """The pending questions of an owner about relationships, the oldest first; rows (item_id)."""
    return load_sql(_SQL).query("pending_pairs", team_id=team_id, owner_id=owner_id, limit=limit)


def looks_at_item(team_id: TeamId, item_id: ItemId) -> Query:
    """The earlier looks at an item that changed nothing; `look_of` reads a row."""
    return load_sql(_SQL).query("looks_at_item", team_id=team_id, item_id=item_id)


def look_of(row: Row) -> Look:
    """An earlier look."""
    return Look(record=record_of(row), at=row["recorded_at"])


async def judge_question(transaction: ReadTransaction, view: SlotView, item: ReviewItem) -> JudgeQuestion:
    """The question about an item's pair, in two round trips.

    Args:
        transaction: a snapshot of the team; no judge is asked inside it.
        view: the item's slot in that snapshot.
        item: an item that `decide_asking` lets a judge see.

    Raises:
        ValueError: the item has not exactly two sides.
    """
    sides = {*item.incoming, *item.opposing}
    cited = {support.fragment_id for support in view.supports if support.relationship_id in sides}
    texts, others = await transaction.fetch_all(
        fragments_query(transaction.team_id, cited),
        load_sql(_SQL).query(
            "living_of_subject",
            team_id=transaction.team_id,
            subject_id=view.slot.subject_id,
            owner_id=item.owner_id,
            limit=MOST_OTHERS + _SIDES,
        ),
    )
    rows = [relationship_of(row) for row in others]
    names = await transaction.fetch(entity_names_query(transaction.team_id, _entities(view, rows)))
    return plan_judge_question(
        view,
        item,
        texts={FragmentId(row["fragment_id"]): _judged(shown_fragment_of(row)) for row in texts},
        names={entity_id: entity.name for entity_id, entity in entity_names_of(names).items()},
        others=rows,
    )


def _entities(view: SlotView, others: list[Relationship]) -> set[EntityId]:
    named = {view.slot.subject_id}
    for row in (*view.rows, *others):
        named.add(row.slot.subject_id)
        if isinstance(row.object, EntityObject):
            named.add(row.object.entity_id)
    return named


def _judged(fragment: ShownFragment) -> JudgedText:
    declared = fragment.source_key or fragment.source_group
    source = f"{fragment.source_type.value} by {fragment.author_name}"
    return JudgedText(content=fragment.content, source=f"{source} ({declared})" if declared else source)
