"""How what a source said has fared: one fate for everything, counts that sum up, and no weight anywhere."""

from __future__ import annotations

import ast
from pathlib import Path

import corrigenda_core
import pytest
from corrigenda_core.domain.decisions import RemovalReason
from corrigenda_core.domain.fates import CarriedBy, Fate, SourcedObservation
from corrigenda_core.domain.relationships import Status
from corrigenda_core.domain.verification import Modality, VerificationVerdict
from corrigenda_core.policy.source_history import decide_fate, decide_source_history
from hypothesis import given
from hypothesis import strategies as st


def said(row: CarriedBy | None = None, **changes: object) -> SourcedObservation:
    values = {"modality": Modality.STATEMENT, "verdict": VerificationVerdict.ENTAILED, **changes}
    return SourcedObservation(row=row, **values)


def on(status: Status, **facts: bool) -> CarriedBy:
    return CarriedBy(status=status, **facts)


ACTIVE = on(Status.ACTIVE)


@pytest.mark.rule("R9.5")
@pytest.mark.parametrize(
    ("observation", "fate"),
    [
        (said(ACTIVE), Fate.STANDS),
        (said(on(Status.ACTIVE, disputed=True)), Fate.STANDS),
        (said(on(Status.ACTIVE, won=True)), Fate.STANDS),
        (said(on(Status.ACTIVE, ended=True)), Fate.ENDED),
        (said(on(Status.SUPERSEDED, ended=True)), Fate.SUPERSEDED),
        (said(on(Status.SUPERSEDED, won=True)), Fate.SUPERSEDED),
        (said(on(Status.SUPERSEDED, lost=True)), Fate.OVERRULED),
        (said(on(Status.SUPERSEDED, lost=True, living=False)), Fate.OVERRULED),
        (said(on(Status.SUPERSEDED, living=False)), Fate.DISCARDED),
        (said(on(Status.COMPETING, asked=True)), Fate.COMPETING),
        (said(on(Status.COMPETING, ended=True)), Fate.OVERTAKEN),
        (said(on(Status.COMPETING, lost=True, ended=True)), Fate.OVERRULED),
        (said(on(Status.NEEDS_REVIEW, asked=True)), Fate.HELD),
        (said(on(Status.RETRACTED)), Fate.RETRACTED),
        (said(on(Status.REJECTED)), Fate.REJECTED),
        (said(on(Status.PENDING_EVIDENCE)), Fate.PENDING),
        (said(on(Status.QUARANTINED)), Fate.QUARANTINED),
        (said(on(Status.QUARANTINED), effective=False), Fate.QUARANTINED),
        # Another source may carry the row on; what this one said has lost its support.
        (said(ACTIVE, effective=False), Fate.PENDING),
        # What its owner took out is that, whatever row carried it.
        (said(ACTIVE, removal=RemovalReason.RETRACTED), Fate.RETRACTED),
        (said(on(Status.SUPERSEDED, living=False), removal=RemovalReason.CORRECTED), Fate.CORRECTED),
        (said(on(Status.SUPERSEDED, living=False), removal=RemovalReason.MERGED), Fate.MERGED),
        (said(on(Status.REJECTED), removal=RemovalReason.REJECTED), Fate.REJECTED),
        (said(ACTIVE, removal=RemovalReason.RETRACTED, effective=False), Fate.RETRACTED),
        (said(None), Fate.PENDING),
        (said(None, verdict=None), Fate.PENDING),
        (said(ACTIVE, verdict=VerificationVerdict.INSUFFICIENT), Fate.PENDING),
        (said(None, verdict=VerificationVerdict.CONTRADICTED), Fate.REJECTED),
        *((said(ACTIVE, modality=one), Fate.OBSERVED) for one in Modality if one is not Modality.STATEMENT),
    ],
)
def test_the_fate_of_what_a_source_said(observation: SourcedObservation, fate: Fate) -> None:
    assert decide_fate(observation) is fate


@pytest.mark.rule("R9.5")
def test_cases_are_counted_beside_fates() -> None:
    history = decide_source_history(
        [
            (said(on(Status.ACTIVE, won=True)), 2),
            (said(on(Status.SUPERSEDED, won=True)), 1),
            (said(on(Status.SUPERSEDED, lost=True)), 4),
            (said(on(Status.ACTIVE, disputed=True)), 8),
            (said(None), 16),
        ]
    )
    assert (history.total, history.won, history.lost, history.disputed) == (31, 3, 4, 8)
    assert {fate: count for fate, count in history.fates.items() if count} == {
        Fate.STANDS: 10,
        Fate.SUPERSEDED: 1,
        Fate.OVERRULED: 4,
        Fate.PENDING: 16,
    }


@pytest.mark.rule("R9.5")
def test_a_source_that_said_nothing_has_no_history() -> None:
    history = decide_source_history([])
    assert (history.total, sum(history.fates.values())) == (0, 0)
    assert set(history.fates) == set(Fate)


FACTS = st.booleans()
CARRIED = st.builds(
    CarriedBy,
    status=st.sampled_from(Status),
    living=FACTS,
    ended=FACTS,
    asked=FACTS,
    won=FACTS,
    lost=FACTS,
    disputed=FACTS,
)
SAID = st.builds(
    SourcedObservation,
    modality=st.sampled_from(Modality),
    verdict=st.none() | st.sampled_from(VerificationVerdict),
    effective=FACTS,
    removal=st.none() | st.sampled_from(RemovalReason),
    row=st.none() | CARRIED,
)


@pytest.mark.rule("R9.5")
@given(st.lists(st.tuples(SAID, st.integers(1, 9)), max_size=12))
def test_fates_sum_up_and_grouping_decides_nothing(groups: list[tuple[SourcedObservation, int]]) -> None:
    history = decide_source_history(groups)
    assert sum(history.fates.values()) == history.total == sum(times for _, times in groups)
    one_by_one = [(observation, 1) for observation, times in reversed(groups) for _ in range(times)]
    assert decide_source_history(one_by_one) == history
    assert max(history.won, history.lost, history.disputed) <= history.total


@pytest.mark.rule("R9.5")
def test_no_rule_weighs_a_source_by_its_history() -> None:
    """Advice is advice: nothing in the core but the one function that counts imports what it counts."""
    root = Path(corrigenda_core.__file__).parent
    importing = [
        path.relative_to(root).as_posix()
        for folder in ("policy", "testing", "providers")
        for path in sorted((root / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith((".fates", ".source_history"))
    ]
    assert importing == ["policy/source_history.py"]
