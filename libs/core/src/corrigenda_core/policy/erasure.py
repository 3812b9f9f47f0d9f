"""Erasure: which words go with a text, what stands in their place, and what follows for the slots that it spoke in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from corrigenda_core.domain.cases import ConflictCase, SetKey
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.decisions import TimelineDecision
from corrigenda_core.domain.evidence import SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, StatementId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import Object, Slot, ValueObject, object_of_key
from corrigenda_core.domain.relationships import Closing, Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.policy.slot_change import plan_slot_change
from corrigenda_core.policy.view_changes import apply_changes

ERASED = "erased"
"""The reason code of everything that an erasure does."""

SHORTEST_QUOTED_CODE_POINTS = 3
"""A shorter word is found by equality alone: it would be met inside any other one by chance."""

_Worded = TypeVar("_Worded", Relationship, Statement)


def decide_tombstone(keyed_hash: bytes) -> str:
    """What stands where a text stood: the same for the same text of a team, and for nobody else's."""
    return f"{ERASED}:{keyed_hash.hex()}"


def is_tombstone(text: str) -> bool:
    """Whether a text is one that stands for an erased one."""
    return text.startswith(f"{ERASED}:") and len(text) == len(ERASED) + 65


def is_given_by(words: str, forms: Iterable[str]) -> bool:
    """Whether one of the texts, in normal form, holds the words."""
    form = decide_text_form(words)
    return any(form in text for text in forms)


def is_quoting(text: str, erased_forms: Iterable[str]) -> bool:
    """Whether a text repeats erased words: holds them, or for short ones, equals them."""
    form = decide_text_form(text)
    return any(
        form == words or (len(words) >= SHORTEST_QUOTED_CODE_POINTS and words in form)
        for words in erased_forms
        if words
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedWords:
    """What an erasure takes from one slot.

    ``values`` holds what stands for the normal form of an erased value, by its object key; ``displays`` what stands for
    a way of writing a value, by object key and words, also where others gave the value in other words; ``scope`` what
    stands for the slot's scope.
    """

    values: Mapping[str, str]
    displays: Mapping[tuple[str, str], str]
    scope: str | None = None


def apply_erased_words(view: SlotView, erased: ErasedWords) -> SlotView:
    """The slot with tombstones for its erased words, everywhere alike, so that what was equal stays equal."""
    slot = _slot(view.slot, erased)
    return replace(
        view,
        slot=slot,
        rows=tuple(_worded(row, erased) for row in view.rows),
        statements=tuple(_worded(statement, erased) for statement in view.statements),
        decisions=tuple(_decision(decision, erased) for decision in view.decisions),
        items=tuple(item if item.slot is None else replace(item, slot=slot) for item in view.items),
        cases=tuple(_case(case, erased) for case in view.cases),
        closed_cases=tuple((_set_key(key, erased), conflict_id) for key, conflict_id in view.closed_cases),
        resolved_cases=tuple(_case(case, erased) for case in view.resolved_cases),
    )


def plan_evidence_erasure(view: SlotView, context: PlanContext, fragment_ids: Collection[FragmentId]) -> Changes:
    """What follows for a slot when texts that speak in it are erased (R11.3).

    Every support of theirs is switched off for good, whoever adopted it, and what stands is folded again: rows, tiers,
    items and team cases follow as from any other loss of support. Ids, statements and decisions stay.

    Args:
        view: the slot with tombstones in the place of erased words, as the rows are by then.
        context: the commit.
        fragment_ids: the erased texts.
    """
    switches = tuple(
        SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.REVOKE,
            authority=support.authority,
            reason=ERASED,
        )
        for support in view.supports
        if support.fragment_id in fragment_ids and support.effective
    )
    if not switches:
        return Changes()
    beside = Changes(support_decisions=switches)
    return plan_slot_change(view, apply_changes(view, beside), context, ERASED, beside=beside, replacing=False)


def plan_closed_questions(
    items: Iterable[ReviewItem], fragment_ids: Collection[FragmentId], silenced: Collection[StatementId]
) -> tuple[ReviewItem, ...]:
    """The pending questions that nothing is left to answer for: about an erased text, or about what only it said.

    Questions about relationships follow their sides instead.
    """
    return tuple(
        replace(item, version=item.version + 1, status=ItemStatus.CLOSED, reason=ERASED, details=())
        for item in items
        if item.status is ItemStatus.PENDING
        and item.kind in (ItemKind.IDENTITY, ItemKind.PREDICATE, ItemKind.CORRECTION, ItemKind.QUARANTINE)
        and (item.fragment_id in fragment_ids or item.statement_id in silenced)
    )


def _slot(slot: Slot, erased: ErasedWords) -> Slot:
    return slot if erased.scope is None else replace(slot, scope=erased.scope)


def _object(object_: Object, erased: ErasedWords) -> Object:
    if not isinstance(object_, ValueObject):
        return object_
    return replace(
        object_,
        canonical=erased.values.get(object_.key, object_.canonical),
        display=erased.displays.get((object_.key, object_.display), object_.display),
    )


def decide_erased_key(key: str, erased: ErasedWords) -> str:
    """The key of an object, or of a position of a case, once the words of its slot are erased."""
    canonical = erased.values.get(key)
    if canonical is None:
        return key
    value = object_of_key(key)
    return replace(value, canonical=canonical).key if isinstance(value, ValueObject) else key


def _worded(one: _Worded, erased: ErasedWords) -> _Worded:
    return replace(one, slot=_slot(one.slot, erased), object=_object(one.object, erased))


def _decision(decision: TimelineDecision, erased: ErasedWords) -> TimelineDecision:
    if not isinstance(decision, Closing):
        return decision
    return replace(decision, object_key=decide_erased_key(decision.object_key, erased))


def _set_key(key: SetKey, erased: ErasedWords) -> SetKey:
    scope = key.scope if erased.scope is None else erased.scope
    return replace(key, scope=scope, object_key=decide_erased_key(key.object_key, erased))


def _case(case: ConflictCase, erased: ErasedWords) -> ConflictCase:
    return replace(
        case,
        set_key=_set_key(case.set_key, erased),
        positions=tuple(replace(position, key=decide_erased_key(position.key, erased)) for position in case.positions),
    )
