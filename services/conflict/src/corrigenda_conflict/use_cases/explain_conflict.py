"""ExplainConflict: why a case is decided as it is, what is missing, and what would change it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.actors import Caller
from corrigenda_core.domain.errors import missing
from corrigenda_core.domain.explanations import Explanation
from corrigenda_core.domain.ids import ConflictId
from corrigenda_core.domain.snapshots import CaseSnapshot
from corrigenda_core.domain.views import KnownNow, TemporalSelector
from corrigenda_core.persistence.explanation_store import ExplainedCase, read_explained_case
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.view_store import ReadView, run_in_view
from corrigenda_core.policy.explanation import explain_case
from corrigenda_core.ports.deadline import Deadline
from corrigenda_core.rpc.case_words import positions_in_order
from corrigenda_core.rpc.convert import known_of

from corrigenda_conflict.explanation_responses import ExplanationMessages
from corrigenda_conflict.responses import POSITIONS_SHOWN, ConflictMessages

# Two dozen decisions on this many supports take milliseconds; the largest case takes seconds.
INLINE_SUPPORTS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainConflict:
    """The use case; see `__call__`."""

    reader: ReadRunner

    async def __call__(
        self, caller: Caller, request: messages.ExplainConflictRequest, deadline: Deadline
    ) -> messages.ExplainConflictResponse:
        """The case and its explanation: as a look at the asked time would have decided or, once it is closed, did.

        Raises:
            Refusal: RESOURCE_NOT_FOUND, also for a case that was not known then; INVALID_FIELD.
        """
        conflict_id = ConflictId(request.conflict_id)
        known = known_of(request.known)

        async def read(transaction: ReadTransaction, view: ReadView) -> ExplainedCase:
            found = await read_explained_case(transaction, view, conflict_id, present=isinstance(known, KnownNow))
            if found is None:
                raise missing("conflict", conflict_id, field="conflict_id")
            return found

        explained: ExplainedCase = await run_in_view(
            self.reader,
            caller.team_id,
            TemporalSelector(known=known),
            read,
            field="known",
            min_revision=request.min_revision,
            deadline=deadline,
        )
        return await _response(caller, conflict_id, explained)


async def _response(
    caller: Caller, conflict_id: ConflictId, explained: ExplainedCase
) -> messages.ExplainConflictResponse:
    shown = explained.reading.cases[conflict_id]
    asked = [position.position_id for position in positions_in_order(shown.case)[:POSITIONS_SHOWN]]

    def explain() -> Explanation:
        return explain_case(explained.snapshot, asked)

    is_small = _support_count(explained.snapshot) <= INLINE_SUPPORTS_MAX
    explanation = explain() if is_small else await asyncio.to_thread(explain)
    made = ExplanationMessages(shown, explained.reading.names, asked)
    return messages.ExplainConflictResponse(
        conflict=ConflictMessages(caller.team_id, explained.reading).case(shown),
        explanation=made.explanation(explanation, at=explained.snapshot.now, closing=explained.closing),
        revision=explained.revision,
    )


def _support_count(snapshot: CaseSnapshot) -> int:
    return sum(len(member.supports) for position in snapshot.positions for member in position.members)
