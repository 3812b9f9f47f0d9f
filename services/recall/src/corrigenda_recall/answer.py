"""What a recall answers, before it becomes a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.entities import EntityName
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import EntityId, FragmentId, ProfileId, RelationshipId
from corrigenda_core.domain.relationships import Relationship
from corrigenda_core.domain.results import Degradation, EdgeOutline, Mark
from corrigenda_core.domain.time import TextSpan
from corrigenda_core.persistence.recall_store import CaseEvidence
from corrigenda_core.persistence.shown_store import ShownFragment
from corrigenda_core.persistence.view_store import ReadView
from corrigenda_core.policy.ranking import Ranked, Traits
from corrigenda_core.policy.result_paths import Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A row in force that a fragment supports: the best authority granted for it, all passages, marks and weight."""

    relationship: Relationship
    authority: Authority
    spans: tuple[TextSpan, ...]
    marks: tuple[Mark, ...]
    traits: Traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the branches found.

    Attributes:
        ranking: of all hits.
        outlines: the edges that make each of them eligible.
        around: what the view knows around their rows.
        cases: all cases of the view around them.
        in_force: members of those cases that are in force.
        members: the rows of all members.
    """

    ranking: tuple[Ranked, ...]
    outlines: Mapping[FragmentId, tuple[EdgeOutline, ...]]
    around: Surroundings
    cases: tuple[ConflictCase, ...]
    in_force: frozenset[RelationshipId]
    members: Mapping[RelationshipId, Relationship]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One shown result."""

    ranked: Ranked
    fragment: ShownFragment
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAnswer:
    """The whole answer.

    Attributes:
        results: what is shown, the best first.
        total: how many eligible fragments were found.
        live: live cases that results are part of, the one of the best result first.
        resolved: resolved cases that results are part of, in the same order.
        found: everything behind the results.
        evidence: the latest evidence of each side of ``live``.
        names: of every entity that is shown.
        profiles: names of every owner that is shown.
        searched_revision: up to which revision everything can be found.
    """

    view: ReadView
    results: tuple[Result, ...]
    total: int
    live: tuple[ConflictCase, ...]
    resolved: tuple[ConflictCase, ...]
    found: Found
    evidence: CaseEvidence
    names: Mapping[EntityId, EntityName]
    profiles: Mapping[ProfileId, str]
    degraded: tuple[Degradation, ...]
    searched_revision: int
