"""What administrators and operators look at: sources, profiles, the team, review runs, alerts."""

from __future__ import annotations

from corrigenda.admin.v1 import admin_service_pb2, profile_pb2, source_pb2, team_pb2
from corrigenda.conflict.v1 import conflict_service_pb2, review_run_pb2
from corrigenda.recall.v1 import recall_service_pb2
from rich.console import RenderableType
from rich.text import Text

from corrigenda_cli.rendering.layout import block, grid, stacked
from corrigenda_cli.rendering.safe_text import one_line
from corrigenda_cli.rendering.words import (
    DIM,
    View,
    actor_text,
    counted,
    foot,
    identifier,
    joined,
    optional_time_text,
    page_note,
    time_text,
    word,
)

_MINUTES = 60
_COUNTERS = ("examined", "resolved", "dismissed", "marked_overdue", "kept", "left", "failed")


def draw_sources(answer: admin_service_pb2.ListSourcesResponse, view: View) -> RenderableType:
    """The source registry, in the order of registration."""
    if not answer.sources:
        return stacked(Text("No source is registered."), foot(view, revision=answer.revision))
    return stacked(
        *map(_source, answer.sources),
        page_note(len(answer.sources), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision, more=counted(answer.total, "source")),
    )


def draw_registered_source(answer: admin_service_pb2.RegisterSourceResponse, view: View) -> RenderableType:
    """A registered source and what its registration changed."""
    changed = (
        f"{counted(answer.changed_supports, 'support')} and "
        f"{counted(answer.changed_relationships, 'relationship')} changed by it"
    )
    return stacked(_source(answer.source), Text(changed), foot(view, revision=answer.revision))


def draw_source_history(answer: recall_service_pb2.GetSourceHistoryResponse, view: View) -> RenderableType:
    """How what a source said has fared."""
    history = answer.history
    table = grid("what became of it", "observations")
    for fate in history.fates:
        table.add_row(word(fate, "fate"), str(fate.count))
    said = f"{counted(history.fragments_total, 'text')}, {counted(history.observations_total, 'observation')}"
    against = f"in conflicts: {history.won} won, {history.lost} lost, {history.disputed} live"
    return stacked(
        Text(said, style="bold"), table if history.fates else None, Text(against), foot(view, revision=answer.revision)
    )


def draw_profiles(answer: admin_service_pb2.ListProfilesResponse, view: View) -> RenderableType:
    """The profiles of the team."""
    table = grid("profile", "since", ids="profile")
    for profile in answer.profiles:
        table.add_row(_profile(profile), time_text(profile.created_at, view))
    return stacked(
        table,
        page_note(len(answer.profiles), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision),
    )


def draw_created_profile(answer: admin_service_pb2.CreateProfileResponse, view: View) -> RenderableType:
    """A new profile."""
    return stacked(_profile(answer.profile), foot(view, revision=answer.revision))


def draw_team(team: team_pb2.Team, view: View) -> RenderableType:
    """A team with its policy and its clock."""
    head = Text(one_line(team.name), style="bold")
    return stacked(
        block(head, identifier(f"team {team.team_id}")), draw_policy(team.policy), draw_clock(team.clock, view)
    )


def draw_policy(policy: team_pb2.TeamPolicy) -> RenderableType:
    """The settings of a team."""
    start = f"{policy.review_start_minute // _MINUTES:02}:{policy.review_start_minute % _MINUTES:02}"
    groups = "every declared source group is a witness" if policy.trusts_declared_groups else ""
    return block(
        Text(f"policy version {policy.version}"),
        Text(f"conflicts are decided within {counted(policy.review_period_days, 'day')}"),
        Text(f"the nightly run starts at {start} in {one_line(policy.time_zone) or 'UTC'}"),
        Text(groups),
    )


def draw_clock(clock: team_pb2.TeamClock, view: View) -> RenderableType:
    """The clock of a team."""
    opened = optional_time_text(clock, "opened_at", view)
    return block(
        Text("clock: set by an administrator" if clock.driven else "clock: real time"),
        Text(f"now {time_text(clock.time, view)}, recorded up to {time_text(clock.closed_at, view)}"),
        Text(f"opened {opened}" if opened else ""),
        foot(view, revision=clock.revision),
    )


def draw_review_run(answer: conflict_service_pb2.ReviewNowResponse, view: View) -> RenderableType:
    """A run that was queued, as it is now."""
    return stacked(_run(answer.run, view), foot(view, revision=answer.revision))


def draw_review_runs(answer: conflict_service_pb2.ListReviewRunsResponse, view: View) -> RenderableType:
    """The reviewer's runs, the latest first."""
    if not answer.runs:
        return stacked(Text("The reviewer has not run yet."), foot(view, revision=answer.revision))
    return stacked(
        *[_run(run, view) for run in answer.runs],
        page_note(len(answer.runs), 0, answer.next_page_token),
        foot(view, revision=answer.revision),
    )


def draw_alerts(answer: admin_service_pb2.ListAlertsResponse, view: View) -> RenderableType:
    """What a person has to look at."""
    lines: list[RenderableType] = [
        block(
            joined([time_text(alert.raised_at, view), one_line(alert.kind).replace("_", " ")]),
            Text(one_line(alert.reason)),
            identifier(f"conflict {alert.conflict_id}") if alert.conflict_id else None,
        )
        for alert in answer.alerts
    ]
    return stacked(
        *(lines or [Text("No alerts.")]),
        page_note(len(answer.alerts), answer.total, answer.next_page_token),
        foot(view, revision=answer.revision),
    )


def _source(source: source_pb2.Source) -> RenderableType:
    definition = source.definition
    parts = [f"{name} {one_line(value)}" for name, value in _names(definition) if value]
    if definition.authoritative_for_every_predicate:
        authority = "authoritative for everything"
    elif definition.authoritative_for:
        authority = f"authoritative for {', '.join(map(one_line, definition.authoritative_for))}"
    else:
        authority = "authoritative for nothing"
    speakers = [identifier(f"speaks for it: {one}") for one in definition.speaker_profile_ids]
    return block(
        joined([Text(" ".join(parts), style="bold"), "" if source.active else "retired", f"version {source.version}"]),
        joined([authority, "system of record" if definition.record else ""]),
        *(speakers or [Text("every profile may speak for it", style=DIM)]),
    )


def _names(definition: source_pb2.SourceDefinition) -> list[tuple[str, str]]:
    return [("group", definition.source_group), ("key", definition.source_key)]


def _profile(profile: profile_pb2.Profile) -> RenderableType:
    return stacked(Text(one_line(profile.name), style="bold"), identifier(profile.profile_id))


def _run(run: review_run_pb2.ReviewRun, view: View) -> RenderableType:
    counters = [f"{getattr(run.counters, name)} {name.replace('_', ' ')}" for name in _COUNTERS]
    finished = optional_time_text(run, "finished_at", view)
    return block(
        joined([Text(word(run, "status"), style="bold"), word(run, "kind"), one_line(run.local_date)]),
        joined([f"asked for {time_text(run.requested_at, view)}", f"finished {finished}" if finished else ""]),
        Text(f"by {actor_text(run.requested_by)}" if run.HasField("requested_by") else ""),
        Text(", ".join(counters)),
        identifier(f"run {run.run_id}"),
    )
