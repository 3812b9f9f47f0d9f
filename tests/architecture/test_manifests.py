"""The Kubernetes manifests: valid against the published schemas, hardened, and starting only what exists."""

import importlib.util
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "deploy" / "k8s" / "base"
KUBERNETES_VERSION = "1.33"


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def workloads() -> list[Any]:
    return [
        pytest.param(document, id=document["metadata"]["name"])
        for path in sorted(BASE.glob("*.yaml"))
        for document in documents(path)
        if document["kind"] in {"Deployment", "Job"}
    ]


def test_every_manifest_of_the_base_is_listed() -> None:
    (kustomization,) = documents(BASE / "kustomization.yaml")
    assert sorted(kustomization["resources"]) == sorted(
        path.name for path in BASE.glob("*.yaml") if path.name != "kustomization.yaml"
    )


@pytest.mark.parametrize("path", sorted(p for p in BASE.glob("*.yaml") if p.name != "kustomization.yaml"), ids=str)
def test_manifests_are_valid(path: Path) -> None:
    for document in documents(path):
        kubernetes_validate.validate(document, KUBERNETES_VERSION, strict=True)


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_overlays_name_existing_deployments(overlay: str) -> None:
    (kustomization,) = documents(ROOT / "deploy" / "k8s" / "overlays" / overlay / "kustomization.yaml")
    deployed = {parameter.id for parameter in workloads()}
    assert {replica["name"] for replica in kustomization["replicas"]} <= deployed


@pytest.mark.parametrize("workload", workloads())
def test_workloads_are_hardened_and_start_an_existing_module(workload: dict[str, Any]) -> None:
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "limits" in container["resources"]
    python, minus_m, module, *_ = container["args"]
    assert (python, minus_m) == ("python", "-m")
    main = importlib.util.find_spec(f"{module}.__main__")
    assert main is not None, f"{module} cannot be started"


def test_each_process_connects_as_a_role_of_its_own() -> None:
    roles = {}
    for parameter in workloads():
        (container,) = parameter.values[0]["spec"]["template"]["spec"]["containers"]
        urls = [e for e in container["env"] if e["name"] == "CORRIGENDA_DATABASE_URL"]
        roles[parameter.id] = [url["valueFrom"]["secretKeyRef"]["key"] for url in urls]
    # The gateway alone has nothing to do with the database.
    assert roles.pop("gateway") == []
    assert len({role for (role,) in roles.values()}) == len(roles)


def test_the_gateway_gets_no_secret() -> None:
    (deployment,) = [d for d in documents(BASE / "gateway.yaml") if d["kind"] == "Deployment"]
    assert "secret" not in str(deployment["spec"]).lower()
