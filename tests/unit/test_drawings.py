"""How answers look to people: what must be seen is there, tables line up, and no text of others acts on a terminal."""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from corrigenda.admin.v1 import admin_service_pb2, team_pb2
from corrigenda.conflict.v1 import (
    case_explanation_pb2,
    conflict_case_pb2,
    conflict_service_pb2,
    resolution_pb2,
    review_item_pb2,
)
from corrigenda.ingest.v1 import ingest_service_pb2, placement_pb2
from corrigenda.recall.v1 import recall_service_pb2, relationship_in_view_pb2, result_pb2
from corrigenda.type.v1 import decision_pb2, relationship_pb2, time_pb2
from corrigenda_cli.bulk import LoadReport
from corrigenda_cli.rendering.administration import (
    draw_alerts,
    draw_created_profile,
    draw_profiles,
    draw_registered_source,
    draw_review_run,
    draw_review_runs,
    draw_source_history,
    draw_sources,
    draw_team,
)
from corrigenda_cli.rendering.competing import draw_competing
from corrigenda_cli.rendering.conflicts import Carriers, draw_conflict, draw_conflict_list
from corrigenda_cli.rendering.corrections import draw_correction
from corrigenda_cli.rendering.decisions import (
    draw_adoption,
    draw_auto_resolved,
    draw_forgotten,
    draw_placement_decision,
    draw_resolved,
    draw_reverted,
)
from corrigenda_cli.rendering.entities import draw_entities
from corrigenda_cli.rendering.explanations import draw_explanation
from corrigenda_cli.rendering.items import draw_item, draw_items
from corrigenda_cli.rendering.layout import rendered
from corrigenda_cli.rendering.loads import draw_report
from corrigenda_cli.rendering.placements import draw_placement, draw_preflight, draw_remembered
from corrigenda_cli.rendering.recalled import draw_recalled
from corrigenda_cli.rendering.safe_text import neutralised
from corrigenda_cli.rendering.streams import draw_conflict_changes, draw_revisions
from corrigenda_cli.rendering.timelines import Axis, axis_of, bar, draw_timeline
from corrigenda_cli.rendering.traces import draw_relationship, draw_trace
from corrigenda_cli.rendering.words import View, time_text, validity_text
from corrigenda_core.rpc.convert import timestamp_of
from corrigenda_core.testing.filled_messages import filled
from google.protobuf.message import Message
from rich.cells import cell_len

UTC_VIEW = View()
DRAWINGS: dict[type[Message], Callable[[Any, View], Any]] = {
    admin_service_pb2.CreateProfileResponse: draw_created_profile,
    admin_service_pb2.ListAlertsResponse: draw_alerts,
    admin_service_pb2.ListProfilesResponse: draw_profiles,
    admin_service_pb2.ListSourcesResponse: draw_sources,
    admin_service_pb2.RegisterSourceResponse: draw_registered_source,
    team_pb2.Team: draw_team,
    conflict_service_pb2.AutoResolveResponse: draw_auto_resolved,
    conflict_service_pb2.ExplainConflictResponse: draw_explanation,
    conflict_service_pb2.GetCompetingFactsResponse: draw_competing,
    conflict_service_pb2.ListReviewItemsResponse: draw_items,
    conflict_service_pb2.ListReviewRunsResponse: draw_review_runs,
    conflict_service_pb2.ResolveConflictResponse: draw_resolved,
    conflict_service_pb2.ReviewNowResponse: draw_review_run,
    conflict_service_pb2.RevertResolutionResponse: draw_reverted,
    conflict_service_pb2.WatchConflictsResponse: draw_conflict_changes,
    review_item_pb2.ReviewItem: draw_item,
    ingest_service_pb2.AdoptEvidenceResponse: draw_adoption,
    ingest_service_pb2.CorrectEntityResolutionResponse: draw_correction,
    ingest_service_pb2.ForgetResponse: draw_forgotten,
    ingest_service_pb2.ResolvePlacementResponse: draw_placement_decision,
    recall_service_pb2.GetRelationshipResponse: draw_relationship,
    recall_service_pb2.GetSourceHistoryResponse: draw_source_history,
    recall_service_pb2.ListChangesResponse: draw_revisions,
    recall_service_pb2.TimelineResponse: lambda answer, view: draw_timeline(answer, view, versions=True),
    recall_service_pb2.TraceResponse: draw_trace,
    conflict_service_pb2.GetConflictResponse: lambda answer, view: draw_conflict(answer, Carriers(), view),
    conflict_service_pb2.ListConflictsResponse: draw_conflict_list,
    ingest_service_pb2.GetPlacementResponse: draw_placement,
    ingest_service_pb2.PreflightRememberResponse: draw_preflight,
    ingest_service_pb2.RememberResponse: draw_remembered,
    recall_service_pb2.RecallResponse: draw_recalled,
    recall_service_pb2.SearchEntitiesResponse: draw_entities,
}
EVERY_DRAWING = pytest.mark.parametrize(
    ("answer", "draw"), DRAWINGS.items(), ids=[answer.DESCRIPTOR.name for answer in DRAWINGS]
)
HOSTILE = "\x1b[31mx\x1b]0;t\x07\r\u202ey\x9b2J [red]z[/red]\n\U000e0041\u200b"
_STYLING = re.compile(r"\x1b\[[0-9;]*m")


def drawn(answer: Message, *, width: int = 80, colour: bool = False, view: View = UTC_VIEW) -> str:
    return rendered(DRAWINGS[type(answer)](neutralised(answer), view), width=width, colour=colour)


def put_into_every_text(message: Any, text: str) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            value[text] = text
        elif field.message_type is not None and not field.message_type.full_name.startswith("google."):
            for one in value if field.is_repeated else [value]:
                put_into_every_text(one, text)
        elif field.cpp_type == field.CPPTYPE_STRING and field.is_repeated:
            value[:] = [text for _ in value]
        elif field.cpp_type == field.CPPTYPE_STRING:
            setattr(message, field.name, text)


@EVERY_DRAWING
@pytest.mark.parametrize("width", [20, 100])
def test_hostile_texts_do_nothing_on_a_terminal(
    answer: type[Message], draw: Callable[[Any, View], Any], width: int
) -> None:
    message = filled(answer.DESCRIPTOR)
    put_into_every_text(message, HOSTILE)
    text = drawn(message, width=width, colour=True)
    plain = _STYLING.sub("", text)
    assert not [c for c in plain if unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c != "\n"]


@EVERY_DRAWING
def test_an_empty_answer_is_drawn_too(answer: type[Message], draw: Callable[[Any, View], Any]) -> None:
    assert drawn(answer()).strip()


@EVERY_DRAWING
def test_without_colour_there_is_no_escape(answer: type[Message], draw: Callable[[Any, View], Any]) -> None:
    assert "\x1b" not in drawn(filled(answer.DESCRIPTOR))


def relationship(name: str, **more: Any) -> relationship_pb2.Relationship:
    row = relationship_pb2.Relationship(
        relationship_id=f"id of {name}",
        predicate="deploys_from",
        status=relationship_pb2.RELATIONSHIP_STATUS_ACTIVE,
        polarity=relationship_pb2.POLARITY_POSITIVE,
        **more,
    )
    row.owner.name, row.subject.name, row.object.entity.name = "ada", "production", name
    return row


def at(*when: int) -> Any:
    return timestamp_of(datetime(*when, tzinfo=UTC))


@pytest.mark.parametrize(
    ("when", "zone", "shown"),
    [
        ((2026, 3, 1), "UTC", "2026-03-01"),
        ((2026, 3, 1), "Europe/Vienna", "2026-03-01 01:00"),
        ((2026, 2, 28, 23), "Europe/Vienna", "2026-03-01"),
        ((2026, 7, 1, 12, 30, 5), "Asia/Tokyo", "2026-07-01 21:30:05"),
    ],
)
def test_times_are_shown_in_the_zone_and_as_short_as_they_are_exact(
    when: tuple[int, ...], zone: str, shown: str
) -> None:
    assert time_text(at(*when), View(zone=ZoneInfo(zone), zone_name=zone)) == shown


@pytest.mark.parametrize(
    ("validity", "shown"),
    [
        (time_pb2.Validity(interval=time_pb2.Interval()), "since when is not known"),
        (time_pb2.Validity(interval=time_pb2.Interval(valid_from=at(2026, 3, 1))), "since 2026-03-01"),
        (time_pb2.Validity(interval=time_pb2.Interval(valid_to=at(2026, 3, 1))), "until 2026-03-01"),
        (
            time_pb2.Validity(interval=time_pb2.Interval(valid_from=at(2026, 3, 1), valid_to=at(2026, 5, 1))),
            "2026-03-01 → 2026-05-01",
        ),
        (time_pb2.Validity(closed_to_nothing=time_pb2.ClosedToNothing()), "at no time"),
        (
            time_pb2.Validity(closed_to_nothing=time_pb2.ClosedToNothing(at=at(2026, 3, 1))),
            "at no time (closed at 2026-03-01)",
        ),
    ],
)
def test_when_something_holds_in_words(validity: time_pb2.Validity, shown: str) -> None:
    assert validity_text(validity, UTC_VIEW) == shown


def test_a_placement_says_what_became_of_a_statement_and_what_can_be_done() -> None:
    answer = ingest_service_pb2.RememberResponse()
    one = answer.placement.relationships.add(outcome=placement_pb2.OUTCOME_HELD, rule="R4.10")
    one.relationship.CopyFrom(relationship("trunk"))
    one.conflict.CopyFrom(
        placement_pb2.PlacementConflict(
            effect=placement_pb2.CONFLICT_EFFECT_OPENS_CASE, conflict_id="c1", version=1, review_due_at=at(2026, 6, 8)
        )
    )
    one.item.item_id, one.item.version, one.item.reason = "i1", 1, "same_moment"
    one.actions.extend([placement_pb2.PLACEMENT_ACTION_ACCEPT, placement_pb2.PLACEMENT_ACTION_REJECT])
    text = drawn(answer)
    assert text.startswith("held  production deploys_from trunk\n")
    assert "opens conflict c1, version 1, decided by 2026-06-08" in text
    assert "item i1 version 1" in text
    assert "you can: accept, reject" in text


def test_recall_marks_what_a_reader_must_know_and_draws_the_conflict_below() -> None:
    answer = recall_service_pb2.RecallResponse(results_total=2, results_truncated=True)
    result = answer.results.add(rank=1)
    result.evidence.content = "production deploys from main"
    path = result.paths.add(marks=[result_pb2.PATH_MARK_DISPUTED, result_pb2.PATH_MARK_HELD_AGAINST])
    path.relationship.CopyFrom(relationship("main"))
    conflict = answer.conflicts.add(question="main or release?", status=conflict_case_pb2.CASE_STATUS_OPEN)
    for label, witnesses in (("main", 1), ("release", 2)):
        conflict.positions.add(label=label, counted_groups=witnesses, in_force=True)
    answer.degraded.append(result_pb2.DEGRADATION_SEARCH_BEHIND)
    text = drawn(answer)
    assert text.startswith("1. production deploys_from main  ⟨disputed⟩  ⟨held against⟩\n")
    assert "“production deploys from main”" in text
    assert "(results; --limit shows up to 50: 1 more)" in text
    assert re.search(r"release +2 +0 +in force", text)
    assert "the search lags behind" in text


def conflict_with(*labels: str) -> conflict_service_pb2.GetConflictResponse:
    answer = conflict_service_pb2.GetConflictResponse()
    answer.conflict.question = "production deploys from: which?"
    answer.conflict.next_review_at.CopyFrom(at(2026, 6, 2, 2))
    for label in labels:
        position = answer.conflict.positions.add(label=label, counted_groups=1, authoritative_groups=1)
        position.members.add(relationship_id=f"id of {label}").owner.name = f"owner of {label}"
    answer.conflict.positions_total = len(labels)
    return answer


def test_positions_stand_side_by_side_with_their_passages_and_the_next_review() -> None:
    answer = conflict_with("main", "release")
    trace = recall_service_pb2.TraceResponse()
    trace.evidence.add(fragment_id="f", content="so: main it is\x1b[2J").author.name = "ada"
    trace.supports.add(fragment_id="f").spans.add(fragment_id="f", start=4, end=8)
    carriers = Carriers(traces={"id of main": trace})
    text = rendered(draw_conflict(answer, carriers, UTC_VIEW), width=100)
    lines = text.splitlines()
    assert any(re.match(r"main +release", line) for line in lines)
    assert any(re.match(r"1 independent witness, 1 authoritative +1 independent witness", line) for line in lines)
    assert "“main”" in text
    assert "no longer counts" in text
    assert re.search(r"next review +2026-06-02 02:00", text)


def test_many_positions_stand_below_each_other() -> None:
    text = drawn(conflict_with(*"abcde"))
    assert [line for line in text.splitlines() if line in set("abcde")] == list("abcde")


def test_wide_characters_take_two_cells_so_that_columns_line_up() -> None:
    answer = recall_service_pb2.SearchEntitiesResponse()
    for name in ("東京タワー", "abc", "é́", "서울"):
        found = answer.entities.add()
        found.entity.name, found.entity.entity_kind = name, "KIND"
    starts = [cell_len(line.split("KIND")[0]) for line in drawn(answer).splitlines() if "KIND" in line]
    assert len(starts) == 4
    assert len(set(starts)) == 1


def test_the_report_of_a_load_says_what_was_placed_held_and_refused() -> None:
    report = LoadReport(lines=10, stored=8, without_statement=1, conflicts_opened=2)
    report.outcomes.update({"inserted": 4, "corroborated": 1, "held": 1, "pending evidence": 1})
    report.refused.update({"INVALID_FIELD": 2})
    report.problems += [(9, "INVALID_FIELD: b"), (3, "INVALID_FIELD: a\x1b")]
    text = rendered(draw_report(report))
    assert text.startswith("10 lines: 8 stored, 2 failed")
    assert re.search(r"placed +5 +corroborated 1, inserted 4", text)
    assert re.search(r"held: you are asked +1 +held 1", text)
    assert text.index("line 3: INVALID_FIELD: a␛") < text.index("line 9")
    assert "2 conflicts opened" in text
    assert "the same command goes on" not in text
    assert "the same command goes on" in rendered(draw_report(report, finished=False))


def test_markup_of_the_drawing_library_is_text_like_any_other() -> None:
    answer = recall_service_pb2.SearchEntitiesResponse()
    answer.entities.add().entity.name = "[red]a[/red] [link=x]b :smile:"
    assert "[red]a[/red] [link=x]b :smile:" in drawn(answer, colour=True)


def valued(start: tuple[int, ...] | None, end: tuple[int, ...] | None, **more: Any) -> Any:
    row = relationship_in_view_pb2.RelationshipInView(**more)
    row.relationship.CopyFrom(relationship("main"))
    interval = row.relationship.validity.interval
    interval.SetInParent()
    if start:
        interval.valid_from.CopyFrom(at(*start))
    if end:
        interval.valid_to.CopyFrom(at(*end))
    return row


def january(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


TEN_DAYS = Axis(begin=january(1), end=january(11), width=10)


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        (valued((2026, 1, 3), (2026, 1, 6), in_force=True), "  ███  │  "),
        (valued((2026, 1, 3), None), "  ░░░░░░░▸"),
        (valued(None, (2026, 1, 4)), "◂░░    │  "),
        (valued(None, None, in_force=True), "◂████████▸"),
        (valued((2026, 1, 3), (2026, 1, 3, 1)), "  ░    │  "),
        (valued((2026, 1, 3), None, event=True, in_force=True), "  ◆    │  "),
    ],
)
def test_a_value_is_a_bar_over_the_time_that_it_holds(row: Any, cells: str) -> None:
    assert bar(row, TEN_DAYS, january(8)).plain == cells


def test_what_holds_at_no_time_has_no_bar() -> None:
    row = relationship_in_view_pb2.RelationshipInView()
    row.relationship.validity.closed_to_nothing.at.CopyFrom(at(2026, 1, 3))
    assert bar(row, TEN_DAYS, january(8)).plain == "  ×    │  "


def test_the_axis_goes_from_the_first_known_instant_beyond_the_last() -> None:
    axis = axis_of([valued((2026, 1, 3), None), valued(None, (2026, 1, 13))], january(8), 20)
    assert (axis.begin, axis.column(january(3))) == (january(3), 0)
    assert axis.end > january(13)
    # One instant alone still has an axis.
    assert axis_of([], january(8), 20).column(january(8)) == 0


def test_a_timeline_groups_by_slot_and_shows_the_second_axis_on_demand() -> None:
    answer = recall_service_pb2.TimelineResponse(valid_at=at(2026, 1, 8), total=2)
    for scope in ("", "edge"):
        entry = answer.entries.add(versions_total=1)
        entry.relationship.CopyFrom(valued((2026, 1, 3), None, in_force=True))
        entry.relationship.relationship.scope = scope
        entry.versions.add(version=1, recorded_from=at(2026, 1, 4), reason="placement")
    text = rendered(draw_timeline(answer, UTC_VIEW))
    assert [line for line in text.splitlines() if line.startswith("production")] == [
        "production deploys_from",
        "production deploys_from [edge]",
    ]
    assert "1 version" in text
    assert "v1 known 2026-01-04 → now" not in text
    assert "v1 known 2026-01-04 → now" in rendered(draw_timeline(answer, UTC_VIEW, versions=True))
    assert max(map(cell_len, text.splitlines())) <= 80


def test_a_question_shows_what_each_answer_would_change() -> None:
    item = review_item_pb2.ReviewItem(item_id="i", version=2, question="Which holds: trunk, main?", previews_total=2)
    item.incoming.add().CopyFrom(relationship("trunk"))
    preview = item.previews.add(action=decision_pb2.DECISION_KIND_KEEP_NEW, relationship_id="id of trunk")
    change = preview.changes.add()
    change.before.CopyFrom(relationship("main"))
    change.after.CopyFrom(relationship("main"))
    change.after.status = relationship_pb2.RELATIONSHIP_STATUS_SUPERSEDED
    item.previews.append(
        resolution_pb2.ResolutionPreview(action=decision_pb2.DECISION_KIND_KEEP_BOTH, refused="START_NEEDED")
    )
    text = drawn(item)
    assert re.search(r"keep new trunk +main: active → superseded", text)
    assert re.search(r"keep both +refused: START_NEEDED", text)


def test_an_explanation_names_what_is_missing_and_what_would_change_it() -> None:
    answer = conflict_service_pb2.ExplainConflictResponse()
    answer.conflict.positions.add(position_id="p", label="main")
    told = answer.explanation
    told.decision.outcome, told.decision.reason = case_explanation_pb2.CASE_OUTCOME_KEEP_OPEN, "before_deadline"
    reading = told.rules.add(rule="early_quorum", position_id="p", missing_total=1)
    reading.conditions.add(
        quantity="witnesses",
        relation=case_explanation_pb2.CONDITION_RELATION_AT_LEAST,
        counts=case_explanation_pb2.ComparedCounts(measured=1, required=4),
    )
    told.one_more_witness.add(position_id="p")
    text = drawn(answer, width=120)
    assert "keep open (before deadline)" in text
    assert re.search(r"early quorum +main +no +witnesses: 1, needs at least 4", text)
    assert re.search(r"one more independent witness for main +no change +no change", text)


def test_what_must_be_copied_is_never_broken() -> None:
    answer = conflict_service_pb2.ListReviewRunsResponse(next_page_token="t" * 300)
    answer.runs.add(run_id="r")
    assert "--page-token " + "t" * 300 in drawn(answer)
