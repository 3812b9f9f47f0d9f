"""Explanations of cases as messages: the numbers of the policy with the names of positions, each list bounded."""

from __future__ import annotations

from collections.abc import Sequence

from corrigenda.conflict.v1 import case_explanation_pb2 as messages
from corrigenda.type.v1 import time_pb2
from corrigenda_core.domain.explanations import (
    Condition,
    CountCondition,
    Explanation,
    OneMoreWitness,
    Relation,
    RuleReading,
    is_same_result,
    winner_of,
)
from corrigenda_core.domain.ids import PositionId
from corrigenda_core.domain.snapshots import CaseDecision, Component, Exclusion, Resolve, Standing
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.conflict_store import CaseInView
from corrigenda_core.rpc.case_words import position_label
from corrigenda_core.rpc.convert import timestamp_of, timestamp_or_none
from corrigenda_core.rpc.enums import CASE_OUTCOME, CONDITION_RELATION, EXCLUSION_REASON, TIME_BASIS
from corrigenda_core.rpc.relationship_messages import Names

CONDITIONS_SHOWN = 50
LOSERS_SHOWN = 50
SUPPORTS_SHOWN = 20
WITNESSES_SHOWN = 200


class ExplanationMessages:
    """Makes the messages of one explanation.

    Args:
        shown: the case, whose positions the explanation names.
        names: the entities in it.
        asked: the positions that are shown, in their order.
    """

    def __init__(self, shown: CaseInView, names: Names, asked: Sequence[PositionId]) -> None:
        rows = {relationship_id: one.row for relationship_id, one in shown.members.items()}
        self._labels = {
            position.position_id: position_label(shown.case, position, rows, names) for position in shown.case.positions
        }
        self._places = {position_id: place for place, position_id in enumerate(asked)}

    def explanation(self, explanation: Explanation, *, at: Instant, closing: bool) -> messages.CaseExplanation:
        """The whole explanation of a decision at an instant; ``closing``: of the look that closed the case."""
        evaluation = explanation.evaluation
        standings = self._shown(evaluation.standings)
        witnesses, exclusions = evaluation.witnesses.components, evaluation.witnesses.exclusions
        return messages.CaseExplanation(
            policy_version=evaluation.policy,
            basis=messages.EXPLANATION_BASIS_CLOSING_LOOK if closing else messages.EXPLANATION_BASIS_AS_KNOWN,
            evaluated_at=timestamp_of(at),
            decision=self._decision(evaluation.decision),
            standings=[self._standing(one) for one in standings],
            standings_total=len(evaluation.standings),
            standings_truncated=len(standings) < len(evaluation.standings),
            witnesses=[_witness(one) for one in witnesses[:WITNESSES_SHOWN]],
            witnesses_total=len(witnesses),
            witnesses_truncated=len(witnesses) > WITNESSES_SHOWN,
            exclusions=[_exclusion(one) for one in exclusions[:WITNESSES_SHOWN]],
            exclusions_total=len(exclusions),
            exclusions_truncated=len(exclusions) > WITNESSES_SHOWN,
            disagreement=[_condition(one) for one in explanation.disagreement],
            rules=[_reading(one) for one in explanation.readings if one.position_id in self._places],
            at_deadline=self._decision(explanation.at_deadline),
            one_more_witness=[
                self._one_more(one, explanation)
                for one in sorted(explanation.one_more, key=lambda one: self._places[one.position_id])
            ],
        )

    def _shown(self, standings: Sequence[Standing]) -> list[Standing]:
        known = [one for one in standings if one.position_id in self._places]
        return sorted(known, key=lambda one: self._places[one.position_id])

    def _decision(self, decision: CaseDecision) -> messages.CaseDecision:
        winner = winner_of(decision)
        message = messages.CaseDecision(
            outcome=CASE_OUTCOME.to_wire(decision.outcome),
            reason=decision.reason.value,
            winner_position_id=winner or "",
            winner_label="" if winner is None else self._labels[winner],
        )
        if isinstance(decision, Resolve):
            message.effective_at.CopyFrom(timestamp_of(decision.cutoff))
            message.effective_time_basis = TIME_BASIS.to_wire(decision.basis)
            message.losers.extend(
                messages.EndedRelationship(relationship_id=loser.relationship_id, valid_to=timestamp_of(loser.valid_to))
                for loser in decision.losers[:LOSERS_SHOWN]
            )
            message.losers_total = len(decision.losers)
            message.losers_truncated = len(decision.losers) > LOSERS_SHOWN
        return message

    def _standing(self, standing: Standing) -> messages.PositionStanding:
        time = None
        if standing.time is not None:
            start, end = timestamp_of(standing.time.start), timestamp_of(standing.time.end)
            time = time_pb2.Interval(valid_from=start, valid_to=end)
        return messages.PositionStanding(
            position_id=standing.position_id,
            label=self._labels[standing.position_id],
            witnesses=standing.counted,
            authoritative_witnesses=standing.authoritative,
            start_bounds=standing.start_bounds,
            evidence_time=time,
            record=standing.record,
        )

    def _one_more(self, one: OneMoreWitness, explanation: Explanation) -> messages.OneMoreWitness:
        return messages.OneMoreWitness(
            position_id=one.position_id,
            now=self._decision(one.now),
            changes_now=not is_same_result(one.now, explanation.evaluation.decision),
            at_deadline=self._decision(one.at_deadline),
            changes_at_deadline=not is_same_result(one.at_deadline, explanation.at_deadline),
        )


def _witness(component: Component) -> messages.CountedWitness:
    return messages.CountedWitness(
        position_id=component.position_id,
        authoritative=component.authoritative,
        support_ids=component.support_ids[:SUPPORTS_SHOWN],
        supports_total=len(component.support_ids),
        supports_truncated=len(component.support_ids) > SUPPORTS_SHOWN,
    )


def _exclusion(exclusion: Exclusion) -> messages.ExcludedSupports:
    return messages.ExcludedSupports(
        position_id=exclusion.position_id,
        reason=EXCLUSION_REASON.to_wire(exclusion.reason),
        support_ids=exclusion.support_ids[:SUPPORTS_SHOWN],
        supports_total=len(exclusion.support_ids),
        supports_truncated=len(exclusion.support_ids) > SUPPORTS_SHOWN,
    )


def _reading(reading: RuleReading) -> messages.RuleReading:
    # What is missing comes first: that is what people look for, and what a bounded list must not lose.
    ordered = sorted(reading.conditions, key=lambda condition: condition.met)
    return messages.RuleReading(
        rule=reading.rule.value,
        position_id=reading.position_id,
        met=not reading.missing,
        conditions=[_condition(one) for one in ordered[:CONDITIONS_SHOWN]],
        conditions_total=len(ordered),
        conditions_truncated=len(ordered) > CONDITIONS_SHOWN,
        missing_total=len(reading.missing),
    )


def _condition(condition: Condition) -> messages.RuleCondition:
    message = messages.RuleCondition(
        quantity=condition.quantity.value, opponent_position_id=condition.opponent or "", met=condition.met
    )
    if isinstance(condition, CountCondition):
        message.relation = CONDITION_RELATION.to_wire(condition.relation)
        message.counts.CopyFrom(messages.ComparedCounts(measured=condition.measured, required=condition.required))
    else:
        relation = Relation.AT_LEAST if condition.inclusive else Relation.MORE_THAN
        message.relation = CONDITION_RELATION.to_wire(relation)
        message.times.CopyFrom(
            messages.ComparedTimes(
                measured=timestamp_or_none(condition.measured), required=timestamp_or_none(condition.required)
            )
        )
    return message
