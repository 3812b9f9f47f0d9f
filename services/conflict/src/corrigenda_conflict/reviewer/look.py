"""One look at one claimed case: read under the lease, decide, commit with the lease proven."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from corrigenda_core.domain.actors import SYSTEM_REVIEWER
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import IdRange
from corrigenda_core.domain.slots import CaseView, PlanContext
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES, Outcome
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Unbounded
from corrigenda_core.persistence.review_store import (
    Claim,
    TeamNow,
    case_queries,
    case_view,
    finish_look,
    is_held,
    load_versions,
    look_again,
    look_queries,
    other_cases,
)
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
class _Seen:
    """What a look sees under the team's lock; ``others`` are the live cases that share a member with it."""

    view: CaseView
    others: tuple[CaseView, ...]
    versions: CaseRowVersions


async def _seen(transaction: Transaction, claim: Claim) -> _Seen:
    """The claimed case; where there are others, they cost another round trip."""
    found = other_cases(transaction.prefetched)
    answers = dict(transaction.prefetched)
    if found:
        queries = [query for one in found for query in case_queries(transaction.team_id, one)]
        answers |= await transaction.fetch_all(queries)
    versions = CaseRowVersions()
    for conflict_id in (claim.conflict_id, *found):
        load_versions(answers, conflict_id, versions)
    return _Seen(
        view=case_view(answers, claim.conflict_id),
        others=tuple(case_view(answers, one) for one in found),
        versions=versions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Looks at cases; ``new_ids`` draws the ids of one look."""

    runner: TransactionRunner
    new_ids: Callable[[], IdRange]

    async def at(self, team: TeamNow, claim: Claim) -> Outcome:
        """Looks at a claimed case and commits what its decision changes.

        The lease row is locked from the first round trip until the commit, and giving it back is part of the commit:
        whoever has lost the claim writes nothing.

        Raises:
            Refusal: LEASE_LOST, or what the database refuses; nothing was written.
        """
        ids = self.new_ids()

        async def plan(transaction: Transaction) -> Outcome:
            if not is_held(transaction.prefetched):
                raise Refusal(
                    Reason.LEASE_LOST,
                    "another reviewer has claimed the case",
                    metadata={"conflict_id": claim.conflict_id, "claim_token": str(claim.token)},
                )
            return self._looked(transaction, team, claim, await _seen(transaction, claim), ids)

        committed: Committed[Outcome] = await self.runner.run(
            team.team_id,
            plan,
            prefetch=look_queries(team.team_id, claim),
            deadline=Deadline.after(LOOK_SECONDS_MAX),
        )
        return committed.value

    async def alert(self, team: TeamNow, claim: Claim) -> None:
        """Tells of a case that cannot be looked at, by an event of the case; a claim that is lost by now tells nothing.

        Raises:
            Refusal: what the database refuses.
        """
        ids = self.new_ids()

        def plan(transaction: Transaction) -> None:
            if not is_held(transaction.prefetched):
                return
            case = case_view(transaction.prefetched, claim.conflict_id).case
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
            prefetch=look_queries(team.team_id, claim),
            deadline=Deadline.after(LOOK_SECONDS_MAX),
        )

    def _looked(self, transaction: Transaction, team: TeamNow, claim: Claim, seen: _Seen, ids: IdRange) -> Outcome:
        moment = transaction.next_moment(SYSTEM_REVIEWER, CHANGE_KIND)
        context = PlanContext(moment=moment, ids=ids.part(_PLAN_IDS), actor=SYSTEM_REVIEWER, policy=team.policy)
        view = seen.view
        plan = plan_case_review(view, context, seen.others)
        writer = ChangesWriter(transaction=transaction, actor=SYSTEM_REVIEWER, versions=seen.versions, closes_only=True)
        writer.write(plan.changes, at=moment.at, cases=(view.case, *(other.case for other in seen.others)))
        self._evaluation(transaction, view, plan, ids.part(_ROW_IDS).nth(0))
        closed = False
        for case in plan.changes.cases:
            if case.conflict_id != claim.conflict_id:
                transaction.execute(look_again(team.team_id, case.conflict_id, next_review_at=moment.at))
            elif not case.live:
                closed = True
                writer.refresh((support.fragment_id for support in view.supports), "eligibility_changed")
        next_review_at = Unbounded.END if closed else next_look(team, moment.at, view.case.review_due_at)
        transaction.execute(finish_look(team.team_id, claim, next_review_at=next_review_at, team_now=moment.at))
        return plan.evaluation.decision.outcome

    def _evaluation(self, transaction: Transaction, view: CaseView, plan: ReviewPlan, new_id: str) -> None:
        """Keeps what the decision was taken from, so that it can be replayed from that alone."""
        transaction.insert(
            tables.case_evaluations,
            {
                "evaluation_id": new_id,
                "conflict_id": view.case.conflict_id,
                "case_version": view.case.version,
                "policy_version": plan.evaluation.policy,
                "snapshot": json.loads(encode_snapshot(plan.snapshot)),
                "decision": json.loads(encode_evaluation(plan.evaluation)),
            },
        )
