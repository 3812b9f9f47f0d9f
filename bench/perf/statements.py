"""The submissions that the benchmarks send: short statements about many environments, none like another."""

from __future__ import annotations

from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.type.v1 import evidence_pb2, relationship_pb2


def statement(number: int, *, key: str = "") -> ingest_service_pb2.RememberRequest:
    """What one agent says about one environment: a text of some 60 code points, two entities, one relationship."""
    environment, branch = f"environment {number:06}", f"branch {number % 997:03}"
    cited = f"{environment} deploys from {branch}"
    text = f"{cited}. The service says so."
    return ingest_service_pb2.RememberRequest(
        idempotency_key=key or f"statement {number}",
        evidence=[submission_pb2.EvidenceItem(content=text, source_type=evidence_pb2.SOURCE_TYPE_CONVERSATION)],
        proposal=submission_pb2.Proposal(
            entities=[
                submission_pb2.ProposedEntity(ref="e", name=environment, entity_kind="environment"),
                submission_pb2.ProposedEntity(ref="b", name=branch, entity_kind="git_branch"),
            ],
            relationships=[
                submission_pb2.ProposedRelationship(
                    proposal_id="p",
                    subject_ref="e",
                    predicate="deploys_from",
                    object_ref="b",
                    polarity=relationship_pb2.POLARITY_POSITIVE,
                    modality=relationship_pb2.MODALITY_STATEMENT,
                    evidence=[submission_pb2.Citation(evidence_index=0, quote=cited)],
                )
            ],
        ),
    )
