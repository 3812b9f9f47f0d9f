"""Cases follow the state that a change leaves: they open, are joined, are refreshed, and a look closes them."""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from corrigenda_core.domain.actors import Actor, ActorKind
from corrigenda_core.domain.cases import CaseAction, CaseKind, CaseStatus, ConflictCase
from corrigenda_core.domain.changes import Changes
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, StartWindow, Support
from corrigenda_core.domain.ids import (
    ConflictId,
    EntityId,
    FragmentId,
    IdRange,
    PredicateKey,
    ProfileId,
    ReferenceId,
    RelationshipId,
    StatementId,
    SupportId,
)
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import CrossReference, ReferenceKind, Relationship, Status
from corrigenda_core.domain.slots import CaseView, PlanContext, SlotView
from corrigenda_core.domain.snapshots import Dismiss, Resolve
from corrigenda_core.domain.submissions import ConflictContext
from corrigenda_core.domain.team import TeamPolicy
from corrigenda_core.domain.time import ClosedToNothing, Instant, Interval, Moment, TimeBasis, WholeInterval
from corrigenda_core.policy.case_effects import may_answer_case, plan_case_effects
from corrigenda_core.policy.case_questions import decide_question
from corrigenda_core.policy.case_review import (
    ReviewPlan,
    decide_ahead,
    decide_staying,
    plan_case_alert,
    plan_case_review,
)
from corrigenda_core.policy.case_side import plan_referred_side
from corrigenda_core.policy.references import plan_references
from corrigenda_core.policy.view_changes import with_neighbour
from hypothesis import given
from hypothesis import strategies as st

SLOT = Slot(subject_id=EntityId("production"), predicate=PredicateKey("deploys_from"))
PREDICATE = Predicate(key=PredicateKey("deploys_from"))
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def day(text: str) -> Instant:
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=UTC)


NOW = day("06-01")


def context(revision: int = 10, at: Instant = NOW, owner: str = "b") -> PlanContext:
    return PlanContext(
        moment=Moment(revision=revision, at=at),
        ids=IdRange(base=uuid.UUID(f"00000000-0000-7000-8000-{revision:04x}00000000")),
        actor=Actor(kind=ActorKind.PROFILE, profile_id=ProfileId(owner)),
        policy=TeamPolicy(),
    )


def row(
    name: str,
    owner: str,
    value: str,
    start: Instant | None = None,
    end: Instant | None = None,
    *,
    status: Status = Status.ACTIVE,
    polarity: str = "+",
    exclusive: bool = True,
    event: bool = False,
    record: bool = False,
    slot: Slot = SLOT,
) -> Relationship:
    return Relationship(
        relationship_id=RelationshipId(name),
        version=1,
        owner_id=ProfileId(owner),
        slot=slot,
        object=EntityObject(entity_id=EntityId(value)),
        polarity=Polarity(polarity),
        validity=Interval(start=start, end=end),
        start_basis=TimeBasis.EVIDENCE_TIME if start else TimeBasis.RECORDED_FALLBACK,
        status=status,
        record=record,
        slot_exclusive=exclusive and not event,
        event=event,
        revision=1,
        recorded_at=BEGINNING,
        first_recorded_at=BEGINNING,
    )


def support(of: Relationship, *, number: int = 1, time: Instant | None = None, authority: str = "primary") -> Support:
    name = f"{of.relationship_id}-{number}"
    return Support(
        support_id=SupportId(f"s-{name}"),
        fragment_id=FragmentId(f"f-{name}"),
        author=of.owner_id,
        recorded_at=BEGINNING,
        authority=Authority(authority),
        content_hash=name,
        relationship_id=of.relationship_id,
        evidence_time=None
        if time is None
        else StartWindow(whole=WholeInterval(start=time, end=time + timedelta(days=1))),
    )


def view(rows: Iterable[Relationship], supports: Iterable[Support] | None = None) -> SlotView:
    rows = tuple(rows)
    return SlotView(
        slot=SLOT,
        predicate=PREDICATE,
        rows=rows,
        supports=tuple(support(one) for one in rows) if supports is None else tuple(supports),
    )


MAIN = row("r1", "a", "main")
RELEASE = row("r2", "b", "release", day("03-01"))


HAPPENED = row("r1", "a", "main", day("03-01"), event=True)


def denied(start: Instant | None) -> Relationship:
    return row("r2", "b", "main", start, polarity="-", event=True)


def opened(state: SlotView) -> ConflictCase:
    (case,) = plan_case_effects(state, context()).cases
    return case


@pytest.mark.rule("R7.1")
@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        pytest.param([MAIN, RELEASE], CaseKind.CURRENT_STATE, id="two owners, two values"),
        pytest.param([MAIN, row("r2", "b", "main", polarity="-")], CaseKind.POLARITY, id="one value denied"),
        pytest.param([row("r1", "a", "x", status=Status.COMPETING), RELEASE], CaseKind.CURRENT_STATE, id="competing"),
        pytest.param([MAIN, row("r2", "b", "release", day("09-01"))], CaseKind.CURRENT_STATE, id="later, still common"),
        pytest.param([MAIN, row("r2", "a", "release")], None, id="one owner's own matter"),
        pytest.param([MAIN, row("r2", "b", "main")], None, id="the same value"),
        pytest.param([row("r1", "a", "x", end=day("05-01")), RELEASE], None, id="ended before now"),
        pytest.param([row("r1", "a", "x", end=day("09-01")), row("r2", "b", "y", day("09-01"))], None, id="touching"),
        pytest.param([row("r1", "a", "x", status=Status.SUPERSEDED), RELEASE], None, id="superseded takes no part"),
        pytest.param([row("r1", "a", "x", exclusive=False), RELEASE], None, id="many values may hold"),
        pytest.param([HAPPENED, denied(day("03-01"))], CaseKind.POLARITY, id="an event denied"),
        pytest.param([HAPPENED, denied(day("03-02"))], None, id="an event of another day"),
        pytest.param([HAPPENED, denied(None)], None, id="an event of an unknown day"),
        pytest.param(
            [MAIN, row("r2", "b", "release", slot=replace(SLOT, scope="eu"))], None, id="another scope is another slot"
        ),
    ],
)
def test_a_case_opens_where_two_owners_exclude_each_other(rows: list[Relationship], kind: CaseKind | None) -> None:
    effects = plan_case_effects(view(rows), context())
    assert [case.set_key.kind for case in effects.cases] == ([] if kind is None else [kind])
    assert [event.action for event in effects.events] == ([] if kind is None else [CaseAction.OPENED])


@pytest.mark.rule("R7.1")
def test_an_unsupported_relationship_opens_nothing() -> None:
    assert plan_case_effects(view([MAIN, RELEASE], [support(MAIN)]), context()).cases == ()


@pytest.mark.rule("R7.6")
def test_an_opened_case_has_its_deadline_positions_and_members() -> None:
    case = opened(view([MAIN, RELEASE]))
    assert (case.version, case.status, case.opened_at) == (1, CaseStatus.OPEN, NOW)
    assert case.review_due_at == NOW + timedelta(days=7)
    assert [(p.key, [m.relationship_id for m in p.members], p.counted_groups) for p in case.positions] == [
        ("entity:main", ["r1"], 1),
        ("entity:release", ["r2"], 1),
    ]


@pytest.mark.rule("R7.3")
def test_the_next_case_of_a_set_key_names_the_closed_one() -> None:
    first = opened(view([MAIN, RELEASE]))
    state = replace(view([MAIN, RELEASE]), closed_cases=((first.set_key, ConflictId("before")),))
    assert opened(state).previous_conflict_id == "before"


@pytest.mark.rule("R7.1")
def test_a_reference_that_excludes_nothing_opens_a_case_of_its_own_kind() -> None:
    rows = [row("r1", "a", "main", exclusive=False), row("r2", "b", "release", exclusive=False)]
    reference = CrossReference(
        reference_id=ReferenceId("x"),
        kind=ReferenceKind.CORRECTS,
        source_id=RelationshipId("r2"),
        target_id=RelationshipId("r1"),
    )
    case = opened(replace(view(rows), references=(reference,)))
    assert case.set_key.kind is CaseKind.REFERENCE
    assert [(p.key, p.members[0].relationship_id) for p in case.positions] == [("corrected", "r2"), ("recorded", "r1")]
    confirms = replace(reference, kind=ReferenceKind.CONFIRMS)
    switched_off = replace(reference, active=False)
    for other in (confirms, switched_off):
        assert plan_case_effects(replace(view(rows), references=(other,)), context()).cases == ()


@pytest.mark.rule("R7.5", "R7.8")
def test_a_case_follows_its_members_and_nothing_else() -> None:
    state = view([MAIN, RELEASE])
    case = opened(state)
    answer = row("r3", "c", "release")
    later = context(11, NOW + timedelta(days=1), "c")

    def next_of(changed: SlotView) -> tuple[ConflictCase, CaseAction] | None:
        effects = plan_case_effects(replace(changed, cases=(case,)), later)
        return (effects.cases[0], effects.events[0].action) if effects.cases else None

    assert next_of(state) is None
    joined = next_of(view([MAIN, RELEASE, answer]))
    assert joined is not None
    assert (joined[0].version, joined[1]) == (2, CaseAction.JOINED)
    assert joined[0].review_due_at == case.review_due_at
    assert [p.position_id for p in joined[0].positions] == [p.position_id for p in case.positions]
    assert [p.counted_groups for p in joined[0].positions] == [1, 2]

    more_support = next_of(view([MAIN, RELEASE], [support(MAIN), support(RELEASE), support(RELEASE, number=2)]))
    assert more_support is not None
    assert (more_support[0].version, more_support[1]) == (2, CaseAction.REFRESHED)

    new_version = next_of(view([MAIN, replace(RELEASE, version=2)]))
    assert new_version is not None
    assert new_version[0].positions[1].members[0].version == 2

    retracted = next_of(view([replace(MAIN, version=2, status=Status.RETRACTED), RELEASE]))
    assert retracted is not None
    assert retracted[0].status is CaseStatus.OPEN
    assert [(p.key, len(p.members)) for p in retracted[0].positions] == [("entity:main", 0), ("entity:release", 1)]


@pytest.mark.rule("R7.7")
@pytest.mark.parametrize(
    ("version", "status", "same_key", "reason"),
    [
        (None, CaseStatus.OPEN, True, None),
        (1, CaseStatus.OVERDUE, True, None),
        (2, CaseStatus.OPEN, True, Reason.CONFLICT_VERSION_STALE),
        (1, CaseStatus.RESOLVED, True, Reason.CONFLICT_VERSION_STALE),
        (1, CaseStatus.OPEN, False, Reason.NOT_IN_CONFLICT),
    ],
)
def test_an_answer_needs_the_live_case_its_version_and_its_subject(
    version: int | None, status: CaseStatus, same_key: bool, reason: Reason | None
) -> None:
    case = replace(opened(view([MAIN, RELEASE])), status=status)
    keys = [case.set_key if same_key else replace(case.set_key, scope="eu")]
    answer = ConflictContext(conflict_id=case.conflict_id, expected_version=version)
    if reason is None:
        may_answer_case(case, keys, answer)
        return
    with pytest.raises(Refusal) as refused:
        may_answer_case(case, keys, answer)
    assert refused.value.reason is reason


@pytest.mark.rule("R7.2")
@pytest.mark.parametrize(
    ("mine", "other", "named", "kind"),
    [
        pytest.param(RELEASE, MAIN, False, ReferenceKind.CORRECTS, id="known start against none"),
        pytest.param(RELEASE, row("r1", "a", "main", day("01-01")), False, ReferenceKind.CORRECTS, id="later start"),
        pytest.param(RELEASE, row("r1", "a", "main", day("04-01")), False, ReferenceKind.CHALLENGES, id="earlier"),
        pytest.param(row("r2", "b", "release"), MAIN, False, ReferenceKind.CHALLENGES, id="no start at all"),
        pytest.param(row("r2", "b", "release"), MAIN, True, ReferenceKind.CORRECTS, id="named"),
        pytest.param(row("r2", "b", "main"), MAIN, False, ReferenceKind.CONFIRMS, id="same value"),
        pytest.param(RELEASE, row("r1", "a", "x", end=day("05-01")), False, None, id="ended before now"),
        pytest.param(RELEASE, row("r1", "b", "main"), True, None, id="one's own row is no other's"),
        pytest.param(
            replace(HAPPENED, relationship_id=RelationshipId("r2"), owner_id=ProfileId("b")),
            HAPPENED,
            False,
            ReferenceKind.CONFIRMS,
            id="the same event",
        ),
        pytest.param(row("r2", "b", "main", day("03-02"), event=True), HAPPENED, False, None, id="another day's event"),
    ],
)
def test_a_placement_refers_to_what_others_say(
    mine: Relationship, other: Relationship, named: bool, kind: ReferenceKind | None
) -> None:
    targets = {mine.relationship_id: other} if named else {}
    references = plan_references(view([mine, other]), [mine], context(), targets)
    assert [(r.kind, r.source_id, r.target_id) for r in references] == ([] if kind is None else [(kind, "r2", "r1")])
    again = replace(view([mine, other]), references=references)
    assert plan_references(again, [mine], context(), targets) == ()


def case_view(state: SlotView, case: ConflictCase) -> CaseView:
    carried = tuple((row.relationship_id, StatementId(f"o-{row.relationship_id}")) for row in state.rows)
    return CaseView(case=case, rows=state.rows, supports=state.supports, carried=carried)


def look(rows: Iterable[Relationship], supports: Iterable[Support], at: Instant) -> tuple[ConflictCase, ReviewPlan]:
    state = view(rows, supports)
    case = opened(state)
    return case, plan_case_review(case_view(state, case), context(12, at))


ANSWER = row("r3", "c", "release")
THREE = [MAIN, RELEASE, ANSWER]
THREE_SUPPORTS = [support(MAIN), support(RELEASE, time=day("03-01")), support(ANSWER)]


@pytest.mark.rule("R7.12", "R7.15", "R7.16")
def test_at_the_deadline_the_majority_wins_and_only_the_loser_is_closed() -> None:
    case, plan = look(THREE, THREE_SUPPORTS, NOW + timedelta(days=7))
    (loser,) = plan.changes.relationships
    (transition,) = plan.changes.transitions
    (resolved,) = plan.changes.cases
    assert (loser.relationship_id, loser.status, loser.version) == ("r1", Status.SUPERSEDED, 2)
    assert loser.validity == Interval(end=day("03-01"))
    assert loser.end_basis is TimeBasis.EVIDENCE_TIME
    assert transition.closing is not None
    assert (transition.closing.at, transition.closing.conditional) == (day("03-01"), False)
    assert transition.closing.statement_ids == ("o-r1",)
    assert (resolved.status, resolved.version, resolved.resolution_reason) == (
        CaseStatus.RESOLVED,
        case.version + 1,
        "due_majority",
    )
    assert resolved.preferred_position_id == case.positions[1].position_id
    (event,) = plan.changes.case_events
    assert (event.action, event.time_basis) == (CaseAction.RESOLVED, TimeBasis.EVIDENCE_TIME)
    untouched = replace(plan.changes, relationships=(), transitions=(), cases=(), case_events=())
    assert untouched == type(plan.changes)()


@pytest.mark.rule("R7.15")
def test_a_loser_that_begins_after_the_cutoff_is_closed_to_nothing() -> None:
    late = row("r1", "a", "main", day("05-01"))
    _, plan = look([late, RELEASE, ANSWER], [support(late), *THREE_SUPPORTS[1:]], NOW + timedelta(days=7))
    assert plan.changes.relationships[0].validity == ClosedToNothing(at=day("05-01"))


@pytest.mark.rule("R7.13")
def test_before_the_deadline_a_majority_changes_nothing() -> None:
    _, plan = look(THREE, THREE_SUPPORTS, NOW + timedelta(days=6))
    assert plan.changes == type(plan.changes)()


@pytest.mark.rule("R7.13")
def test_without_a_winner_the_case_becomes_overdue_once() -> None:
    state = view([MAIN, RELEASE])
    case = opened(state)
    plan = plan_case_review(case_view(state, case), context(12, NOW + timedelta(days=7)))
    (overdue,) = plan.changes.cases
    assert (overdue.status, overdue.version, overdue.preferred_position_id) == (CaseStatus.OVERDUE, 1, None)
    assert [event.action for event in plan.changes.case_events] == [CaseAction.MARKED_OVERDUE]
    again = plan_case_review(case_view(state, overdue), context(13, NOW + timedelta(days=8)))
    assert again.changes == type(again.changes)()


@pytest.mark.rule("R7.10")
def test_a_case_without_a_disagreement_is_dismissed_at_a_look() -> None:
    case = opened(view([MAIN, RELEASE]))
    retracted = replace(MAIN, version=2, status=Status.RETRACTED)
    state = view([retracted, RELEASE], [replace(support(MAIN), effective=False), support(RELEASE)])
    plan = plan_case_review(case_view(state, case), context(12))
    (dismissed,) = plan.changes.cases
    assert (dismissed.status, dismissed.version) == (CaseStatus.DISMISSED, 2)
    assert plan.changes.relationships == ()


@pytest.mark.rule("R7.8", "R7.10")
def test_a_member_that_time_has_ended_leaves_at_the_look_and_loses_nothing() -> None:
    """Its own end stays what it is: a case about the present closes no past."""
    ended = row("r1", "a", "main", end=day("06-04"))
    case, plan = look([ended, RELEASE, ANSWER], [support(ended), *THREE_SUPPORTS[1:]], NOW + timedelta(days=7))
    (dismissed,) = plan.changes.cases
    assert (dismissed.status, dismissed.version) == (CaseStatus.DISMISSED, case.version + 1)
    assert [len(position.members) for position in dismissed.positions] == [0, 2]
    assert plan.changes.relationships == ()


@pytest.mark.rule("R7.5", "R7.8")
def test_a_case_that_goes_on_without_a_member_rises_by_one_version() -> None:
    ended = row("r3", "c", "trunk", end=day("06-04"))
    rows = [MAIN, RELEASE, ended]
    case, plan = look(rows, [support(one) for one in rows], NOW + timedelta(days=4))
    (followed,) = plan.changes.cases
    assert (followed.status, followed.version) == (CaseStatus.OPEN, case.version + 1)
    assert {p.key: [m.relationship_id for m in p.members] for p in followed.positions} == {
        MAIN.object.key: ["r1"],
        RELEASE.object.key: ["r2"],
        ended.object.key: [],
    }
    assert [event.action for event in plan.changes.case_events] == [CaseAction.REFRESHED]
    # It has followed: the next look finds nothing to do, and at the deadline one version says both.
    again = plan_case_review(case_view(view(rows), followed), context(13, NOW + timedelta(days=5)))
    assert again.changes == type(again.changes)()
    _, late = look(rows, [support(one) for one in rows], NOW + timedelta(days=8))
    (overdue,) = late.changes.cases
    assert (overdue.status, overdue.version) == (CaseStatus.OVERDUE, case.version + 1)
    assert [event.action for event in late.changes.case_events] == [CaseAction.REFRESHED, CaseAction.MARKED_OVERDUE]


ENDED = row("r3", "c", "trunk", end=day("06-04"))
MOVED = replace(RELEASE, version=2, validity=Interval(start=day("03-01"), end=day("12-01")))


@pytest.mark.parametrize("at", [day("06-02"), day("06-07"), day("06-08"), day("06-12")], ids=str)
@pytest.mark.parametrize("earlier", [NOW, day("06-03"), day("06-05"), day("06-08")], ids=str)
@pytest.mark.parametrize(
    ("rows", "now"),
    [
        pytest.param(THREE, THREE, id="won at the deadline"),
        pytest.param([MAIN, RELEASE], [MAIN, RELEASE], id="nobody wins"),
        pytest.param([MAIN, RELEASE, ENDED], [MAIN, RELEASE, ENDED], id="a member ends"),
        pytest.param(THREE, [MAIN, MOVED, ANSWER], id="a member has moved"),
    ],
)
def test_what_was_decided_ahead_is_what_the_look_decides(
    rows: list[Relationship], now: list[Relationship], earlier: Instant, at: Instant
) -> None:
    """Whatever lies between the two instants: the deadline, or the end of a member."""
    seen = case_view(view(now), opened(view(rows)))
    ahead = decide_ahead(seen, min(earlier, at))
    plan = plan_case_review(seen, context(12, at))
    assert plan_case_review(seen, context(12, at), ahead=ahead) == plan
    closing = isinstance(plan.evaluation.decision, Resolve | Dismiss)
    if ahead is not None and earlier == at:
        assert ahead.closes == closing
    assert (ahead is None) == (MOVED in now or (ENDED in now and min(earlier, at) >= day("06-04")))


@pytest.mark.rule("R7.5", "R7.8")
def test_a_member_at_a_later_version_makes_a_version_of_its_case() -> None:
    case = opened(view(THREE))
    plan = plan_case_review(case_view(view([MAIN, MOVED, ANSWER]), case), context(12))
    (followed,) = plan.changes.cases
    assert (followed.status, followed.version) == (CaseStatus.OPEN, case.version + 1)
    versions = {m.relationship_id: m.version for position in followed.positions for m in position.members}
    assert versions == {"r1": 1, "r2": 2, "r3": 1}


@pytest.mark.rule("R7.20")
def test_who_has_ended_by_an_instant_is_not_among_those_who_stay() -> None:
    ended = row("r1", "a", "main", end=day("06-04"))
    rows = [ended, RELEASE, ANSWER]
    case = opened(view(rows))
    for at, members in ((NOW, [1, 2]), (day("06-04"), [0, 2])):
        staying = decide_staying(case_view(view(rows), case), at)
        assert [len(position.members) for position in staying.case.positions] == members
        assert [position.key for position in staying.case.positions] == [position.key for position in case.positions]


@pytest.mark.rule("R7.18")
def test_an_alert_tells_that_looks_fail_and_changes_nothing() -> None:
    case = opened(view([MAIN, RELEASE]))
    changes = plan_case_alert(case, context(12), "independent-sources/1")
    (event,) = changes.case_events
    assert (event.action, event.reason, event.policy_version) == (
        CaseAction.ALERTED,
        "attempts_exhausted",
        "independent-sources/1",
    )
    assert (event.prior_status, event.resulting_status, event.version) == (case.status, case.status, case.version)
    assert changes == type(changes)(case_events=(event,))


@pytest.mark.rule("R7.8")
def test_what_a_resolution_ends_leaves_the_other_cases_that_it_was_in() -> None:
    denial = row("r4", "d", "main", polarity="-")
    state = view([*THREE, denial])
    about = {case.set_key.kind: case for case in plan_case_effects(state, context()).cases}
    denied = case_view(state, about[CaseKind.POLARITY])
    at = context(12, NOW + timedelta(days=7))
    plan = plan_case_review(case_view(state, about[CaseKind.CURRENT_STATE]), at, [denied])
    resolved, followed = plan.changes.cases
    assert (resolved.status, followed.status) == (CaseStatus.RESOLVED, CaseStatus.OPEN)
    assert (followed.conflict_id, followed.version) == (denied.case.conflict_id, denied.case.version + 1)
    assert {p.key: [m.relationship_id for m in p.members] for p in followed.positions} == {"+": [], "-": ["r4"]}
    assert len({event.event_id for event in plan.changes.case_events}) == 2


@pytest.mark.rule("R7.8")
def test_a_case_that_loses_nobody_stays_as_it_is() -> None:
    state, apart = view(THREE), view([row("r5", "e", "beta"), row("r6", "f", "beta", polarity="-")])
    (case,), (other,) = (plan_case_effects(each, context()).cases for each in (state, apart))
    at = context(12, NOW + timedelta(days=7))
    alone = plan_case_review(case_view(state, case), at)
    assert plan_case_review(case_view(state, case), at, [case_view(apart, other)]) == alone


ROWS = st.lists(
    st.builds(
        row,
        name=st.integers(0, 99).map(lambda n: f"r{n:02}"),
        owner=st.sampled_from("abc"),
        value=st.sampled_from(["x", "y", "z"]),
        start=st.sampled_from([None, day("03-01"), day("08-01")]),
        end=st.sampled_from([None, day("09-01")]),
        polarity=st.sampled_from("+-"),
        status=st.sampled_from([Status.ACTIVE, Status.COMPETING, Status.SUPERSEDED, Status.RETRACTED]),
    ),
    max_size=7,
    unique_by=lambda one: one.relationship_id,
)


@pytest.mark.rule("R7.3", "R7.5")
@given(rows=ROWS, data=st.data())
def test_cases_depend_on_the_state_alone_and_settle_at_once(rows: list[Relationship], data: st.DataObject) -> None:
    state = view(rows)
    effects = plan_case_effects(state, context())
    shuffled = data.draw(st.permutations(rows))
    assert plan_case_effects(view(shuffled, state.supports), context()) == effects
    keys = [case.set_key for case in effects.cases]
    assert len(keys) == len(set(keys))
    assert plan_case_effects(replace(state, cases=effects.cases), context(11)).cases == ()


@pytest.mark.parametrize(
    ("kind", "scope", "positions", "question"),
    [
        (CaseKind.CURRENT_STATE, "", ["main", "release"], "production deploys from: main or release?"),
        (CaseKind.CURRENT_STATE, "eu", ["a", "b", "c"], "production deploys from (eu): a, b or c?"),
        (CaseKind.POLARITY, "", [], "production deploys from main: is it so or not?"),
        (
            CaseKind.REFERENCE,
            "",
            ["main", "release"],
            "production deploys from: is what is recorded right, or what corrects it (main or release)?",
        ),
        (CaseKind.CURRENT_STATE, "", ["one"], "production deploys from: one?"),
        (CaseKind.CURRENT_STATE, "", [], "production deploys from: nothing?"),
    ],
)
def test_a_question_is_asked_in_names(kind: CaseKind, scope: str, positions: list[str], question: str) -> None:
    asked = decide_question(
        kind, subject="production", predicate="deploys_from", scope=scope, positions=positions, object_name="main"
    )
    assert asked == question


def test_a_question_counts_the_positions_that_it_does_not_name() -> None:
    asked = decide_question(
        CaseKind.CURRENT_STATE, subject="x", predicate="is", scope="", positions=[str(n) for n in range(12)]
    )
    assert asked.endswith("8, 9 or one of 2 more?")


@pytest.mark.rule("R7.1", "R7.3")
def test_a_correction_from_another_slot_opens_its_case_where_the_corrected_one_lies() -> None:
    staging = Slot(subject_id=EntityId("staging"), predicate=SLOT.predicate)
    said = row("r9", "b", "main", slot=staging)
    reference = CrossReference(
        reference_id=ReferenceId("x"),
        kind=ReferenceKind.CORRECTS,
        source_id=said.relationship_id,
        target_id=MAIN.relationship_id,
    )
    placed = Changes(relationships=(said,), supports=(support(said),), references=(reference,))
    (case,) = plan_referred_side(view([MAIN]), said, placed, context()).cases
    assert (case.set_key.kind, case.set_key.slot) == (CaseKind.REFERENCE, SLOT)
    assert {p.key: [m.relationship_id for m in p.members] for p in case.positions} == {
        "recorded": ["r1"],
        "corrected": ["r9"],
    }
    beside = replace(
        view([said]), slot=staging, rows_beside=(MAIN,), supports_beside=(support(MAIN),), references=(reference,)
    )
    assert plan_case_effects(beside, context()).cases == ()
    # What stands beside a slot follows the changes of its own, and nothing else of these comes in.
    ended = replace(MAIN, version=2, validity=Interval(end=day("09-01")))
    followed = with_neighbour(beside, SLOT, Changes(relationships=(ended, RELEASE)))
    assert followed.rows_beside == (ended,)
