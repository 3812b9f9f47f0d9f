"""Requests of the recall service as values: what is asked, and at which point of both time axes."""

from __future__ import annotations

from dataclasses import dataclass

from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.views import TemporalSelector
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.rpc.convert import temporal_selector_of

RESULTS_DEFAULT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuestion:
    """A question to the memory of a team."""

    query: str
    limit: int
    selector: TemporalSelector
    min_revision: int


def recall_question_of(request: recall_service_pb2.RecallRequest) -> RecallQuestion:
    """The question of a validated request.

    Raises:
        Refusal: INVALID_FIELD for a query without anything visible.
    """
    if not decide_text_form(request.query):
        raise Refusal(Reason.INVALID_FIELD, "query has nothing visible in it", field="query")
    return RecallQuestion(
        query=request.query,
        limit=request.limit if request.HasField("limit") else RESULTS_DEFAULT,
        selector=temporal_selector_of(request.temporal),
        min_revision=request.min_revision,
    )
