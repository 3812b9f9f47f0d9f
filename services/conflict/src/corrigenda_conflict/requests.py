"""Requests of the conflict service as domain values."""

from __future__ import annotations

from corrigenda.conflict.v1 import conflict_service_pb2 as messages
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import RelationshipId
from corrigenda_core.domain.resolutions import KeepBoth, KeepExisting, KeepNew, Resolution
from corrigenda_core.rpc.convert import instant_of


def resolution_of(request: messages.ResolveConflictRequest) -> Resolution:
    """The resolution of a validated request.

    Raises:
        Refusal: INVALID_FIELD for a side that is given two starts.
    """
    match request.WhichOneof("action"):
        case "keep_new":
            keep = request.keep_new
            return KeepNew(
                kept_id=RelationshipId(keep.relationship_id),
                start=instant_of(keep.start) if keep.HasField("start") else None,
            )
        case "keep_existing":
            return KeepExisting(kept_id=RelationshipId(request.keep_existing.relationship_id))
        case "keep_both":
            starts = [(RelationshipId(one.relationship_id), instant_of(one.start)) for one in request.keep_both.starts]
            if len(dict(starts)) < len(starts):
                raise Refusal(Reason.INVALID_FIELD, "a side is given two starts", field="keep_both.starts")
            return KeepBoth(starts=tuple(starts))
        case _:
            raise ValueError("validation lets no request without an action pass")
