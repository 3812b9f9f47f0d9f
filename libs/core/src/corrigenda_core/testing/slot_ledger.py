"""One slot of a memory store in a short notation: tests of the timeline say what matters and get the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from corrigenda_core.domain.changes import Changes, PlacementOutcome
from corrigenda_core.domain.decisions import Removal, RemovalReason, TimelineDecision
from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import (
    DecisionId,
    FragmentId,
    ProfileId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Relationship, Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.submissions import CorrectionTarget
from corrigenda_core.policy.placement import plan_own_side
from corrigenda_core.policy.refold import plan_refold
from corrigenda_core.testing.memory_store import MemoryStore, profile
from corrigenda_core.testing.slots import OWNER, SLOT, day, said, shown

_FIRST_RECORDED_AT = day("1 Jun")


class SlotLedger:
    """One slot of a `MemoryStore`, in the notation of `said`, with decisions of any kind and in any combination."""

    def __init__(self, predicate: Predicate) -> None:
        self.store = MemoryStore(_FIRST_RECORDED_AT)
        self.store.register(predicate)
        self.last = Changes()

    @property
    def views(self) -> list[SlotView]:
        """The slot before its first revision and after each of them."""
        return self.store.views(SLOT)

    @property
    def view(self) -> SlotView:
        """The slot as the last revision left it."""
        return self.views[-1]

    def context(self, owner: ProfileId = OWNER) -> PlanContext:
        """The next commit, a minute after the last one."""
        self.store.now = _FIRST_RECORDED_AT + timedelta(minutes=len(self.views))
        return self.store.context(profile(owner))

    def commit(self, changes: Changes) -> Changes:
        """Applies a plan and notes it as the last one."""
        self.last = self.store.commit(SLOT, changes, nets=False)
        return changes

    def place(
        self, line: str, *, owner: ProfileId = OWNER, group: str | None = None, corrects: str | None = None
    ) -> PlacementOutcome:
        """Places one statement in the notation of `said`, supported by a text of its own from a source of its own."""
        statement = said(line, owner=owner, first=len(self.view.statements))[0]
        return self.place_statement(statement, support_of(statement, group=group), corrects=corrects)

    def place_statement(
        self, statement: Statement, support: Support, *, corrects: str | None = None
    ) -> PlacementOutcome:
        """Places a statement."""
        target = (
            {}
            if corrects is None
            else {statement.statement_id: CorrectionTarget(relationship_id=self.row_id(corrects))}
        )
        context = self.context(statement.owner_id)
        return self.commit(plan_own_side(self.view, context, [statement], [support], target)).outcomes[0]

    def decide(self, *decisions: TimelineDecision, reason: str = "decision") -> Changes:
        """Takes decisions about statements of `OWNER`."""
        after = replace(self.view, decisions=(*self.view.decisions, *decisions))
        decision_id = decisions[0].decision_id if decisions else None
        return self.commit(plan_refold(self.view, after, self.context(), reason, decision_id))

    def replace_statements(self, statements: Iterable[Statement]) -> Changes:
        """Replaces statements by what they are now, as a change of their supports does."""
        now = {statement.statement_id: statement for statement in statements}
        after = replace(
            self.view,
            statements=tuple(now.get(s.statement_id, s) for s in self.view.statements),
            supports=tuple(
                s if s.statement_id is None else replace(s, effective=now[s.statement_id].effective)
                for s in self.view.supports
            ),
        )
        changes = plan_refold(self.view, after, self.context(), "support")
        self.views[-1] = replace(self.view, statements=after.statements, supports=after.supports)
        return self.commit(changes)

    def retract(self, *names: str) -> Changes:
        """Takes statements out as never true."""
        return self.decide(
            *(
                Removal(
                    decision_id=DecisionId(f"retract-{name}"),
                    statement_id=StatementId(name),
                    reason=RemovalReason.RETRACTED,
                )
                for name in names
            ),
            reason="retract",
        )

    def revert(self, *decision_ids: str) -> Changes:
        """Takes decisions back (nothing, if none is named), and the statements to the rows that carried them before."""
        if not decision_ids:
            return Changes()
        taken = next(n for n, v in enumerate(self.views) if any(d.decision_id in decision_ids for d in v.decisions))
        earlier = self.views[taken - 1]
        rows = {statement.statement_id: statement.relationship_id for statement in earlier.statements}
        after = replace(
            self.view,
            decisions=tuple(d for d in self.view.decisions if d.decision_id not in decision_ids),
            statements=tuple(
                replace(s, relationship_id=rows.get(s.statement_id, s.relationship_id)) for s in self.view.statements
            ),
        )
        return self.commit(plan_refold(self.view, after, self.context(), "revert"))

    def row_id(self, name: str) -> RelationshipId:
        """The row that carries a statement."""
        row = next(s.relationship_id for s in self.view.statements if s.statement_id == name)
        assert row is not None
        return row

    def row(self, name: str) -> Relationship:
        """The current version of the row that carries a statement."""
        row_id = self.row_id(name)
        return next(row for row in self.view.rows if row.relationship_id == row_id)

    def rows(self) -> list[str]:
        """All rows in the order of first recording, as ``value start..end status``."""
        return described(self.view.rows)


def support_of(statement: Statement, *, group: str | None = None, fragment: str | None = None) -> Support:
    """The support of a statement by a text of its own, and by a source group of its own unless one is given."""
    name = statement.statement_id
    return Support(
        support_id=SupportId(f"support-{name}"),
        fragment_id=FragmentId(fragment or f"text-{name}"),
        author=statement.owner_id,
        recorded_at=statement.recorded_at,
        authority=Authority.PRIMARY,
        source_group=group or f"group-{name}",
        statement_id=name,
        effective=statement.effective,
    )


def described(rows: Iterable[Relationship]) -> list[str]:
    """Rows as ``value start..end status``, in the order in which they were first recorded."""
    ordered = sorted(rows, key=lambda row: (row.first_recorded_at, row.relationship_id))
    return [
        f"{'' if row.polarity == '+' else '-'}{row.object.key.split(':')[-1]} {shown(row.validity)} {row.status.value}"
        for row in ordered
    ]
