"""Random commands to two teams, for any twin that carries them out; after each, what must hold of every team holds.

A twin answers a command as the model does: in memory it is the model alone, over the wire it is a running system beside
the model, and it compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from corrigenda_core.domain.cases import ConflictCase
from corrigenda_core.domain.evidence import Authority
from corrigenda_core.domain.ids import DecisionId, ProfileId
from corrigenda_core.domain.items import ItemKind, ItemStatus, ReviewItem
from corrigenda_core.domain.objects import EntityObject, Polarity, Slot
from corrigenda_core.domain.relationships import LIVING_STATUSES, Relationship
from corrigenda_core.domain.resolutions import DecisionKind, KeepBoth, KeepExisting, KeepNew, Resolution
from corrigenda_core.domain.sources import (
    AnyProfile,
    AuthoritativeFor,
    EveryPredicate,
    OnlyPredicates,
    OnlyProfiles,
    RegisteredSource,
)
from corrigenda_core.domain.submissions import ConflictContext
from corrigenda_core.domain.time import Instant, Moment
from corrigenda_core.domain.views import Known, KnownAt, KnownAtRevision, TemporalSelector
from corrigenda_core.testing.team_invariants import require_sound
from corrigenda_core.testing.team_twin import PREDICATES, PROFILES, SUBJECTS, VALUES, Twin, Utterance

_Thing = TypeVar("_Thing")

_TIMES = (
    "since 1 March 2026 ",
    "since 1 April 2026 ",
    "since May 2026 ",
    "until 1 May 2026 ",
    "from 1 March 2026 to 1 May 2026 ",
    "since 1 July 2026 ",
)
_REPEATED = "as ever, {0}"
_FORMS = ("{0}", "our checklist confirms: {0}", _REPEATED)
_DENIAL = "it is not true that {0}"
_SOURCES = ("handbook", "wiki")
_GROUPS = ("build log", "minutes")


# Nobody takes these back: what settles is no decision of a profile, and identity is corrected by another correction.
_NEVER_TAKEN_BACK = {DecisionKind.SETTLE, DecisionKind.SPLIT_ENTITY, DecisionKind.MERGE_ENTITIES}

_PICK = st.integers(min_value=0, max_value=10_000)
_WHO = st.sampled_from(PROFILES)
_UTTERANCES = st.fixed_dictionaries(
    {
        "subject": st.sampled_from((SUBJECTS[0], SUBJECTS[0], SUBJECTS[1])),
        "predicate": st.sampled_from([PREDICATES[0].key, *(one.key for one in PREDICATES)]),
        "value": st.sampled_from(VALUES),
        "time": st.sampled_from(("", "", *_TIMES)),
        "form": st.sampled_from(_FORMS),
        "denied": st.sampled_from((False, False, False, False, True)),
        "scope": st.sampled_from(("", "", "", "", "europe")),
        "stated": st.sampled_from((None, None, None, (2, None), (4, None), (3, 5), (None, 4))),
        "seen": st.sampled_from((None, None, 1, 5)),
        "group": st.sampled_from((None, None, None, *_GROUPS)),
        "authority": st.sampled_from((Authority.UNKNOWN, Authority.UNKNOWN, Authority.AUTHORITATIVE)),
    }
)


def _has_rows(machine: Any) -> bool:
    return bool(rows_of(machine.twins[0]))


def _has_living_rows(machine: Any) -> bool:
    return bool(_living(machine.twins[0]))


def _has_live_cases(machine: Any) -> bool:
    return bool(_live_cases(machine.twins[0]))


def _has_questions(machine: Any) -> bool:
    return bool(_questions(machine.twins[0]))


def _has_decisions(machine: Any) -> bool:
    return bool(_decisions(machine.twins[0]))


class TeamMachine(RuleBasedStateMachine):
    """The commands; every one is sent to one of two teams, of which the other must not notice.

    Args:
        twin: makes a team.
    """

    def __init__(self, twin: Callable[[], Twin]) -> None:
        super().__init__()
        self._new_twin = twin
        self.twins: list[Twin] = []
        self._notes = self._repeated_at = self._reviewed_at = 0
        self._told: list[tuple[int, str, Utterance]] = []

    @initialize(first=st.lists(st.tuples(_WHO, _UTTERANCES), min_size=2, max_size=6))
    def make_teams(self, first: list[tuple[str, dict[str, Any]]]) -> None:
        """Two teams, of which one knows something."""
        self.twins = [self._new_twin(), self._new_twin()]
        for who, said in first:
            self._say(0, who, self._utterance(said))

    def teardown(self) -> None:
        """Lets go of the teams."""
        for twin in self.twins:
            twin.close()

    # --- saying -----------------------------------------------------------------------------------------------------

    @rule(team=st.sampled_from((0, 0, 0, 1)), who=_WHO, said=_UTTERANCES, foreseen=st.booleans())
    def remember(self, team: int, who: str, said: dict[str, Any], foreseen: bool) -> None:
        """Says something new."""
        self._say(team, who, self._utterance(said), foreseen=foreseen)

    @rule(who=_WHO, said=st.lists(_UTTERANCES, min_size=2, max_size=4))
    def remember_several(self, who: str, said: list[dict[str, Any]]) -> None:
        """Says several things at once."""
        self.twins[0].remember_all(who, [self._utterance(one) for one in said])

    @precondition(_has_rows)
    @rule(who=_WHO, pick=_PICK, said=_UTTERANCES)
    def say_something_else(self, who: str, pick: int, said: dict[str, Any]) -> None:
        """Says another value in a slot that somebody has spoken in already."""
        row = picked(rows_of(self.twins[0]), pick)
        others = [value for value in VALUES if value != self.twins[0].name_of(object_id_of(row))]
        place = {**self._place(row.slot), "value": picked(others, pick), "denied": False}
        self._say(0, who, self._utterance({**said, **place}))

    @precondition(_has_rows)
    @rule(who=_WHO, pick=_PICK, said=_UTTERANCES)
    def agree(self, who: str, pick: int, said: dict[str, Any]) -> None:
        """Says what somebody has said already, in other words."""
        row = picked(rows_of(self.twins[0]), pick)
        value = self.twins[0].name_of(object_id_of(row))
        same = {"value": value, "denied": row.polarity is Polarity.NEGATIVE, "stated": None}
        self._say(0, who, self._utterance({**said, **self._place(row.slot), **same}))

    @precondition(_has_rows)
    @rule(who=_WHO, pick=_PICK, said=_UTTERANCES)
    def correct(self, who: str, pick: int, said: dict[str, Any]) -> None:
        """Says that a relationship was wrong, one's own or another's."""
        row = picked(rows_of(self.twins[0]), pick)
        self._say(0, who, self._utterance({**said, **self._place(row.slot), "target": row.relationship_id}))

    @precondition(_has_live_cases)
    @rule(who=_WHO, pick=_PICK, said=_UTTERANCES, stale=st.sampled_from((0, 0, 0, 1)))
    def answer_a_case(self, who: str, pick: int, said: dict[str, Any], stale: int) -> None:
        """Answers a live case, at its version or at another one."""
        case = picked(_live_cases(self.twins[0]), pick)
        answer = ConflictContext(conflict_id=case.conflict_id, expected_version=case.version + stale)
        self._say(0, who, self._utterance({**said, **self._place(case.set_key.slot), "answer": answer}))

    @rule(pick=_PICK, who=_WHO)
    def say_it_again(self, pick: int, who: str) -> None:
        """The same text once more, by its author or by somebody else."""
        team, author, what = picked(self._told, pick)
        self.twins[team].remember(author if pick % 2 else who, what)

    @rule(who=_WHO, pick=_PICK, said=_UTTERANCES, key=st.sampled_from(_SOURCES), stale=st.booleans())
    def move_a_source_on(self, who: str, pick: int, said: dict[str, Any], key: str, stale: bool) -> None:
        """A source has a first revision, or another one in the place of the last, or of one that it was not."""
        source_key = key if pick % 7 == 0 else f"{key} of {who}"
        current = self.twins[0].model.source_revision(source_key)
        previous = None if current is None else "never" if stale and pick % 3 == 0 else current
        source = {"key": source_key, "revision": f"r{self._notes + 1}", "previous": previous}
        self._say(0, who, self._utterance({**said, **source}))

    @rule(
        name=st.sampled_from([*((group, None) for group in _GROUPS), *((None, key) for key in _SOURCES)]),
        speakers=st.sampled_from(((), (), PROFILES[:1], PROFILES[1:])),
        word=st.sampled_from((EveryPredicate(), OnlyPredicates(), OnlyPredicates(keys=frozenset({PREDICATES[0].key})))),
    )
    def register_a_source(
        self, name: tuple[str | None, str | None], speakers: tuple[str, ...], word: AuthoritativeFor
    ) -> None:
        """Says who may speak for a source, and what its word is worth from now on."""
        group, key = name
        self.twins[0].register_source(
            RegisteredSource(
                source_group=group,
                source_key=key,
                speakers=OnlyProfiles(profiles=frozenset(map(ProfileId, speakers))) if speakers else AnyProfile(),
                authoritative_for=word,
            )
        )

    # --- deciding ---------------------------------------------------------------------------------------------------

    @precondition(_has_questions)
    @rule(pick=_PICK, action=st.sampled_from(("new", "new", "existing", "both")), who=_WHO, own=st.integers(0, 9))
    def resolve(self, pick: int, action: str, who: str, own: int) -> None:
        """Answers an item, mostly as its owner and at its version."""
        twin, item = self.twins[0], picked(_questions(self.twins[0]), pick)
        kept = picked((*item.incoming, *item.opposing), pick)
        actions: dict[str, Resolution] = {
            "new": KeepNew(kept_id=kept),
            "existing": KeepExisting(kept_id=kept),
            "both": KeepBoth(),
        }
        owner = who if own == 0 else twin.name_of(item.owner_id)
        twin.resolve(owner, item, actions[action], item.version + (own == 1))

    @precondition(_has_questions)
    @rule(pick=_PICK, said=_UTTERANCES)
    def merge(self, pick: int, said: dict[str, Any]) -> None:
        """Answers an item with a sentence."""
        twin, item = self.twins[0], picked(_questions(self.twins[0]), pick)
        row = twin.model.row((*item.incoming, *item.opposing)[0])
        twin.merge(twin.name_of(item.owner_id), item, self._utterance({**said, **self._place(row.slot)}))

    @precondition(_has_living_rows)
    @rule(pick=_PICK, month=st.sampled_from((None, 4, 7)), who=_WHO, own=st.integers(0, 5))
    def end(self, pick: int, month: int | None, who: str, own: int) -> None:
        """Ends a relationship, mostly an own one."""
        twin, row = self.twins[0], picked(rows_of(self.twins[0]) if own == 1 else _living(self.twins[0]), pick)
        at = None if month is None else datetime(2026, month, 1, tzinfo=UTC)
        twin.end(twin.name_of(row.owner_id) if own else who, row, at)

    @precondition(_has_living_rows)
    @rule(pick=_PICK, revive=st.booleans(), who=_WHO, own=st.integers(0, 5))
    def retract(self, pick: int, revive: bool, who: str, own: int) -> None:
        """Takes a relationship back, mostly an own one."""
        twin, row = self.twins[0], picked(rows_of(self.twins[0]) if own == 1 else _living(self.twins[0]), pick)
        twin.retract(twin.name_of(row.owner_id) if own else who, row, revive=revive)

    @precondition(_has_living_rows)
    @rule(pick=_PICK)
    def retract_text(self, pick: int) -> None:
        """Takes a text back."""
        twin, row = self.twins[0], picked(_living(self.twins[0]), pick)
        for support in twin.model.view(row.slot).supports:
            if support.relationship_id == row.relationship_id and support.author == row.owner_id:
                twin.retract_text(twin.name_of(row.owner_id), support.fragment_id)
                return

    @precondition(_has_decisions)
    @rule(pick=st.integers(0, 6))
    def revert(self, pick: int) -> None:
        """Takes one of the last decisions back."""
        twin = self.twins[0]
        who, decision_id = picked(_decisions(twin)[::-1], pick)
        twin.revert(twin.name_of(who), decision_id)

    @precondition(_has_rows)
    @rule(pick=_PICK, other=_PICK)
    def adopt(self, pick: int, other: int) -> None:
        """Lets a relationship stand on a text that says the same, by another profile."""
        twin, rows = self.twins[0], rows_of(self.twins[0])
        row = picked(rows, pick)
        same = [
            support.fragment_id
            for one in rows
            if (one.slot, one.object.key, one.polarity) == (row.slot, row.object.key, row.polarity)
            for support in twin.model.view(one.slot).supports
            if support.relationship_id == one.relationship_id and support.author != row.owner_id
        ]
        texts = [twin.model.texts[one] for one in dict.fromkeys(same)]
        open_ones = [one for one in texts if not one.retired and not one.erased]
        if open_ones:
            twin.adopt(twin.name_of(row.owner_id), row, picked(open_ones, other).fragment_id)

    @precondition(lambda self: self._notes > 4)
    @rule(pick=_PICK)
    def erase(self, pick: int) -> None:
        """Erases a text."""
        twin = self.twins[0]
        # A scope that nobody else has given is erased with its text; the model keeps its words.
        scoped = {
            one.fragment_id for slot in twin.model.slots() if slot.scope for one in twin.model.view(slot).supports
        }
        texts = [one for one in twin.model.texts.values() if not one.erased and one.fragment_id not in scoped]
        if texts and pick % 3 == 0:
            twin.erase(picked(texts, pick).fragment_id)

    # --- time -------------------------------------------------------------------------------------------------------

    @rule(days=st.sampled_from((0, 1, 3, 8, 40)), team=st.sampled_from((0, 0, 1)))
    def drive(self, days: int, team: int) -> None:
        """The clock goes on, past deadlines or not."""
        twin = self.twins[team]
        twin.drive(twin.model.now + timedelta(days=days, minutes=1))

    @precondition(_has_live_cases)
    @precondition(lambda self: self._notes > self._reviewed_at)
    @rule()
    def review(self) -> None:
        """Every live case is looked at."""
        self._reviewed_at = self._notes
        self.twins[0].review()

    @precondition(lambda self: self._notes > self._repeated_at)
    @rule()
    def repeat(self) -> None:
        """The last command arrives once more."""
        self._repeated_at = self._notes
        self.twins[0].repeat()

    @precondition(_has_rows)
    @rule(
        subject=st.sampled_from(SUBJECTS),
        known=_PICK,
        by_time=st.booleans(),
        valid_at=st.sampled_from([datetime(2026, month, 15, tzinfo=UTC) for month in (2, 3, 4, 5, 6, 7)]),
    )
    def look_back(self, subject: str, known: int, by_time: bool, valid_at: Instant) -> None:
        """Asks what was known at some revision."""
        twin = self.twins[0]
        moment = picked(twin.model.revisions, known).moment
        twin.look_back(subject, selector_of(moment, valid_at, by_time=by_time))

    @precondition(_has_rows)
    @rule(pick=_PICK)
    def trace(self, pick: int) -> None:
        """Asks how a relationship came to be what it is."""
        self.twins[0].trace(picked(rows_of(self.twins[0]), pick).relationship_id)

    @invariant()
    def what_must_hold_holds(self) -> None:
        """The invariants of the model."""
        for twin in self.twins:
            require_sound(twin.model)

    # --- words ------------------------------------------------------------------------------------------------------

    def _utterance(self, said: Mapping[str, Any]) -> Utterance:
        """A submission of what was drawn, in a text that was not there before unless its form says so."""
        self._notes += 1
        words = f"{said['time']}{said['subject']} {str(said['predicate']).replace('_', ' ')} {said['value']}"
        content = _DENIAL.format(words) if said["denied"] else said["form"].format(words)
        start, end = said["stated"] or (None, None)
        return Utterance(
            subject=said["subject"],
            predicate=said["predicate"],
            value=said["value"],
            content=f"{content}. Seen in note {self._notes}." if said["form"] != _REPEATED else content,
            denied=said["denied"],
            scope=said["scope"],
            valid_from=_month(start),
            valid_to=_month(end),
            occurred_at=_month(said["seen"]),
            source_group=None if "key" in said else said["group"],
            source_key=said.get("key"),
            source_revision=said.get("revision"),
            previous_source_revision=said.get("previous"),
            authority=said["authority"],
            target=said.get("target"),
            answer=said.get("answer"),
        )

    def _say(self, team: int, who: str, what: Utterance, *, foreseen: bool = False) -> None:
        self._told.append((team, who, what))
        self.twins[team].remember(who, what, foreseen=foreseen)

    def _place(self, slot: Slot) -> dict[str, object]:
        subject = self.twins[0].name_of(slot.subject_id)
        return {"subject": subject, "predicate": slot.predicate, "scope": slot.scope}


def selector_of(moment: Moment, valid_at: Instant, *, by_time: bool) -> TemporalSelector:
    """What was known right after a commit, asked for by its time or by its number."""
    known: Known = KnownAt(at=moment.at) if by_time else KnownAtRevision(revision=moment.revision)
    return TemporalSelector(valid_at=valid_at, known=known)


def _month(number: int | None) -> Instant | None:
    return None if number is None else datetime(2026, number, 10, tzinfo=UTC)


def rows_of(twin: Twin) -> list[Relationship]:
    """The current versions of all relationships, in the order of recording."""
    return [versions[-1].row for versions in twin.model.versions().values()]


def _living(twin: Twin) -> list[Relationship]:
    return [row for row in rows_of(twin) if row.status in LIVING_STATUSES]


def object_id_of(row: Relationship) -> str:
    """The entity that a relationship points at."""
    assert isinstance(row.object, EntityObject)
    return row.object.entity_id


def _live_cases(twin: Twin) -> list[ConflictCase]:
    current = [versions[-1].row for versions in twin.model.cases().values()]
    return [case for case in current if case.live]


def _decisions(twin: Twin) -> list[tuple[ProfileId, DecisionId]]:
    """The decisions of profiles with who took them, the last one last."""
    return [
        (record.actor.profile_id, record.decision_id)
        for revision in twin.model.revisions
        for record in revision.changes.decision_records
        if record.kind not in _NEVER_TAKEN_BACK and record.actor.profile_id is not None
    ]


def picked(of: Sequence[_Thing], pick: int) -> _Thing:
    """One of several things by a number that was drawn."""
    return of[pick % len(of)]


def _questions(twin: Twin) -> list[ReviewItem]:
    """The questions about sides in the order in which they were asked; answered ones only if no other is pending."""
    asked = [item for item in twin.model.items().values() if item.kind is ItemKind.RELATIONSHIP]
    asked = [item for item in asked if item.incoming or item.opposing]
    return [item for item in asked if item.status is ItemStatus.PENDING] or asked[-1:]
