"""The access option of every method says the same as the table of rights that the policy decides by."""

from __future__ import annotations

import pytest
from corrigenda.admin.v1 import admin_service_pb2
from corrigenda.conflict.v1 import conflict_service_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.options.v1 import key_scope_pb2, options_pb2
from corrigenda.recall.v1 import recall_service_pb2
from corrigenda_core.domain.actors import KeyScope
from corrigenda_core.policy.authorization import RIGHTS, Reach
from google.protobuf.descriptor import MethodDescriptor

FILES = (ingest_service_pb2, conflict_service_pb2, recall_service_pb2, admin_service_pb2)
METHODS: list[MethodDescriptor] = [
    method for file in FILES for service in file.DESCRIPTOR.services_by_name.values() for method in service.methods
]


@pytest.mark.rule("R11.1")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_a_method_needs_what_the_table_says(method: MethodDescriptor) -> None:
    access = method.GetOptions().Extensions[options_pb2.access]
    declared = {
        KeyScope(key_scope_pb2.KeyScope.Name(scope).removeprefix("KEY_SCOPE_").lower()) for scope in access.any_of
    }
    service, name = method.full_name.rsplit(".", 2)[-2:]
    rows = [right for right in RIGHTS.values() if right.verb.method == f"{service}/{name}"]
    assert rows, f"{service}/{name} has no row"
    assert declared == {scope for right in rows for scope in right.any_of}
    if not access.mutates:
        assert {right.reach for right in rows} == {Reach.NOBODY}
