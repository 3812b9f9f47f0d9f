"""Accuracy on real disagreements: the team-conflict policy decides what 38 web sites said about flights.

Every cell of the gold standard (one property of one flight on one day) is a case: each value that a site gave is a
position, each site is its own owner with one support, without times and without authority. The product's own
`decide_case` decides each case before its deadline (``early``) and at it (``due``). ``groups`` gives every site its
declared source group, so that sites which print the same feed are one witness; ``sites`` takes each for a witness of
its own and shows what independence is worth.

    python3 dev.py bench accuracy flight --data DIR [--json]

DIR holds ``flight/`` (claims.tsv.gz, gold.tsv, source_groups.json), or is that folder itself.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, RelationshipId, SupportId
from corrigenda_core.domain.snapshots import CaseSnapshot, Resolve, SnapshotMember, SnapshotPosition
from corrigenda_core.policy.team_conflict import decide_case

Cell = tuple[str, str]
Claims = dict[Cell, dict[str, list[str]]]
"""For each cell (day, property of a flight), the sites that gave each value."""

# Any moments do: without times in the evidence, the rules only ask whether the deadline has come.
SEEN_AT = datetime(2011, 12, 1, tzinfo=UTC)
DUE_AT = SEEN_AT + timedelta(days=7)


def rows(path: Path) -> Iterator[list[str]]:
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(path, "rt", encoding="utf-8", newline="") as text:
        yield from csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)


def read_claims(folder: Path, cells: Iterable[Cell]) -> Claims:
    """What each site says of each cell: a site that printed a flight more than once is taken at its first word."""
    first_word: dict[Cell, dict[str, str]] = {cell: {} for cell in cells}
    for day, name, site, value in rows(folder / "claims.tsv.gz"):
        if (day, name) in first_word:
            first_word[day, name].setdefault(site, value)
    claims: Claims = {cell: {} for cell in first_word}
    for cell, values in first_word.items():
        for site, value in values.items():
            claims[cell].setdefault(value, []).append(site)
    return claims


def case_of(values: Mapping[str, list[str]], groups: Mapping[str, str]) -> CaseSnapshot:
    """The case of one cell, before its deadline; a site without a declared group speaks for itself."""
    return CaseSnapshot(
        now=SEEN_AT,
        review_due_at=DUE_AT,
        first_contradiction_at=SEEN_AT,
        positions=tuple(
            SnapshotPosition(
                position_id=PositionId(value),
                members=tuple(member_of(site, groups.get(site)) for site in sites),
            )
            for value, sites in values.items()
        ),
    )


def member_of(site: str, group: str | None) -> SnapshotMember:
    support = Support(
        support_id=SupportId(site),
        fragment_id=FragmentId(site),
        author=ProfileId(site),
        source_group=group,
        recorded_at=SEEN_AT,
        authority=Authority.PRIMARY,
    )
    return SnapshotMember(
        relationship_id=RelationshipId(site), version=1, owner_id=ProfileId(site), supports=(support,)
    )


def score(claims: Claims, gold: Mapping[Cell, str], groups: Mapping[str, str]) -> dict[str, object]:
    """Counts the cells with one value and with several, and how many of these are resolved, and rightly so."""
    conflicting = {cell: values for cell, values in claims.items() if len(values) > 1}
    answers: dict[str, list[bool]] = {"early": [], "due": []}
    for cell, values in conflicting.items():
        case = case_of(values, groups)
        for moment, snapshot in (("early", case), ("due", replace(case, now=DUE_AT))):
            decision = decide_case(snapshot).decision
            if isinstance(decision, Resolve):
                answers[moment].append(decision.winner == gold[cell])
    return {
        "conflicting": len(conflicting),
        "unanimous": sum(len(values) == 1 for values in claims.values()),
        **{
            moment: {"resolved": len(right), "right": sum(right) / len(right) if right else None}
            for moment, right in answers.items()
        },
    }


def run(folder: Path) -> dict[str, dict[str, object]]:
    gold = {(day, name): value for day, name, value in rows(folder / "gold.tsv")}
    claims = read_claims(folder, gold)
    groups = json.loads((folder / "source_groups.json").read_text(encoding="utf-8"))
    sites = {site for values in claims.values() for sites in values.values() for site in sites}
    return {
        "groups": score(claims, gold, groups),
        "sites": score(claims, gold, {site: site for site in sites}),
    }


def readable(result: dict[str, dict[str, object]]) -> str:
    lines = [f"{'':8} {'conflicting':>11} {'unanimous':>9}  {'early':>16}  {'due':>16}"]
    for grouping, figures in result.items():
        cells = [
            f"{moment['resolved']:>6} {moment['right']:>8.2%}" if moment["resolved"] else f"{0:>6} {'-':>8}"
            for moment in (figures["early"], figures["due"])
        ]
        lines.append(
            f"{grouping:8} {figures['conflicting']:>11} {figures['unanimous']:>9}  {cells[0]:>16}  {cells[1]:>16}"
        )
    return "\n".join([*lines, "early and due: cells resolved, and the share of them that equals the gold standard"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Accuracy of the team-conflict policy on the flight data.")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds flight/, or that folder itself")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    folder = options.data / "flight" if (options.data / "flight").is_dir() else options.data
    if not (folder / "gold.tsv").is_file():
        print(f"there is no flight data in {options.data}", file=sys.stderr)
        return 2
    result = run(folder)
    print(json.dumps(result) if options.json else readable(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
