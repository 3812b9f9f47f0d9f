"""The methods of our services as their descriptors declare them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.options.v1 import options_pb2
from corrigenda.recall.v1 import recall_service_pb2
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.rpc.enums import KEY_SCOPE

SERVED_BY: dict[str, tuple[ServiceDescriptor, ...]] = {
    "ingest": (
        ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"],
        admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
    ),
    "conflict": (conflict_service_pb2.DESCRIPTOR.services_by_name["ConflictService"],),
    "recall": (recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],),
}
"""The services by the name of the process that serves them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodAccess:
    """Who may call a method: ``path`` as on the wire, the scopes of which a key needs any one, whether it mutates."""

    path: str
    service: str
    name: str
    any_of: frozenset[KeyScope]
    mutates: bool


def access_of(method: MethodDescriptor) -> MethodAccess:
    """What the method's ``access`` option declares.

    Raises:
        ValueError: if it has none, or names no scope.
    """
    service = method.containing_service.full_name
    options = method.GetOptions()
    access = options.Extensions[options_pb2.access]
    if not options.HasExtension(options_pb2.access) or not access.any_of:
        raise ValueError(f"{service}/{method.name} does not say who may call it")
    return MethodAccess(
        path=f"/{service}/{method.name}",
        service=service,
        name=method.name,
        any_of=frozenset(KEY_SCOPE.to_domain(number) for number in access.any_of),
        mutates=access.mutates,
    )


def methods_of(services: Iterable[ServiceDescriptor]) -> dict[str, MethodAccess]:
    """The methods of the services by their path.

    Raises:
        ValueError: as `access_of`.
    """
    accesses = (access_of(method) for service in services for method in service.methods)
    return {access.path: access for access in accesses}
