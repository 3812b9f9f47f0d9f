"""One look at one claimed case: decide on what was loaded with the claim, commit with the claim proven.

Whatever changes a case raises its version, and with it the fencing token of its lease. A claim whose token still
stands under the team's lock therefore says that the rows which were loaded with it are the case: most looks change
nothing but the record of the look, and need not read the case again. Where the case would be closed, the commit reads
it again along with the lock; rows that are the same are decided already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from corrigenda_core.domain.actors import SYSTEM_REVIEWER
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import ConflictId, IdRange, TeamId
from corrigenda_core.domain.slots import CaseView, PlanContext
from corrigenda_core.domain.snapshots import INDEPENDENT_SOURCES, Dismiss, Outcome, Resolve
from corrigenda_core.persistence import tables
from corrigenda_core.persistence.changes_writer import ChangesWriter
from corrigenda_core.persistence.database import Row, Unbounded
from corrigenda_core.persistence.named_sql import Query
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
from corrigenda_core.persistence.row_text import exact_json
from corrigenda_core.persistence.slot_store import CaseRowVersions
from corrigenda_core.persistence.transaction import Committed, Transaction, TransactionRunner
from corrigenda_core.policy.case_review import Judged, ReviewPlan, decide_ahead, plan_case_alert, plan_case_review
from corrigenda_core.policy.decision_codec import evaluation_object
from corrigenda_core.policy.snapshot_codec import snapshot_object
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
    """What a look sees of a case.

    Attributes:
        rows: the case as it was read.
        view: the same, as the policy takes it.
        ahead: what was decided on it before the look had its time.
        beside: the live cases that share a member with it, where they matter.
    """

    rows: CaseRows
    view: CaseView
    ahead: Judged | None = None
    beside: tuple[CaseRows, ...] = ()

    def versions(self) -> CaseRowVersions:
        """The versions of the rows that were read; each attempt to write begins with them."""
        versions = CaseRowVersions()
        for one in (self.rows, *self.beside):
            one.add_versions(versions)
        return versions

    def planned(self, context: PlanContext) -> ReviewPlan:
        """What the look changes."""
        return plan_case_review(self.view, context, self.others(), self.ahead)

    def others(self) -> tuple[CaseView, ...]:
        """The cases beside it."""
        return tuple(one.view() for one in self.beside)


def _reading_again(team_id: TeamId, conflict_id: ConflictId) -> list[Query]:
    """What a commit reads that closes a case: the case, and which others share a member with it."""
    return [others_query(team_id, conflict_id), *case_queries(team_id, [conflict_id])]


async def _seen_again(transaction: Transaction, answers: Mapping[str, list[Row]], seen: _Seen) -> _Seen:
    """The case and those beside it by the answers to `_reading_again`; where there are others, they are read now."""
    conflict_id = seen.view.case.conflict_id
    rows = case_rows(answers, [conflict_id])[conflict_id]
    if rows != seen.rows:
        seen = _Seen(rows=rows, view=rows.view())
    if not (others := other_cases(answers["review_others"])):
        return seen
    found = case_rows(await transaction.fetch_all(case_queries(transaction.team_id, others)), others)
    return replace(seen, beside=tuple(found[one] for one in others))


async def _decided(transaction: Transaction, claimed: _Seen, context: PlanContext) -> tuple[_Seen, ReviewPlan]:
    """The plan of a look, and what it was made on; a case is closed on nothing but what the commit has read itself."""
    answers: Mapping[str, list[Row]] = transaction.prefetched
    if "review_others" not in answers:
        planned = claimed.planned(context)
        if not isinstance(planned.evaluation.decision, Resolve | Dismiss):
            return claimed, planned
        queries = _reading_again(transaction.team_id, claimed.view.case.conflict_id)
        answers = await transaction.fetch_all(queries)
    seen = await _seen_again(transaction, answers, claimed)
    return seen, seen.planned(context)


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
        ids, team_id, view = self.new_ids(), team.team_id, rows.view()
        claimed = _Seen(rows=rows, view=view, ahead=decide_ahead(view, team.now))

        async def plan(transaction: Transaction) -> Looked:
            if self.leases.held_version(transaction.prefetched) != view.case.version:
                raise Refusal(
                    Reason.LEASE_LOST,
                    "another reviewer has claimed the case, or it has changed",
                    metadata={"conflict_id": claim.conflict_id, "claim_token": str(claim.token)},
                )
            moment = transaction.next_moment(SYSTEM_REVIEWER, CHANGE_KIND)
            context = PlanContext(moment=moment, ids=ids.part(_PLAN_IDS), actor=SYSTEM_REVIEWER, policy=team.policy)
            seen, planned = await _decided(transaction, claimed, context)
            self._write(transaction, team, claim, seen, planned, context, ids.part(_ROW_IDS).nth(0))
            status = next(
                (one.status for one in planned.changes.cases if one.conflict_id == claim.conflict_id), view.case.status
            )
            return Looked(outcome=planned.evaluation.decision.outcome, changed=status is not view.case.status)

        hold = self.leases.hold(team_id, claim.conflict_id, claim.token)
        # What closes a case is mostly seen to come: what the commit then reads goes along with the lock.
        again = _reading_again(team_id, claim.conflict_id) if claimed.ahead and claimed.ahead.closes else []
        committed: Committed[Looked] = await self.runner.run(
            team_id, plan, prefetch=[hold, *again], deadline=Deadline.after(LOOK_SECONDS_MAX)
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
        writer = ChangesWriter(
            transaction=transaction, actor=SYSTEM_REVIEWER, versions=seen.versions(), closes_only=True
        )
        writer.write(plan.changes, at=at, cases=(view.case, *(other.case for other in seen.others())))
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
            "snapshot": exact_json(snapshot_object(plan.snapshot)),
            "decision": exact_json(evaluation_object(plan.evaluation)),
        },
    )
