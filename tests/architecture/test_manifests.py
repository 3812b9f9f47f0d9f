"""The Kubernetes manifests: valid against the published schemas, hardened, and starting only what exists."""

import importlib.util
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "deploy" / "k8s" / "base"
COMPONENTS = ROOT / "deploy" / "k8s" / "components"
KUBERNETES_VERSION = "1.33"


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def manifests() -> list[Path]:
    """The files of the base and of what may be added to it."""
    found = [*BASE.glob("*.yaml"), *COMPONENTS.glob("*/*.yaml")]
    return sorted(path for path in found if path.name != "kustomization.yaml")


def workloads() -> list[Any]:
    return [
        pytest.param(document, id=document["metadata"]["name"])
        for path in manifests()
        for document in documents(path)
        if document["kind"] in {"Deployment", "Job"}
    ]


@pytest.mark.parametrize("folder", [BASE, *sorted(COMPONENTS.iterdir())], ids=lambda folder: folder.name)
def test_every_manifest_of_a_folder_is_listed(folder: Path) -> None:
    (kustomization,) = documents(folder / "kustomization.yaml")
    assert kustomization["kind"] == ("Kustomization" if folder == BASE else "Component")
    assert sorted(kustomization["resources"]) == sorted(
        path.name for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"
    )


@pytest.mark.parametrize("path", manifests(), ids=str)
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


def test_webhooks_are_no_part_of_the_base_and_their_notifier_alone_gets_out() -> None:
    assert "notifier" not in {
        d["metadata"]["name"] for path in BASE.glob("*.yaml") for d in documents(path) if "metadata" in d
    }
    found = {d["kind"]: d for path in (COMPONENTS / "webhooks").glob("*.yaml") for d in documents(path)}
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    policy = found["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert [port["port"] for rule in policy["egress"] for port in rule["ports"]] == [443]
    # It signs with secrets of its own, and has none of those that make keys and page tokens.
    assert all("secretRef" not in source for source in container["envFrom"])
    mounted = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert all(mount["readOnly"] for mount in mounted.values())
    (file,) = [one["value"] for one in container["env"] if one["name"] == "CORRIGENDA_WEBHOOKS_FILE"]
    assert any(file.startswith(mount["mountPath"]) for mount in mounted.values())
