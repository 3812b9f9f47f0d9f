"""Decision format: the JSON of decisions, evaluations and explanations; written only.

A decision follows from its snapshot, so it is never read back: a replay decides again and compares the text with the
stored one, whose fields it only brings into the order of the format.
"""

from __future__ import annotations

from corrigenda_core.domain.explanations import (
    Condition,
    CountCondition,
    Explanation,
    Relation,
    RuleReading,
    winner_of,
)
from corrigenda_core.domain.snapshots import CaseDecision, Dismiss, Evaluation, Resolve, Standing
from corrigenda_core.policy.snapshot_codec import JsonObject, write_instant, write_json, write_optional_instant

_DECISION_FIELDS = ("outcome", "reason", "counts", "authoritative", "excluded", "winner", "cutoff", "basis", "losers")
_EVALUATION_FIELDS = ("policy", *_DECISION_FIELDS, "components")
_BY_ID = frozenset({"counts", "authoritative", "losers"})
_INNER_FIELDS = {"excluded": ("supports", "reason"), "components": ("position", "supports", "authoritative")}


def encode_decision(evaluation: Evaluation) -> str:
    """Writes the decision of an evaluation with its counts and exclusions, in the format of the policy's vectors."""
    return write_json(_decision_object(evaluation))


def encode_evaluation(evaluation: Evaluation) -> str:
    """Writes the whole evaluation: the decision's fields, the policy's version and every counted component."""
    return write_json(evaluation_object(evaluation))


def encode_stored_evaluation(stored: JsonObject) -> str:
    """An evaluation that was stored as JSON, whatever became of the order of its fields, as `encode_evaluation` writes.

    Raises:
        ValueError: a field is unknown.
    """
    return write_json(_in_order(stored, _EVALUATION_FIELDS))


def encode_stored_decision(stored: JsonObject) -> str:
    """The decision in a stored evaluation, as `encode_decision` writes it.

    Raises:
        ValueError: a field is unknown.
    """
    ordered = _in_order(stored, _EVALUATION_FIELDS)
    return write_json({name: value for name, value in ordered.items() if name in _DECISION_FIELDS})


def _in_order(stored: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    if unknown := sorted(stored.keys() - set(fields)):
        raise ValueError(f"{unknown[0]}: is no field of the format")
    return {name: _inner_in_order(name, stored[name]) for name in fields if name in stored}


def _inner_in_order(name: str, value: object) -> object:
    """The objects inside: those by id in the order of the ids, those with fields in the order of the fields."""
    if name in _BY_ID and isinstance(value, dict):
        return {key: value[key] for key in sorted(value)}
    if name in _INNER_FIELDS and isinstance(value, list):
        return [_in_order(one, _INNER_FIELDS[name]) for one in value]
    return value


def encode_explanation(explanation: Explanation) -> str:
    """Writes an explanation: the evaluation, the numbers of each position, each rule's conditions, and the what-ifs."""
    return write_json(
        {
            "evaluation": evaluation_object(explanation.evaluation),
            "positions": [_standing_object(standing) for standing in explanation.evaluation.standings],
            "disagreement": [_condition_object(condition) for condition in explanation.disagreement],
            "rules": [_reading_object(reading) for reading in explanation.readings],
            "at_deadline": _result_object(explanation.at_deadline),
            "one_more_witness": {
                one.position_id: {"now": _result_object(one.now), "at_deadline": _result_object(one.at_deadline)}
                for one in explanation.one_more
            },
        }
    )


def _decision_object(evaluation: Evaluation) -> JsonObject:
    decision = evaluation.decision
    written: JsonObject = {"outcome": decision.outcome, "reason": decision.reason}
    if isinstance(decision, Dismiss):
        return written
    written["counts"] = {standing.position_id: standing.counted for standing in evaluation.standings}
    written["authoritative"] = {standing.position_id: standing.authoritative for standing in evaluation.standings}
    written["excluded"] = [
        {"supports": exclusion.support_ids, "reason": exclusion.reason} for exclusion in evaluation.witnesses.exclusions
    ]
    if isinstance(decision, Resolve):
        written["winner"] = decision.winner
        written["cutoff"] = write_instant(decision.cutoff)
        written["basis"] = decision.basis
        written["losers"] = {loser.relationship_id: write_instant(loser.valid_to) for loser in decision.losers}
    return written


def evaluation_object(evaluation: Evaluation) -> JsonObject:
    """An evaluation as the object that `encode_evaluation` writes: texts, integers, truths, lists, objects of them."""
    return {
        "policy": evaluation.policy,
        **_decision_object(evaluation),
        "components": [
            {
                "position": component.position_id,
                "supports": component.support_ids,
                "authoritative": component.authoritative,
            }
            for component in evaluation.witnesses.components
        ],
    }


def _standing_object(standing: Standing) -> JsonObject:
    time = standing.time
    return {
        "position": standing.position_id,
        "witnesses": standing.counted,
        "authoritative": standing.authoritative,
        "start_bounds": standing.start_bounds,
        "time": None if time is None else {"from": write_instant(time.start), "to": write_instant(time.end)},
        "authority_bounds_end": write_optional_instant(standing.authority_bounds_end),
        "authority_valid_from": write_optional_instant(standing.authority_valid_from),
        "record": standing.record,
    }


def _reading_object(reading: RuleReading) -> JsonObject:
    return {
        "rule": reading.rule,
        "position": reading.position_id,
        "met": not reading.missing,
        "conditions": [_condition_object(condition) for condition in reading.conditions],
    }


def _condition_object(condition: Condition) -> JsonObject:
    measured: object
    required: object
    if isinstance(condition, CountCondition):
        measured, relation, required = condition.measured, condition.relation, condition.required
    else:
        measured = write_optional_instant(condition.measured)
        relation = Relation.AT_LEAST if condition.inclusive else Relation.MORE_THAN
        required = write_optional_instant(condition.required)
    return {
        "quantity": condition.quantity,
        "opponent": condition.opponent,
        "measured": measured,
        "relation": relation,
        "required": required,
        "met": condition.met,
    }


def _result_object(decision: CaseDecision) -> JsonObject:
    return {"outcome": decision.outcome, "reason": decision.reason, "winner": winner_of(decision)}
