"""Refusals and failures in a line or two: code, reason, field, bound, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.rpc.refusal_text import advice, told_of
from corrigenda_core.rpc.status import CODES

from corrigenda_cli.rendering.safe_text import one_line

_ADVICE = {
    Reason.INVALID_FIELD: "Correct the request.",
    Reason.CREDENTIAL_INVALID: "Set CORRIGENDA_KEY to a valid key of the team.",
}
_FIGURES = ("field", "bound", "offered", "allowed")
_UNREACHED = "Start the services (`corrigenda up`), or say where they are: --ingest, --conflict, --recall."


def refusal_lines(refusal: Refusal) -> list[str]:
    """What was refused, and what to do about it."""
    said = f"{CODES[refusal.reason].name} {refusal.reason.value}: {one_line(refusal.message)}"
    where = "; ".join([*_place(refusal.field, refusal.message), *_figures(refusal.metadata)])
    return [f"{said} ({where})" if where else said, f"  next: {_ADVICE.get(refusal.reason) or advice(refusal.reason)}"]


def refusal_json(refusal: Refusal) -> dict[str, Any]:
    """The same for programs."""
    return {"error": told_of(refusal)}


def failure_lines(code: str, details: str, *, unreached: bool) -> list[str]:
    """A call that failed without a refusal of ours."""
    said = f"{code}: {one_line(details) or 'no details were given'}"
    return [said, f"  next: {_UNREACHED}"] if unreached else [said]


def failure_json(code: str, details: str) -> dict[str, Any]:
    """The same for programs."""
    return {"error": {"code": code, "message": details}}


def _place(field: str, message: str) -> list[str]:
    return [f"field {one_line(field)}"] if field and field not in message else []


def _figures(metadata: Mapping[str, str]) -> list[str]:
    """The bound, or the ids and versions, that the refusal is about."""
    figures = [f"{name} {one_line(metadata[name])}" for name in ("offered", "allowed") if metadata.get(name)]
    bound = f"{one_line(metadata.get('bound', ''))}: " if figures and metadata.get("bound") else ""
    others = [
        f"{name.replace('_', ' ')} {one_line(value)}"
        for name, value in metadata.items()
        if name not in _FIGURES and value
    ]
    return [f"{bound}{', '.join(figures)}", *others] if bound else others
