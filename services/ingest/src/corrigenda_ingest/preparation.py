"""Prepares a submission: normal forms, hashes and the scan; no look-up, no clock, nothing stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from corrigenda_core.domain.entities import IdentityContext, Mention, MentionRef
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.submissions import (
    EntityRef,
    EvidenceInput,
    ProposedEntity,
    ProposedRelationship,
    Submission,
)
from corrigenda_core.persistence.text_bands import text_bands
from corrigenda_core.policy.normalisation import (
    decide_content_hash,
    decide_name_form,
    decide_predicate_key,
    decide_scope_form,
    decide_text_form,
)
from corrigenda_core.policy.scanning import decide_scan

from corrigenda_ingest.submission import PreparedEvidence, PreparedRelationship, PreparedSubmission


def prepared_submission(submission: Submission) -> PreparedSubmission:
    """The submission in normal form.

    Raises:
        Refusal: INVALID_FIELD naming the field: an empty normal form, NUL in a text, a ref or proposal id that stands
            twice, a ref that no entity has.
    """
    refs = _unique((entity.ref for entity in submission.entities), "proposal.entities", "ref")
    _unique((r.proposal_id for r in submission.relationships), "proposal.relationships", "proposal_id")
    return PreparedSubmission(
        given=submission,
        evidence=tuple(_evidence(item, f"evidence[{number}]") for number, item in enumerate(submission.evidence)),
        mentions=tuple(
            _mention(entity, f"proposal.entities[{number}]") for number, entity in enumerate(submission.entities)
        ),
        relationships=tuple(
            _relationship(relationship, refs, f"proposal.relationships[{number}]")
            for number, relationship in enumerate(submission.relationships)
        ),
    )


def _unique(names: Iterable[str], field: str, attribute: str) -> frozenset[str]:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            path = f"{field}[{number}].{attribute}"
            raise Refusal(Reason.INVALID_FIELD, f"{path} stands twice in the proposal", field=path)
        seen.add(name)
    return frozenset(seen)


def _evidence(item: EvidenceInput, field: str) -> PreparedEvidence:
    """A text as it is stored: its very bytes, their hash, and no NUL (R2.1)."""
    if "\0" in item.content:
        raise Refusal(Reason.INVALID_FIELD, f"{field}.content must not contain NUL", field=f"{field}.content")
    previous = item.previous_source_revision
    if previous is not None and (item.source_key is None or previous == item.source_revision):
        raise Refusal(
            Reason.INVALID_FIELD,
            "what a source revision takes the place of is another one of the same source",
            field=f"{field}.previous_source_revision",
        )
    normal_text = decide_text_form(item.content)
    return PreparedEvidence(
        given=item,
        content_sha256=hashlib.sha256(item.content.encode()).digest(),
        normal_sha256=bytes.fromhex(decide_content_hash(item.content)),
        normal_text=normal_text,
        bands=text_bands(normal_text),
        scan=decide_scan(item.content),
    )


def _mention(entity: ProposedEntity, field: str) -> Mention:
    pairs = {
        (decide_name_form(key, field=f"{field}.identity_context"), decide_text_form(value))
        for key, value in entity.context
    }
    if len({key for key, _ in pairs}) < len(pairs):
        path = f"{field}.identity_context"
        raise Refusal(Reason.INVALID_FIELD, f"{path} gives two values to one key", field=path)
    return Mention(
        ref=MentionRef(entity.ref),
        kind=decide_name_form(entity.kind, field=f"{field}.entity_kind"),
        name=decide_name_form(entity.name, field=f"{field}.name"),
        aliases=frozenset(
            decide_name_form(alias, field=f"{field}.aliases[{number}]") for number, alias in enumerate(entity.aliases)
        ),
        context=IdentityContext(pairs=frozenset(pairs)),
        known_entity_id=entity.known_entity_id,
    )


def _relationship(relationship: ProposedRelationship, refs: frozenset[str], field: str) -> PreparedRelationship:
    named = {f"{field}.subject_ref": relationship.subject_ref}
    if isinstance(relationship.object, EntityRef):
        named[f"{field}.object_ref"] = relationship.object.ref
    for path, ref in named.items():
        if ref not in refs:
            raise Refusal(Reason.INVALID_FIELD, f"{path} names no entity of the proposal", field=path)
    return PreparedRelationship(
        given=relationship,
        field=field,
        form=decide_predicate_key(relationship.predicate, field=f"{field}.predicate"),
        scope=decide_scope_form(relationship.scope, field=f"{field}.scope"),
    )
