"""One submission from options: a text with its source, and what it says if the caller says so too."""

from __future__ import annotations

import argparse
from typing import Any

from corrigenda_cli.asking import said
from corrigenda_cli.calling import InputError
from corrigenda_cli.reading.texts import STANDARD_INPUT, json_of, text_of

SOURCE_TYPES = ("conversation", "document", "observation", "manual", "system_record")
AUTHORITIES = ("authoritative", "primary", "secondary", "inferred", "unknown")
VALUE_TYPES = ("text", "number", "boolean", "date", "instant")
MODALITIES = ("statement", "question", "plan", "speculation", "quotation")
SUBJECT_REF, OBJECT_REF = "subject", "object"


def add_source_options(parser: argparse._ActionsContainer) -> None:
    """Adds what is said of a text's source."""
    parser.add_argument("--source-type", choices=SOURCE_TYPES, default="manual", help="what it comes from (manual)")
    parser.add_argument("--authority", choices=AUTHORITIES, help="the authority claimed for it (unknown)")
    parser.add_argument("--source-group", default="", metavar="TEXT", help="sources that count as one witness")
    parser.add_argument("--occurred-at", metavar="TIME", help="when what it tells was observed (RFC 3339)")


def add_submission_options(parser: argparse.ArgumentParser) -> None:
    """Adds a text, its source, and what it says."""
    parser.add_argument("text", nargs="?", help="the text, or - for standard input")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--file", metavar="FILE", help="the text is what this file holds")
    other.add_argument("--request", metavar="FILE", help="a whole request as JSON, or - for standard input")

    source = parser.add_argument_group("the source")
    add_source_options(source)
    source.add_argument("--source-key", default="", metavar="TEXT", help="the source that it is a revision of")
    source.add_argument("--source-revision", default="", metavar="TEXT", help="which revision of it")
    source.add_argument("--previous-source-revision", default="", metavar="TEXT", help="the one that it replaces")
    source.add_argument("--supersedes", action="append", default=[], metavar="ID", help="own fragment it replaces")
    source.add_argument("--derived-from", action="append", default=[], metavar="ID", help="fragment it was made from")
    source.add_argument("--label", action="append", default=[], metavar="TEXT", help="repeatable")
    source.add_argument("--confidence", type=float, metavar="0..1", help="shown, never counted")
    source.add_argument("--metadata", action="append", default=[], metavar="KEY=VALUE", help="repeatable")

    claim = parser.add_argument_group("what it says (default: the extractor proposes)")
    claim.add_argument("--subject", metavar="KIND:NAME", help="such as environment:production")
    claim.add_argument("--predicate", metavar="TEXT", help="key, alias or phrase, such as deploys_from")
    thing = claim.add_mutually_exclusive_group()
    thing.add_argument("--object", metavar="KIND:NAME", help="such as git_branch:main")
    thing.add_argument("--value", metavar="TYPE:TEXT", help=f"such as number:10; types: {', '.join(VALUE_TYPES)}")
    claim.add_argument("--unit", default="", metavar="TEXT", help="unit of a number")
    claim.add_argument("--deny", action="store_true", help="the text denies it")
    claim.add_argument("--modality", choices=MODALITIES, default="statement", help="how it is said (statement)")
    claim.add_argument("--scope", default="", metavar="TEXT", help="what narrows it")
    claim.add_argument("--from", dest="valid_from", metavar="TIME", help="since when, if the text does not say")
    claim.add_argument("--to", dest="valid_to", metavar="TIME", help="until when, exclusive")
    claim.add_argument("--quote", metavar="TEXT", help="the passage that says it (default: the whole text)")
    claim.add_argument("--comment", default="", metavar="TEXT", help="a remark for people")
    claim.add_argument("--corrects", metavar="ID[@VERSION]", help="the relationship that it corrects")
    claim.add_argument("--answers", metavar="ID[@VERSION]", help="the conflict that it answers")


def submission_of(options: argparse.Namespace) -> dict[str, Any]:
    """The request that the options describe, as JSON, without its idempotency key unless ``--request`` has one.

    Raises:
        InputError: nothing is given, too much is, or it cannot be read.
    """
    given = [options.text, options.file, options.request]
    if sum(one is not None for one in given) != 1:
        raise InputError("give one of: a text, --file, --request")
    if options.request is not None:
        return json_of(options.request)
    if options.file is not None or options.text == STANDARD_INPUT:
        content = text_of(options.file or STANDARD_INPUT)
    else:
        content = options.text
    return said(
        evidence=[_evidence_item(options, content)],
        proposal=_proposal(options, content),
        metadata=_metadata(options.metadata),
    )


def source_of(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_source_options` says, as JSON."""
    return said(
        source_type=options.source_type,
        authority=options.authority,
        source_group=options.source_group,
        occurred_at=options.occurred_at,
    )


def named_entity(given: str, option: str) -> tuple[str, str]:
    """Kind and name of ``KIND:NAME``.

    Raises:
        InputError: it is of another form.
    """
    kind, colon, name = given.partition(":")
    if not (kind and colon and name):
        raise InputError(f"{option} is KIND:NAME, such as environment:production, not {given!r}")
    return kind, name


def typed_value(given: str, unit: str) -> dict[str, Any]:
    """The value of ``TYPE:TEXT``, as JSON.

    Raises:
        InputError: it is of another form.
    """
    kind, colon, text = given.partition(":")
    if not (colon and kind in VALUE_TYPES):
        raise InputError(f"--value is TYPE:TEXT with one of {', '.join(VALUE_TYPES)}, not {given!r}")
    return said(type=kind, text=text, unit=unit)


def versioned(given: str, name: str) -> dict[str, Any]:
    """An id and the version that the caller saw, from ``ID[@VERSION]``, as JSON.

    Raises:
        InputError: the version is no number.
    """
    identifier, at, version = given.partition("@")
    if at and not version.isdecimal():
        raise InputError(f"{given!r} is no ID@VERSION")
    return said(**{name: identifier}, expected_version=int(version) if at else None)


def _evidence_item(options: argparse.Namespace, content: str) -> dict[str, Any]:
    return said(
        content=content,
        **source_of(options),
        source_key=options.source_key,
        source_revision=options.source_revision,
        previous_source_revision=options.previous_source_revision,
        supersedes_fragment_ids=options.supersedes,
        derived_from_fragment_ids=options.derived_from,
        labels=options.label,
        confidence=options.confidence,
    )


def _proposal(options: argparse.Namespace, content: str) -> dict[str, Any] | None:
    thing = options.object or options.value
    parts = (options.subject, options.predicate, thing)
    if not any(parts):
        if options.answers or options.corrects or options.quote:
            raise InputError("--answers, --corrects and --quote need --subject, --predicate and --object or --value")
        return None
    if not all(parts):
        raise InputError("--subject, --predicate and --object or --value are given together")
    entities = [_entity(SUBJECT_REF, options.subject, "--subject")]
    if options.object:
        entities.append(_entity(OBJECT_REF, options.object, "--object"))
    return {"entities": entities, "relationships": [_relationship(options, content)]}


def _relationship(options: argparse.Namespace, content: str) -> dict[str, Any]:
    return said(
        proposal_id="p1",
        subject_ref=SUBJECT_REF,
        predicate=options.predicate,
        object_ref=OBJECT_REF if options.object else None,
        object_value=typed_value(options.value, options.unit) if options.value else None,
        polarity="-" if options.deny else "+",
        modality=options.modality,
        validity=said(valid_from=options.valid_from, valid_to=options.valid_to),
        scope=options.scope,
        evidence=[said(evidence_index=0, **_passage(options.quote, content))],
        comment=options.comment,
        correction_target=versioned(options.corrects, "relationship_id") if options.corrects else None,
        conflict_context=versioned(options.answers, "conflict_id") if options.answers else None,
    )


def _passage(quote: str | None, content: str) -> dict[str, Any]:
    return {"start": 0, "end": len(content)} if quote is None else {"quote": quote}


def _entity(ref: str, given: str, option: str) -> dict[str, Any]:
    kind, name = named_entity(given, option)
    return {"ref": ref, "name": name, "entity_kind": kind}


def _metadata(entries: list[str]) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in entries]
    if not all(equals for _, equals, _ in pairs):
        raise InputError("--metadata is KEY=VALUE")
    return {key: value for key, _, value in pairs}
