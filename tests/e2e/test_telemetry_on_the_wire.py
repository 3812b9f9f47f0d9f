"""What a running stack tells its operators: a trace through all processes, and the metrics that alerts are made of."""

import asyncio
import json
import re
import urllib.request
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from corrigenda.conflict.v1 import resolution_pb2
from corrigenda.ingest.v1 import ingest_service_pb2
from corrigenda.type.v1 import evidence_pb2
from corrigenda_cli.stack import PROCESSES, Stack
from corrigenda_conflict.notifier.metrics import NotifierMetrics
from corrigenda_core.domain.errors import Reason
from corrigenda_core.rpc.status import CODES
from corrigenda_core.testing.otlp_collector import OtlpCollector
from corrigenda_core.testing.wire_decisions import deciding, items_of, placed_row
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.database

NewTeam = Callable[..., Awaitable[Any]]
Request = Callable[..., ingest_service_pb2.RememberRequest]
ROOT = Path(__file__).resolve().parents[2]
OBSERVABILITY = ROOT / "deploy" / "observability"
WAIT_SECONDS = 60.0
# What a label may be called: each has a fixed, small set of values that no caller chooses.
LABELS = {
    *("method", "code", "reason", "le", "outcome", "status", "state", "event", "provider", "worth", "embedded"),
    *("tool", "standing", "implementation", "major", "minor", "patchlevel", "version", "generation"),
}


def sampled() -> tuple[str, str]:
    """A trace id, and the header of a caller who has decided that the trace is kept."""
    trace_id = uuid.uuid4().hex
    return trace_id, f"00-{trace_id}-{uuid.uuid4().hex[:16]}-01"


def parents(spans: list[tuple[str, Any]], process: str, name: str) -> list[str]:
    """The spans above the first one of a name, outwards, each as its process and name."""
    by_id = {span.span_id: (of, span) for of, span in spans}
    found = next(span for of, span in spans if of == process and span.name == name)
    above = []
    while found.parent_span_id in by_id:
        of, found = by_id[found.parent_span_id]
        above.append(f"{of}: {found.name}")
    return above


def have(*wanted: str) -> Callable[[list[tuple[str, Any]]], bool]:
    """Whether all of these are there, each a process and a name; each process sends its own, when it likes."""
    return lambda spans: set(wanted) <= {f"{process}: {span.name}" for process, span in spans}


async def test_one_trace_goes_from_an_agents_tool_to_the_sql(
    stack: Stack, collector: OtlpCollector, new_team: NewTeam
) -> None:
    team = await new_team(profiles=["A"])
    trace_id, traceparent = sampled()
    text = "production deploys from main"
    headers = {"authorization": f"Bearer {team.keys['A']}", "traceparent": traceparent}
    url = f"http://{stack.address('gateway')}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as agent,
    ):
        evidence = [{"content": text, "source_type": "conversation"}]
        await agent.call_tool("remember", {"idempotency_key": "k", "evidence": evidence})
    path = ["ingest: corrigenda.ingest.v1.IngestService/Remember", "gateway: mcp remember"]
    spans = await collector.spans_of(trace_id, until=have("ingest: sql commit", *path), seconds=WAIT_SECONDS)
    assert parents(spans, "ingest", "sql commit") == path
    told = " ".join(str(span) for _, span in spans)
    assert text not in told
    assert team.team_id not in told
    assert team.keys["A"] not in told


async def test_a_trace_goes_on_from_one_service_to_the_other(
    collector: OtlpCollector, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    await placed_row(team["A"], deploys_from("production deploys from main", "main"))
    await placed_row(team["A"], deploys_from("the log: production deploys from release", "release"))
    (item,) = await items_of(team["A"])
    sentence = resolution_pb2.Merge(
        content="since 1 March 2026 production deploys from trunk",
        source_type=evidence_pb2.SOURCE_TYPE_MANUAL,
        entity=resolution_pb2.MergedEntity(name="trunk", entity_kind="git_branch"),
    )
    trace_id, traceparent = sampled()
    await team["A"].conflict.ResolveConflict(deciding(item, merge=sentence), metadata=(("traceparent", traceparent),))
    path = [
        "ingest: corrigenda.ingest.v1.IngestService/Remember",
        "conflict: corrigenda.conflict.v1.ConflictService/ResolveConflict",
    ]
    spans = await collector.spans_of(trace_id, until=have("ingest: sql commit", *path), seconds=WAIT_SECONDS)
    assert parents(spans, "ingest", "sql commit") == path


async def test_a_call_that_nobody_asked_to_trace_is_not_recorded(
    collector: OtlpCollector, new_team: NewTeam, deploys_from: Request
) -> None:
    team = await new_team(profiles=["A"])
    trace_id, traceparent = sampled()
    metadata = (("traceparent", traceparent.removesuffix("01") + "00"),)
    await team["A"].ingest.Remember(deploys_from("production deploys from main", "main"), metadata=metadata)
    later_id, later = sampled()
    await team["A"].ingest.Remember(
        deploys_from("production deploys from release", "release"), metadata=(("traceparent", later),)
    )
    await collector.spans_of(later_id, until=have("ingest: sql commit"), seconds=WAIT_SECONDS)
    assert await collector.spans_of(trace_id, until=bool, seconds=0) == []


async def scraped(stack: Stack) -> dict[str, str]:
    """What each process of the stack shows at its metrics endpoint."""

    def read(address: str) -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=WAIT_SECONDS) as answer:
            return str(answer.read().decode())

    addresses = {name: child.facts["metrics"] for name, child in stack.children.items()}
    texts = await asyncio.gather(*(asyncio.to_thread(read, address) for address in addresses.values()))
    return dict(zip(addresses, texts, strict=True))


@pytest.fixture
async def shown(stack: Stack, new_team: NewTeam, deploys_from: Request) -> tuple[Any, dict[str, str]]:
    """A team that has done something, and what the processes show then."""
    team = await new_team(profiles=["A", "B"])
    for name, branch in (("A", "main"), ("B", "release")):
        await team[name].ingest.Remember(deploys_from(f"production deploys from {branch}", branch))
    return team, await scraped(stack)


async def test_every_process_shows_what_the_architecture_promises(shown: tuple[Any, dict[str, str]]) -> None:
    _, texts = shown
    assert texts.keys() == {spec.name for spec in PROCESSES}
    promised = {
        "ingest": ("corrigenda_rpc_calls", "corrigenda_rpc_duration_seconds", "corrigenda_placements"),
        "conflict": ("corrigenda_rpc_calls", "corrigenda_rpc_in_flight", "corrigenda_provider_calls"),
        "recall": ("corrigenda_rpc_calls", "corrigenda_rpc_places", "corrigenda_rpc_waiting"),
        "reviewer": (
            *("corrigenda_review_cases", "corrigenda_review_oldest_case_seconds", "corrigenda_review_leases"),
            *("corrigenda_review_exhausted_attempts", "corrigenda_review_looks"),
        ),
        "indexer": ("corrigenda_search_lag_seconds",),
        "gateway": ("corrigenda_gateway_tool_calls",),
    }
    for process, names in promised.items():
        assert set(names) <= {family.name for family in text_string_to_metric_families(texts[process])}, process
    placed = {
        sample.labels["outcome"]: sample.value
        for family in text_string_to_metric_families(texts["ingest"])
        for sample in family.samples
        if sample.name == "corrigenda_placements_total"
    }
    assert placed["inserted"] >= 1


async def test_no_label_holds_what_a_caller_chooses(shown: tuple[Any, dict[str, str]]) -> None:
    team, texts = shown
    for process, text in texts.items():
        families = list(text_string_to_metric_families(text))
        names = {label for family in families for sample in family.samples for label in sample.labels}
        assert names <= LABELS, process
        # Nobody's id, whoever's it is: a team's, a profile's, a key's.
        assert re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-7", text) is None, process
        assert team.team_id not in text
        assert "a team" not in text


async def test_metrics_go_to_a_collector_as_well(collector: OtlpCollector, shown: tuple[Any, dict[str, str]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if "corrigenda_placements" in collector.metrics.get("ingest", set()):
                break
            await asyncio.sleep(0.05)
    assert "corrigenda_rpc_duration_seconds" in collector.metrics["ingest"]


def expressions() -> list[str]:
    """Every expression of the alerts and of the dashboard."""
    rules = [
        rule
        for group in yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]
    dashboard = json.loads((OBSERVABILITY / "dashboard.json").read_text())
    return [rule["expr"] for rule in rules] + [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]


async def test_alerts_and_dashboard_use_only_what_a_running_process_shows(shown: tuple[Any, dict[str, str]]) -> None:
    _, texts = shown
    # A notifier runs where endpoints are configured, and in this stack there are none.
    notifier = CollectorRegistry()
    NotifierMetrics(notifier)
    families = [*notifier.collect(), *(one for text in texts.values() for one in text_string_to_metric_families(text))]
    # A counter is asked for by its total, a histogram by its parts.
    parts = {"counter": ("total",), "histogram": ("bucket", "sum", "count")}
    known = {family.name for family in families} | {
        f"{family.name}_{part}" for family in families for part in parts.get(family.type, ())
    }
    used = {name for one in expressions() for name in re.findall(r"\b(?:corrigenda|process)_[a-z_]+\b", one)}
    assert used - known == set()
    assert len(used) > 20


def test_alerts_have_the_shape_that_prometheus_reads_and_a_runbook_each() -> None:
    (group,) = yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"]
    assert group.keys() == {"name", "rules"}
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert re.fullmatch(r"[0-9]+[smhd]", rule.get("for", "1m"))
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
        runbook = ROOT / rule["annotations"]["runbook"]
        assert runbook.parent == ROOT / "docs" / "runbooks"
        # The runbook names the alert that leads to it.
        assert rule["alert"] in runbook.read_text(), rule["alert"]


def test_who_is_told_to_ask_another_reader_is_no_failure() -> None:
    (group,) = yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"]
    (failing,) = [rule["expr"] for rule in group["rules"] if rule["alert"] == "CorrigendaErrorRatio"]
    counted, _, every = failing.partition("/")
    assert CODES[Reason.REVISION_NOT_REPLICATED].name in counted
    assert 'reason!="REVISION_NOT_REPLICATED"' in counted.replace(" ", "")
    assert "{" not in every


def test_the_dashboard_has_the_shape_that_grafana_reads() -> None:
    dashboard = json.loads((OBSERVABILITY / "dashboard.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= dashboard.keys()
    places = set()
    for panel in dashboard["panels"]:
        assert {"id", "title", "type", "gridPos", "targets", "datasource", "fieldConfig"} <= panel.keys()
        places.add((panel["gridPos"]["x"], panel["gridPos"]["y"]))
        assert [target["refId"] for target in panel["targets"]] == [chr(65 + n) for n in range(len(panel["targets"]))]
    assert len(places) == len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    asked = {name for one in expressions() for name in re.findall(r"\$([a-z]+)\b", one)}
    assert asked <= variables
