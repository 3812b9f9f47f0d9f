"""One look at one claimed case: decide on what was loaded with the claim, commit with the claim proven.

Whatever changes a case raises its version, and with it the fencing token of its lease. A claim whose token still
stands under the team's lock therefore says that the rows which were loaded with it are the case: most looks change
nothing but the record of the look, and need not read the case again. A decision that closes the case is planned once
more, on what the commit itself reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from corrigenda_core.domain.actors import SYSTEM_REVIEWER
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.slots import CaseView, PlanContext
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES, Dismiss, Outcome, Resolve
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.review_cases import (
    CaseLeases,
    CaseRows,
    case_queries,
    case_rows,
    look_again,
    other_cases,
    others_query,
)
from corrigenda_core.persistence.review_store import Claim, TeamNow
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.policy.case_review import ReviewPlan, plan_case_alert, plan_case_review
from corrigenda_core.policy.decision_codec import encode_evaluation
from corrigenda_core.policy.snapshot_codec import encode_snapshot
from corrigenda_core.ports.deadline import Deadline

from corrigenda_conflict.reviewer.schedule import next_look

CHANGE_KIND = "review"
LOOK_SECONDS_MAX = 20.0

_PLAN_IDS, _ROW_IDS = range(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look led to; an overdue case that stays overdue is not changed."""

    outcome: Outcome
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a look sees; ``others`` are the live cases that share a member with it, where they matter."""

    view: CaseView
    others: tuple[CaseView, ...]
    versions: CaseRowVersions


def _seen(rows: CaseRows, others: tuple[CaseRows, ...] = ()) -> _Seen:
    versions = CaseRowVersions()
    for one in (rows, *others):
        one.add_versions(versions)
    return _Seen(view=rows.view(), others=tuple(one.view() for one in others), versions=versions)


async def _seen_in(transaction: Transaction, claim: Claim) -> _Seen:
    """The case and those beside it as the transaction reads them; where there are others, they cost a round trip."""
    team_id, conflict_id = transaction.team_id, claim.conflict_id
    queries = [others_query(team_id, conflict_id), *case_queries(team_id, [conflict_id])]
    answers = await transaction.fetch_all(queries)
    beside = other_cases(answers["review_others"])
    rows = case_rows(answers, [conflict_id])[conflict_id]
    if not beside:
        return _seen(rows)
    others = case_rows(await transaction.fetch_all(case_queries(team_id, beside)), beside)
    return _seen(rows, tuple(others[one] for one in beside))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Looks at cases; ``new_ids`` draws the ids of one look.

    What a look writes is what the reviewer's database role may write (R7.19): the database refuses everything else.
    """

    runner: TransactionRunner
    new_ids: Callable[[], IdRange]
    leases: CaseLeases = field(default_factory=CaseLeases)

    async def at(self, team: TeamNow, claim: Claim, rows: CaseRows) -> Looked:
        """Looks at a claimed case and commits what its decision changes.

        The lease row is locked from the first round trip until the commit, and giving it back is part of the commit:
        whoever has lost the claim writes nothing.

        Args:
            team: the team.
            claim: the claim, proven by the commit.
            rows: the case as it was loaded with the claim.

        Raises:
            Refusal: LEASE_LOST, or what the database refuses; nothing was written.
        """
        ids = self.new_ids()

        async def plan(transaction: Transaction) -> Looked:
            seen = _seen(rows)
            if self.leases.held_version(transaction.prefetched) != seen.view.case.version:
                raise Refusal(
                    Reason.LEASE_LOST,
                    "another reviewer has claimed the case, or it has changed",
                    metadata={"conflict_id": claim.conflict_id, "claim_token": str(claim.token)},
                )
            moment = transaction.next_moment(SYSTEM_REVIEWER, CHANGE_KIND)
            context = PlanContext(moment=moment, ids=ids.part(_PLAN_IDS), actor=SYSTEM_REVIEWER, policy=team.policy)
            planned = plan_case_review(seen.view, context)
            if isinstance(planned.evaluation.decision, Resolve | Dismiss):
                seen = await _seen_in(transaction, claim)
                planned = plan_case_review(seen.view, context, seen.others)
            self._write(transaction, team, claim, seen, planned, context, ids.part(_ROW_IDS).nth(0))
            status = next(
                (one.status for one in planned.changes.cases if one.conflict_id == claim.conflict_id),
                seen.view.case.status,
            )
            return Looked(outcome=planned.evaluation.decision.outcome, changed=status is not seen.view.case.status)

        committed: Committed[Looked] = await self.runner.run(
            team.team_id,
            plan,
            prefetch=[self.leases.hold(team.team_id, claim.conflict_id, claim.token)],
            deadline=Deadline.after(LOOK_SECONDS_MAX),
        )
        return committed.value

    async def alert(self, team: TeamNow, claim: Claim, rows: CaseRows) -> None:
        """Tells of a case that cannot be looked at, by an event of the case; a claim that is lost by now tells nothing.

        Raises:
            Refusal: what the database refuses.
        """
        ids = self.new_ids()

        def plan(transaction: Transaction) -> None:
            case = rows.view().case
            if self.leases.held_version(transaction.prefetched) != case.version:
                return
            moment = transaction.next_moment(SYSTEM_REVIEWER, CHANGE_KIND)
            context = PlanContext(moment=moment, ids=ids, actor=SYSTEM_REVIEWER, policy=team.policy)
            changes = plan_case_alert(case, context, INDEPENDENT_SOURCES)
            writer = ChangesWriter(
                transaction=transaction, actor=SYSTEM_REVIEWER, versions=CaseRowVersions(), closes_only=True
            )
            writer.write(changes, at=moment.at, cases=(case,))

        await self.runner.run(
            team.team_id,
            plan,
            prefetch=[self.leases.hold(team.team_id, claim.conflict_id, claim.token)],
            deadline=Deadline.after(LOOK_SECONDS_MAX),
        )

    def _write(
        self,
        transaction: Transaction,
        team: TeamNow,
        claim: Claim,
        seen: _Seen,
        plan: ReviewPlan,
        context: PlanContext,
        evaluation_id: str,
    ) -> None:
        at, view = context.moment.at, seen.view
        writer = ChangesWriter(transaction=transaction, actor=SYSTEM_REVIEWER, versions=seen.versions, closes_only=True)
        writer.write(plan.changes, at=at, cases=(view.case, *(other.case for other in seen.others)))
        _keep_evaluation(transaction, view, plan, evaluation_id)
        closed = False
        for case in plan.changes.cases:
            if case.conflict_id != claim.conflict_id:
                transaction.execute(look_again(team.team_id, case.conflict_id, next_review_at=at))
            elif not case.live:
                closed = True
                writer.refresh((support.fragment_id for support in view.supports), "eligibility_changed")
        next_review_at = Unbounded.END if closed else next_look(team, at, view.case.review_due_at)
        transaction.execute(
            self.leases.finish(team.team_id, claim.conflict_id, claim.token, next_review_at=next_review_at, team_now=at)
        )


def _keep_evaluation(transaction: Transaction, view: CaseView, plan: ReviewPlan, evaluation_id: str) -> None:
    """Keeps what the decision was taken from, so that it can be replayed from that alone."""
    transaction.insert(
        tables.case_evaluations,
        {
            "evaluation_id": evaluation_id,
            "conflict_id": view.case.conflict_id,
            "case_version": view.case.version,
            "policy_version": plan.evaluation.policy,
            "snapshot": json.loads(encode_snapshot(plan.snapshot)),
            "decision": json.loads(encode_evaluation(plan.evaluation)),
        },
    )
