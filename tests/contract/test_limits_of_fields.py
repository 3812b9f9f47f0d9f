"""The field rules of the protos give the same figures as the table of bounds."""

from __future__ import annotations

import pytest
from corrigenda.admin.v1 import admin_service_pb2, source_pb2
from corrigenda.ingest.v1 import ingest_service_pb2, submission_pb2
from corrigenda.options.v1 import rules_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.policy.limits import Unit, decide_limit
from google.protobuf.descriptor import Descriptor

SUBMISSION = submission_pb2.DESCRIPTOR.message_types_by_name
INGEST = ingest_service_pb2.DESCRIPTOR.message_types_by_name
RECALL = recall_service_pb2.DESCRIPTOR.message_types_by_name
ADMIN = admin_service_pb2.DESCRIPTOR.message_types_by_name
SOURCE = source_pb2.DESCRIPTOR.message_types_by_name

# Where each bound stands in the protos: message, field, and which part of the field ("", "items", "keys").
BOUNDS = [
    ("evidence_per_call", INGEST["RememberRequest"], "evidence", ""),
    ("idempotency_key", INGEST["RememberRequest"], "idempotency_key", ""),
    ("metadata_entries", INGEST["RememberRequest"], "metadata", ""),
    ("metadata_key", INGEST["RememberRequest"], "metadata", "keys"),
    ("metadata_value", INGEST["RememberRequest"], "metadata", "items"),
    ("verification_token", INGEST["RememberRequest"], "verification_token", ""),
    ("evidence_per_call", INGEST["PreflightRememberRequest"], "evidence", ""),
    ("metadata_entries", INGEST["PreflightRememberRequest"], "metadata", ""),
    ("metadata_key", INGEST["PreflightRememberRequest"], "metadata", "keys"),
    ("metadata_value", INGEST["PreflightRememberRequest"], "metadata", "items"),
    ("content", SUBMISSION["EvidenceItem"], "content", ""),
    ("source_group", SUBMISSION["EvidenceItem"], "source_group", ""),
    ("source_key", SUBMISSION["EvidenceItem"], "source_key", ""),
    ("source_revision", SUBMISSION["EvidenceItem"], "source_revision", ""),
    ("source_revision", SUBMISSION["EvidenceItem"], "previous_source_revision", ""),
    ("superseded_fragments_per_evidence", SUBMISSION["EvidenceItem"], "supersedes_fragment_ids", ""),
    ("origins_per_evidence", SUBMISSION["EvidenceItem"], "derived_from_fragment_ids", ""),
    ("labels_per_evidence", SUBMISSION["EvidenceItem"], "labels", ""),
    ("label", SUBMISSION["EvidenceItem"], "labels", "items"),
    ("entities_per_proposal", SUBMISSION["Proposal"], "entities", ""),
    ("relationships_per_proposal", SUBMISSION["Proposal"], "relationships", ""),
    ("reference_name", SUBMISSION["ProposedEntity"], "ref", ""),
    ("name", SUBMISSION["ProposedEntity"], "name", ""),
    ("entity_kind", SUBMISSION["ProposedEntity"], "entity_kind", ""),
    ("aliases_per_entity", SUBMISSION["ProposedEntity"], "aliases", ""),
    ("name", SUBMISSION["ProposedEntity"], "aliases", "items"),
    ("context_entries_per_entity", SUBMISSION["ProposedEntity"], "identity_context", ""),
    ("context_key", SUBMISSION["ProposedEntity"], "identity_context", "keys"),
    ("context_value", SUBMISSION["ProposedEntity"], "identity_context", "items"),
    ("reference_name", SUBMISSION["ProposedRelationship"], "proposal_id", ""),
    ("reference_name", SUBMISSION["ProposedRelationship"], "subject_ref", ""),
    ("reference_name", SUBMISSION["ProposedRelationship"], "object_ref", ""),
    ("predicate_phrase", SUBMISSION["ProposedRelationship"], "predicate", ""),
    ("scope", SUBMISSION["ProposedRelationship"], "scope", ""),
    ("evidence_refs_per_relationship", SUBMISSION["ProposedRelationship"], "evidence", ""),
    ("comment", SUBMISSION["ProposedRelationship"], "comment", ""),
    ("quote", SUBMISSION["Citation"], "quote", ""),
    ("query", RECALL["RecallRequest"], "query", ""),
    ("recall_limit", RECALL["RecallRequest"], "limit", ""),
    ("page_token", RECALL["TraceRequest"], "page_token", ""),
    ("review_period", ADMIN["UpdateTeamPolicyRequest"], "review_period_days", ""),
    ("review_start", ADMIN["UpdateTeamPolicyRequest"], "review_start_minute", ""),
    ("key_overlap", ADMIN["RotateKeyRequest"], "overlap_seconds", ""),
    ("source_group", SOURCE["SourceDefinition"], "source_group", ""),
    ("source_key", SOURCE["SourceDefinition"], "source_key", ""),
    ("speakers_per_source", SOURCE["SourceDefinition"], "speaker_profile_ids", ""),
    ("predicates_per_source", SOURCE["SourceDefinition"], "authoritative_for", ""),
    ("predicate_key", SOURCE["SourceDefinition"], "authoritative_for", "items"),
]

GREATEST = {Unit.ITEMS: "max_items", Unit.BYTES: "max_bytes", Unit.CODE_POINTS: "max_code_points"}
LEAST = {Unit.ITEMS: "min_items", Unit.BYTES: "min_bytes", Unit.CODE_POINTS: "min_code_points"}


@pytest.mark.parametrize(
    ("name", "message", "field", "part"), BOUNDS, ids=[f"{b[1].name}.{b[2]}.{b[3]}" for b in BOUNDS]
)
def test_a_field_has_the_figures_of_its_bound(name: str, message: Descriptor, field: str, part: str) -> None:
    limit = decide_limit(name)
    rules = message.fields_by_name[field].GetOptions().Extensions[rules_pb2.rules]
    of_part = getattr(rules, part) if part else rules
    assert getattr(of_part, GREATEST.get(limit.unit, "maximum")) == limit.greatest
    least = getattr(of_part, LEAST.get(limit.unit, "minimum"))
    assert (1 if of_part.required else least) == limit.least
