"""The Kubernetes manifests: valid against the published schemas, hardened, and starting only what exists."""

import functools
import importlib.util
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "k8s"
BASE = KUBERNETES / "base"
COMPONENTS = KUBERNETES / "components"
OVERLAYS = ("dev", "prod", "citus")
# Of the Prometheus operator; the schemas of Kubernetes itself do not know it.
NOT_OF_KUBERNETES = {"ServiceMonitor"}
KUBERNETES_VERSION = "1.33"
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def manifests() -> list[Path]:
    """The files of the base and of what may be added to it."""
    found = [*BASE.glob("*.yaml"), *COMPONENTS.glob("*/*.yaml")]
    return sorted(path for path in found if path.name != "kustomization.yaml")


def workloads() -> list[Any]:
    """Those of our own image."""
    return [
        pytest.param(document, id=document["metadata"]["name"])
        for path in manifests()
        for document in documents(path)
        if document["kind"] in {"Deployment", "Job"} and document["metadata"]["name"] != "pooler"
    ]


@pytest.mark.parametrize("folder", [BASE, *sorted(COMPONENTS.iterdir())], ids=lambda folder: folder.name)
def test_every_manifest_of_a_folder_is_listed(folder: Path) -> None:
    (kustomization,) = documents(folder / "kustomization.yaml")
    assert kustomization["kind"] == ("Kustomization" if folder == BASE else "Component")
    assert sorted(kustomization.get("resources", [])) == sorted(
        path.name for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"
    )


@pytest.mark.parametrize("path", manifests(), ids=str)
def test_manifests_are_valid(path: Path) -> None:
    validate(documents(path))


def validate(found: Iterable[dict[str, Any]]) -> None:
    for document in found:
        if document["kind"] not in NOT_OF_KUBERNETES:
            kubernetes_validate.validate(document, KUBERNETES_VERSION, strict=True)


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


def test_a_process_gets_the_secrets_of_its_own_work_alone() -> None:
    known = set()
    for parameter in workloads():
        (container,) = parameter.values[0]["spec"]["template"]["spec"]["containers"]
        known |= {(parameter.id, one["secretRef"]["name"]) for one in container["envFrom"] if "secretRef" in one}
    # Who authenticates callers knows the pepper; who sets the passwords of roles, and nobody else, knows these.
    serving = {(name, "corrigenda") for name in ("ingest", "conflict", "recall")}
    assert known == {*serving, ("migrate", "corrigenda-passwords")}


def test_the_gateway_gets_no_secret() -> None:
    (deployment,) = [d for d in documents(BASE / "gateway.yaml") if d["kind"] == "Deployment"]
    assert "secret" not in str(deployment["spec"]).lower()


@functools.cache
def built(overlay: str) -> tuple[dict[str, Any], ...]:
    """What an overlay deploys, as ``kubectl kustomize`` builds it."""
    command = ["kubectl", "kustomize", str(KUBERNETES / "overlays" / overlay)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return tuple(yaml.safe_load_all(finished.stdout))


def of_kind(overlay: str, *kinds: str) -> dict[str, dict[str, Any]]:
    return {d["metadata"]["name"]: d for d in built(overlay) if d["kind"] in kinds}


def pods(overlay: str) -> dict[str, Any]:
    return {name: d["spec"]["template"] for name, d in of_kind(overlay, "Deployment", "Job").items()}


@needs_kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_an_overlay_builds_is_valid(overlay: str) -> None:
    validate(built(overlay))


@needs_kubectl
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_an_overlay_names_is_there(overlay: str) -> None:
    deployments = of_kind(overlay, "Deployment")
    identities = of_kind(overlay, "ServiceAccount")
    for name, pod in pods(overlay).items():
        assert pod["spec"]["serviceAccountName"] == name
        assert identities[name]["automountServiceAccountToken"] is False
        for container in pod["spec"]["containers"]:
            _, _, tag = container["image"].rpartition(":")
            assert tag not in {container["image"], "latest"}, f"{name} runs whatever is newest"
    scaled = of_kind(overlay, "HorizontalPodAutoscaler")
    assert {scaler["spec"]["scaleTargetRef"]["name"] for scaler in scaled.values()} <= set(deployments)
    # What sets the number of pods is one thing: an autoscaler, or the manifest.
    assert {name for name, d in deployments.items() if "replicas" not in d["spec"]} == set(scaled)
    for budget in of_kind(overlay, "PodDisruptionBudget").values():
        (selected,) = [d for d in deployments.values() if selects(budget["spec"]["selector"], d["spec"]["template"])]
        assert selected["metadata"]["name"] == budget["metadata"]["name"]


def selects(selector: dict[str, Any], pod: dict[str, Any]) -> bool:
    labels = pod["metadata"]["labels"]
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    operators = {"In": True, "NotIn": False}
    return equal and all(
        (labels.get(rule["key"]) in rule["values"]) is operators[rule["operator"]]
        for rule in selector.get("matchExpressions", [])
    )


def may_reach(overlay: str, name: str) -> set[int]:
    """The ports that the network policies let a workload's pods connect to."""
    pod = pods(overlay)[name]
    rules = [
        rule
        for policy in of_kind(overlay, "NetworkPolicy").values()
        if "Egress" in policy["spec"]["policyTypes"] and selects(policy["spec"]["podSelector"], pod)
        for rule in policy["spec"].get("egress", [])
    ]
    assert any(
        policy["metadata"]["name"] == "default-deny" and selects(policy["spec"]["podSelector"], pod)
        for policy in of_kind(overlay, "NetworkPolicy").values()
    )
    return {port["port"] for rule in rules for port in rule["ports"]}


DNS, DATABASE, POOLER, INGEST = 53, 5432, 6432, 7101


@needs_kubectl
@pytest.mark.parametrize(
    ("overlay", "name", "reached"),
    [
        ("dev", "reviewer", {DNS, DATABASE}),
        ("dev", "recall", {DNS, DATABASE}),
        ("dev", "conflict", {DNS, DATABASE, INGEST}),
        ("dev", "gateway", {DNS, INGEST, 7102, 7103}),
        ("prod", "reviewer", {DNS, DATABASE, POOLER}),
        ("prod", "gateway", {DNS, INGEST, 7102, 7103}),
        ("prod", "pooler", {DNS, DATABASE, POOLER}),
    ],
)
def test_a_process_reaches_what_it_needs_and_nothing_else(overlay: str, name: str, reached: set[int]) -> None:
    assert may_reach(overlay, name) == reached


@needs_kubectl
@pytest.mark.parametrize("overlay", ["prod", "citus"])
def test_production_speaks_tls_and_every_process_has_the_files(overlay: str) -> None:
    settings = of_kind(overlay, "ConfigMap")["corrigenda"]["data"]
    assert "CORRIGENDA_ALLOW_PLAINTEXT" not in settings
    files = {Path(value).parent for key, value in settings.items() if key.endswith("_FILE")}
    assert files == {Path("/etc/corrigenda/tls")}
    for name in ("ingest", "conflict", "recall", "gateway"):
        (container,) = pods(overlay)[name]["spec"]["containers"]
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/etc/corrigenda/tls"}
        # The cluster's own gRPC probe knows no TLS.
        assert "grpc" not in container.get("readinessProbe", {})


@needs_kubectl
def test_the_migration_distributes_on_citus_alone() -> None:
    def arguments(overlay: str) -> list[str]:
        (container,) = pods(overlay)["migrate"]["spec"]["containers"]
        given: list[str] = container["args"]
        return given

    assert arguments("citus") == [*arguments("prod"), "--distribute"]


@needs_kubectl
def test_metrics_are_scraped_from_every_process() -> None:
    (scraped,) = of_kind("prod", "ServiceMonitor").values()
    service = of_kind("prod", "Service")["metrics"]
    assert selects(scraped["spec"]["selector"], service)
    for name, deployment in of_kind("prod", "Deployment").items():
        if name != "pooler":
            assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


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
