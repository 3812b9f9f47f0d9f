"""A team in memory that is told texts: what a text is worth and when it holds is decided by the policies alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta

from corrigenda_core.domain.actors import Actor
from corrigenda_core.domain.cases import CaseKind
from corrigenda_core.domain.changes import Changes, OutcomeKind
from corrigenda_core.domain.entities import BoundObservation
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.evidence import Authority, StartWindow, Support, SupportDecision, SupportDecisionKind
from corrigenda_core.domain.ids import FragmentId, ItemId, ProfileId, RelationshipId, StatementId, SupportId
from corrigenda_core.domain.objects import Object, Polarity, Slot
from corrigenda_core.domain.predicates import Predicate
from corrigenda_core.domain.relationships import Statement
from corrigenda_core.domain.slots import PlanContext, SlotView
from corrigenda_core.domain.sources import RegisteredSource, RetiredFragment, SourceClaim, SourceState
from corrigenda_core.domain.submissions import ConflictContext
from corrigenda_core.domain.time import Instant, Side, TextSpan
from corrigenda_core.policy.adoption import CarriedByText, decide_adopting_statement, is_adopted, plan_adoption
from corrigenda_core.policy.authority import (
    REASON_REGISTRY_CHANGED,
    Advance,
    ClaimedSupport,
    FirstRevision,
    decide_authority,
    decide_source_revision,
    decide_spoken_labels,
    may_use_source,
    plan_regrants,
)
from corrigenda_core.policy.case_effects import may_answer_case
from corrigenda_core.policy.case_keys import decide_set_key
from corrigenda_core.policy.erasure import plan_evidence_erasure
from corrigenda_core.policy.independence import decide_inherited_labels, decide_near_duplicates
from corrigenda_core.policy.normalisation import decide_content_hash, decide_text_form
from corrigenda_core.policy.own_rows import decide_standing
from corrigenda_core.policy.support_switches import plan_fragment_retirement, plan_support_switches
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.policy.validity import (
    StatementTimes,
    decide_common_whole,
    decide_known_bounds,
    decide_witness_time,
)
from corrigenda_core.testing.memory_store import MemoryStore, profile

_TICK = timedelta(microseconds=1)
_ORDINALS_PER_REVISION = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One statement on a text of its own; ``target`` was wrong, as it says, and ``answer`` names a case."""

    statement_id: StatementId
    owner_id: ProfileId
    content: str
    slot: Slot
    object: Object
    polarity: Polarity = Polarity.POSITIVE
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    occurred_at: Instant | None = None
    source_group: str | None = None
    source_key: str | None = None
    source_revision: str | None = None
    previous_source_revision: str | None = None
    authority: Authority = Authority.UNKNOWN
    target: RelationshipId | None = None
    answer: ConflictContext | None = None

    @property
    def claim(self) -> SourceClaim:
        """Where the text says that it comes from, and what it takes the place of."""
        return SourceClaim(
            author=self.owner_id,
            source_group=self.source_group,
            source_key=self.source_key,
            source_revision=self.source_revision,
            previous_source_revision=self.previous_source_revision,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A stored text; it supports nothing any more once its source has moved on, or it was erased."""

    fragment_id: FragmentId
    content: str
    claim: SourceClaim
    authority: Authority
    occurred_at: Instant | None
    inherited_labels: tuple[str, ...]
    retired: bool = False
    erased: bool = False


class MemoryTeam(MemoryStore):
    """A store with texts and sources, of a team whose zone is UTC.

    Attributes:
        texts: every stored text, in the order of recording.
        registry: the current version of every registered source, by its group and key.
        repeated: what was said on a text that had said it already: observations that no relationship carries.
    """

    def __init__(self, began_at: Instant, predicates: Iterable[Predicate]) -> None:
        super().__init__(began_at)
        for predicate in predicates:
            self.register(predicate)
        self.texts: dict[FragmentId, Text] = {}
        self.registry: dict[tuple[str | None, str | None], RegisteredSource] = {}
        self.repeated: dict[StatementId, BoundObservation] = {}
        self._sources: dict[str, SourceState] = {}

    def source_revision(self, source_key: str) -> str | None:
        """The current revision of a source, if it has one."""
        state = self._sources.get(source_key)
        return None if state is None else state.current_revision

    def register_source(self, actor: Actor, source: RegisteredSource) -> None:
        """Registers a source, or its next version; what its texts are worth is decided again."""
        self.registry[(source.source_group, source.source_key)] = source

        def switched(view: SlotView, context: PlanContext) -> Changes:
            claimed = [
                ClaimedSupport(
                    last=self._last_decision(support),
                    claimed=text.authority,
                    predicate=view.slot.predicate,
                    claim=text.claim,
                )
                for support in view.supports
                if (text := self.texts[support.fragment_id]).authority is Authority.AUTHORITATIVE
                and _is_of(text.claim, source)
            ]
            decisions = plan_regrants(claimed, list(self.registry.values()))
            if not decisions:
                return Changes()
            return plan_support_switches(view, context, decisions, REASON_REGISTRY_CHANGED)

        self._together(actor, switched)

    def _last_decision(self, support: Support) -> SupportDecision:
        """The decision that counts: the last one, or the grant with which the support began."""
        made = [d for revision in self.revisions for d in revision.changes.support_decisions]
        kinds = [one.kind for one in made if one.support_id == support.support_id]
        return SupportDecision(
            support_id=support.support_id,
            kind=kinds[-1] if kinds else SupportDecisionKind.GRANT,
            authority=support.authority,
            reason="",
        )

    def remember_all(self, said: Sequence[tuple[Said, FragmentId]]) -> list[FragmentId]:
        """Stores several texts of one submission, each in a revision of its own; all of them or none.

        Returns:
            The ids of the texts, as `remember` does.

        Raises:
            Refusal: as `remember` does.
        """
        texts = dict(self.texts)
        try:
            with self._transaction():
                return [self.remember(one, new_fragment_id) for one, new_fragment_id in said]
        except Refusal:
            self.texts = texts
            raise

    def remember(self, said: Said, new_fragment_id: FragmentId) -> FragmentId:
        """Stores a text and places what it says; a source that moves on leaves its last revision behind.

        Args:
            said: what is said.
            new_fragment_id: the id of the text if it is new.

        Returns:
            The id of the text, that of an equal one if the team has it.

        Raises:
            Refusal: as the policies do; nothing is stored then.
        """
        state = None if said.source_key is None else self._sources.get(said.source_key)
        may_use_source(said.claim, self.registry.values(), state)
        if said.answer is not None:
            case = self.cases()[said.answer.conflict_id][-1].row
            may_answer_case(case, [decide_set_key(kind, said.slot, said.object) for kind in CaseKind], said.answer)
        decision = decide_source_revision(said.claim, state)
        leaving = self._texts_of(said.source_key) if isinstance(decision, Advance) else []
        text = self._text(said, new_fragment_id, leaving)
        goes_on = bool(leaving) and self._goes_on(said, leaving)
        with self._transaction():
            if leaving and not goes_on:
                self._retire(said.owner_id, leaving)
            self._place_text(said, text)
            if goes_on:
                self._retire(said.owner_id, leaving)
        self.texts[text.fragment_id] = text
        for one in leaving:
            self.texts[one] = replace(self.texts[one], retired=True)
        if isinstance(decision, FirstRevision | Advance):
            self._sources[decision.state.source_key] = decision.state
        return text.fragment_id

    def merge_text(self, item_id: ItemId, said: Said, expected_version: int, new_fragment_id: FragmentId) -> FragmentId:
        """Answers an item with a sentence of the owner; as `merge` and `remember`."""
        state = None if said.source_key is None else self._sources.get(said.source_key)
        may_use_source(said.claim, self.registry.values(), state)
        text = self._text(said, new_fragment_id, ())
        statement, supports = self._statement(said, text, self.context(profile(said.owner_id)))
        self.merge(item_id, statement, supports, expected_version)
        self.texts[text.fragment_id] = text
        return text.fragment_id

    def retract_everywhere(self, owner_id: ProfileId, fragment_id: FragmentId) -> None:
        """Takes one text back in every slot in which it speaks for its owner, each in a revision of its own.

        Raises:
            Refusal: INVALID_FIELD if it supports nothing of the owner, and as `plan_fragment_retraction` does.
        """
        speaking = []
        for slot in self.slots():
            view = self.view(slot)
            own = {s.statement_id for s in decide_standing(view, owner_id)}
            if any(s.fragment_id == fragment_id and s.effective and s.statement_id in own for s in view.supports):
                speaking.append(slot)
        if not speaking:
            raise Refusal(Reason.INVALID_FIELD, "the text supports nothing of the caller", field="fragment_id")
        with self._transaction():
            for slot in sorted(speaking, key=lambda one: (one.subject_id, one.predicate, one.scope)):
                self.retract_fragment(slot, owner_id, fragment_id)

    def adopt(self, owner_id: ProfileId, row_id: RelationshipId, fragment_id: FragmentId) -> bool:
        """Lets an owner's relationship stand on a text of another profile; says whether it did not stand on it yet."""
        text, slot = self.texts[fragment_id], self.row(row_id).slot
        view, context = self.view(slot), self.context(profile(owner_id))
        statement = decide_adopting_statement(view, context, row_id, None)
        named = self._support(text, slot, context, statement.statement_id)
        support = replace(named, adopted_from_fragment_id=fragment_id, statement_id=None)
        if is_adopted(view, row_id, support):
            return False
        grant = SupportDecision(
            support_id=support.support_id,
            kind=SupportDecisionKind.GRANT,
            authority=support.authority,
            reason="adopted",
        )
        self.commit(slot, plan_adoption(view, context, statement, support, grant, self._carried_by(text)))
        return True

    def _carried_by(self, text: Text) -> list[CarriedByText]:
        """What the author of a text states on it."""
        standing = [
            (one.relationship_id, one.spans)
            for slot in self.slots()
            for one in self.view(slot).supports
            if one.fragment_id == text.fragment_id and one.effective and one.relationship_id is not None
        ]
        return [
            CarriedByText(relationship_id=row_id, spans=spans)
            for row_id, spans in standing
            if self.row(row_id).owner_id == text.claim.author
        ]

    def erase(self, actor: Actor, fragment_id: FragmentId) -> None:
        """Erases a text with its exact copies; what stands on them loses that support for good."""
        content = self.texts[fragment_id].content
        copies = [one.fragment_id for one in self.texts.values() if one.content == content and not one.erased]
        self._together(actor, lambda view, context: plan_evidence_erasure(view, context, copies))
        for one in copies:
            self.texts[one] = replace(self.texts[one], erased=True)

    def _text(self, said: Said, new_fragment_id: FragmentId, leaving: Collection[FragmentId]) -> Text:
        """The text of the same author, source and revision, or a new one."""
        claim = replace(said.claim, previous_source_revision=None)
        for text in self.texts.values():
            stands = not text.retired and not text.erased and text.fragment_id not in leaving
            if stands and (text.content, text.claim) == (said.content, claim):
                return text
        return Text(
            fragment_id=new_fragment_id,
            content=said.content,
            claim=claim,
            authority=said.authority,
            occurred_at=said.occurred_at,
            inherited_labels=decide_inherited_labels(
                author=said.owner_id,
                source_group=said.source_group,
                source_key=said.source_key,
                trusts_declared_groups=self.context(profile(said.owner_id)).policy.trusts_declared_groups,
                registered_labels=decide_spoken_labels(claim, list(self.registry.values())),
                origin_labels=(),
            ),
        )

    def _place_text(self, said: Said, text: Text) -> None:
        statement, supports = self._statement(said, text, self.context(profile(said.owner_id)))
        (outcome,) = self.place(statement, supports, said.target).outcomes
        if outcome.kind is OutcomeKind.DUPLICATE:
            self.repeated[said.statement_id] = BoundObservation(
                observation_id=said.statement_id,
                owner_id=said.owner_id,
                subject_id=said.slot.subject_id,
                object=said.object,
                predicate=said.slot.predicate,
                scope=said.slot.scope,
                polarity=said.polarity,
            )

    def _statement(self, said: Said, text: Text, context: PlanContext) -> tuple[Statement, list[Support]]:
        occurred_ats = () if text.occurred_at is None else (text.occurred_at,)
        times = StatementTimes(
            bounds=decide_time_bounds(said.content, UTC),
            valid_from=said.valid_from,
            valid_to=said.valid_to,
            occurred_ats=occurred_ats,
        )
        start, end = decide_known_bounds(times, self.view(said.slot).predicate, UTC)
        statement = Statement(
            statement_id=said.statement_id,
            owner_id=said.owner_id,
            slot=said.slot,
            object=said.object,
            polarity=said.polarity,
            start=start,
            end=end,
            stated_start=said.valid_from,
            witness_at=decide_witness_time(occurred_ats, context.moment.at, end),
            recorded_at=context.moment.at,
            sequence=context.moment.revision * _ORDINALS_PER_REVISION,
            source=said.source_key or said.source_group,
        )
        return statement, [self._support(text, said.slot, context, said.statement_id)]

    def _support(self, text: Text, slot: Slot, context: PlanContext, statement_id: StatementId) -> Support:
        form = decide_text_form(text.content)
        speaking = {support.fragment_id for support in self.view(slot).supports} - {text.fragment_id}
        others = [self.texts[one] for one in sorted(speaking) if not self.texts[one].erased]
        starts = [b.whole for b in decide_time_bounds(text.content, UTC) if b.side is Side.START]
        whole = decide_common_whole(starts)
        return Support(
            support_id=SupportId(f"{statement_id} on {text.fragment_id}"),
            fragment_id=text.fragment_id,
            author=text.claim.author,
            recorded_at=context.moment.at,
            authority=decide_authority(
                text.authority,
                predicate=slot.predicate,
                claim=text.claim,
                registry=self.registry.values(),
                scopes=(),
            ).authority,
            source_group=text.claim.source_group,
            source_key=text.claim.source_key,
            inherited_labels=text.inherited_labels,
            content_hash=decide_content_hash(text.content),
            near_duplicate_fragment_ids=decide_near_duplicates(
                form, [(one.fragment_id, decide_text_form(one.content)) for one in others]
            ),
            evidence_time=None if whole is None else StartWindow(whole=whole),
            occurred_at=text.occurred_at,
            statement_id=statement_id,
            spans=(TextSpan(start=0, end=len(text.content)),),
        )

    def _texts_of(self, source_key: str | None) -> list[FragmentId]:
        known = [text for text in self.texts.values() if text.claim.source_key == source_key]
        return [text.fragment_id for text in known if not text.retired]

    def _goes_on(self, said: Said, leaving: Collection[FragmentId]) -> bool:
        """Whether the owner says what they said on a text that is about to lose its effect: then that row goes on."""
        view, meant = self.view(said.slot), (said.owner_id, said.object.key, said.polarity)
        same = {s.statement_id for s in view.statements if (s.owner_id, s.object.key, s.polarity) == meant}
        return any(s.effective and s.statement_id in same and s.fragment_id in leaving for s in view.supports)

    def _retire(self, owner_id: ProfileId, leaving: Sequence[FragmentId]) -> None:
        retired = [RetiredFragment(fragment_id=one) for one in leaving]
        self._together(profile(owner_id), lambda view, context: plan_fragment_retirement(view, context, retired))

    def _together(self, actor: Actor, plan: Callable[[SlotView, PlanContext], Changes]) -> None:
        """One revision of all slots that the plan changes; also if it changes none, for it has its place in time."""
        context = self.context(actor)
        views = [self.view(slot) for slot in self.slots()]
        contexts = [replace(context, ids=context.ids.part(number)) for number in range(len(views))]
        planned = [(view.slot, plan(view, own)) for view, own in zip(views, contexts, strict=True)]
        changing = [(slot, changes) for slot, changes in planned if changes != Changes()]
        if changing:
            self.commit_together(changing)
        else:
            self.now = context.moment.at + _TICK


def _is_of(claim: SourceClaim, source: RegisteredSource) -> bool:
    """Whether a text names what a source is registered by."""
    return source.source_key in (None, claim.source_key) and source.source_group in (None, claim.source_group)
