"""The commands of an administrator, run against the session's stack as a person runs them."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from corrigenda.ingest.v1 import ingest_service_pb2

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Run = Callable[..., Awaitable[tuple[int, str, str]]]
Request = Callable[..., ingest_service_pb2.RememberRequest]


async def test_keys_are_made_rotated_listed_and_revoked(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=("A",))
    admin = team.keys["admin"]
    status, out, _ = await corrigenda(admin, "keys", "list", "--json")
    listed = json.loads(out)
    assert (status, listed["total"]) == (0, 2)
    profile = listed["keys"][1]["profile_id"]
    status, out, _ = await corrigenda(
        admin, "keys", "create", profile, "--scope", "read", "--label", "a program", "--json"
    )
    made = json.loads(out)
    assert (status, made["key"]["scopes"], made["secret"][:4]) == (0, ["read"], "cor_")
    status, out, _ = await corrigenda(admin, "keys", "rotate", made["key"]["key_id"], "--overlap-seconds", "60")
    assert status == 0
    assert [line.split()[1] for line in out.splitlines() if line[0] != " "] == ["live", "live"]
    assert "(shown once)" in out
    new_id = out.split()[0]
    status, out, _ = await corrigenda(admin, "keys", "revoke", new_id, "--reason", "left")
    assert (status, out.split()[1]) == (0, "revoked")
    status, out, err = await corrigenda(admin, "keys", "rotate", new_id, "--json")
    assert (status, out, json.loads(err)["error"]["reason"]) == (3, "", "INVALID_FIELD")
    assert "the key is not live" in err


async def test_the_registry_is_listed_changed_and_scanned(corrigenda: Run, new_team: NewTeam) -> None:
    team = await new_team(profiles=())
    admin = team.keys["admin"]
    register = ("predicates", "register", "speaks", "--alias", "talks", "--value-type", "text", "--pii-class", "low")
    status, out, _ = await corrigenda(admin, *register, "--cardinality", "many")
    assert (status, out.strip()) == (0, "speaks  version 1  state of many  (talks)")
    status, _, err = await corrigenda(admin, *register, "--expected-version", "7")
    assert status == 3
    assert "STALE_VERSION" in err
    status, out, _ = await corrigenda(admin, *register, "--expected-version", "1", "--json")
    assert (status, json.loads(out)["predicate"]["version"]) == (0, 2)
    status, out, _ = await corrigenda(admin, "predicates", "list", "spe")
    assert (status, out.strip()) == (0, "speaks  version 2  state of one  (talks)")
    status, out, _ = await corrigenda(admin, "predicates", "scan", "speaks")
    assert (status, out.strip()) == (0, "0 of 0 slots: 0 relationships changed, 0 conflicts opened, 0 changed")


async def test_a_text_is_erased_by_a_command(corrigenda: Run, new_team: NewTeam, deploys_from: Request) -> None:
    team = await new_team(profiles=("A",))
    placed = await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"))
    fragment_id = placed.placement.fragments[0].fragment_id
    relationship_id = placed.placement.relationships[0].relationship.relationship_id
    command = ("erase", fragment_id, "--reason", "asked")
    status, out, _ = await corrigenda(team.keys["admin"], *command)
    assert status == 0
    told = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert (told["fragments"], told["relationships"]) == ([fragment_id], [relationship_id])
    status, _, err = await corrigenda(team.keys["admin"], *command, "--json")
    assert (status, json.loads(err)["error"]["reason"]) == (3, "EVIDENCE_ERASED")
    status, _, err = await corrigenda("", *command)
    assert status == 2
    assert "CORRIGENDA_KEY" in err
