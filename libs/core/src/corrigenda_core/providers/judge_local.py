"""The judge that needs no model: equal normal forms are the same, a plain change that came later replaces.

It answers *same* if both sides say one value in other letters, and *keep_new* if a cited sentence of the later side
plainly tells of a change to its value ("production now deploys from release"). Everything else is *unsure*: hedges,
plans, questions, quotations and reports, sentences that deny, a change away from the value, and sides whose order in
time nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corrigenda_core.domain.ids import PredicateKey
from corrigenda_core.domain.judging import JudgeAnswer, JudgedSide, JudgeQuestion, Verdict
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import Instant
from corrigenda_core.policy.normalisation import decide_text_form
from corrigenda_core.ports.providers import PredicateWords, ProviderFailed
from corrigenda_core.providers.local.cues import (
    CLAUSE_BREAKS,
    DETERMINERS,
    FOREIGN_NEGATIONS,
    GAP_CUES,
    NEGATIONS,
    NO_LONGER,
    PREFIX_PLAN,
    QUESTION_OPENERS,
    REPORTS,
    SENTENCE_SPECULATION,
    Cue,
)
from corrigenda_core.providers.local.forms import phrases
from corrigenda_core.providers.local.text import ReadText, Sentence, Word, normal_words, read_text

NAME = "local-rules/1"

MAX_SENTENCE_WORDS = 128
"""A longer sentence is not read."""

# They make a sentence no plain statement about now.
_OPEN = (
    SENTENCE_SPECULATION
    | PREFIX_PLAN
    | REPORTS
    | FOREIGN_NEGATIONS
    | frozenset(word for word, cue in GAP_CUES.items() if cue in {Cue.SPECULATION, Cue.PLAN, Cue.UNIVERSAL})
)
_MOVED = frozenset(
    [
        "moved",
        "moves",
        "switched",
        "switches",
        "migrated",
        "migrates",
        "changed",
        "changes",
        "transitioned",
        "transitions",
        "upgraded",
        "upgrades",
        "renamed",
    ]
)
_TOWARDS = frozenset({"to", "onto", "into"})
_ENDED = frozenset({"stop", "stopped"})
_CLAUSES = CLAUSE_BREAKS | frozenset({",", "(", "-", "\u2013", "\u2014"})
# "until now" and "was" speak of what is over.
_OVER = frozenset(["until", "till", "was", "were", "had", "did", "used", "formerly", "previously", "earlier", "once"])


class LocalJudge:
    """Judges pairs by rule; the same question always gets the same answer."""

    async def judge(self, question: JudgeQuestion, *, problems: tuple[str, ...] = ()) -> JudgeAnswer:
        """Looks at one pair.

        Raises:
            ProviderFailed: it is asked again, and would only give the answer that was refused.
        """
        if problems:
            raise ProviderFailed("rules give the same answer to the same question")
        return _answer(question)

    async def close(self) -> None:
        """Nothing to release."""


def _answer(question: JudgeQuestion) -> JudgeAnswer:
    incoming, opposing = question.sides
    form = decide_text_form(incoming.value)
    if form and form == decide_text_form(opposing.value) and incoming.polarity is opposing.polarity:
        return JudgeAnswer(verdict=Verdict.SAME, judge=NAME, reason="both values have the same normal form")
    for kept, other in ((incoming, opposing), (opposing, incoming)):
        sentence = _change(question, kept) if _is_later(kept, other) else None
        if sentence is not None:
            return JudgeAnswer(
                verdict=Verdict.KEEP_NEW,
                judge=NAME,
                reason="the later text says that it changed",
                kept_id=kept.relationship_id,
                excerpt=sentence,
            )
    return JudgeAnswer(verdict=Verdict.UNSURE, judge=NAME, reason="no rule decides")


def _is_later(kept: JudgedSide, other: JudgedSide) -> bool:
    """Whether every time that is known of one side lies behind every time that is known of the other."""
    return min(_times(kept, last=False)) > max(_times(other, last=True))


def _times(side: JudgedSide, *, last: bool) -> Iterator[Instant]:
    """When a side holds: its known start, else what its owner stated, and the time of its witness.

    A known start is the whole interval that its words name, so its first or its ``last`` instant is what counts.
    """
    if side.start is not None:
        yield side.start.whole.end if last else side.start.whole.start
        return
    if side.stated_start is not None:
        yield side.stated_start
    yield side.witness_at


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a sentence must name to tell of a change to one side, as words in normal form."""

    subject: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    value: tuple[str, ...]
    polarity: Polarity


def _change(question: JudgeQuestion, side: JudgedSide) -> str | None:
    """The sentence that plainly tells of the change to what a side says, if one of its texts has it."""
    wanted = _Wanted(
        subject=normal_words(question.subject),
        phrases=tuple(one.words for one in phrases(PredicateWords(key=PredicateKey(question.predicate)))),
        value=normal_words(side.value),
        polarity=side.polarity,
    )
    if not wanted.value or not wanted.subject:
        return None
    for excerpt in side.excerpts:
        text = read_text(excerpt)
        for sentence in text.sentences:
            if _is_plain(text, sentence) and _tells(text.words[sentence.first : sentence.last], wanted):
                first, last = text.words[sentence.first], text.words[sentence.last - 1]
                return excerpt[first.start : last.end]
    return None


def _is_plain(text: ReadText, sentence: Sentence) -> bool:
    words = text.words[sentence.first : sentence.last]
    opener = next((word.norm for word in words if not word.is_mark), "")
    return (
        not sentence.is_question
        and len(words) <= MAX_SENTENCE_WORDS
        and opener not in QUESTION_OPENERS
        and not any(text.quoted[sentence.first : sentence.last])
        and _OPEN.isdisjoint(word.norm for word in words)
    )


def _tells(words: tuple[Word, ...], wanted: _Wanted) -> bool:
    norms = [word.norm for word in words]
    places = [at for at in range(len(norms)) if tuple(norms[at : at + len(wanted.value)]) == wanted.value]
    # A value that is named twice is left in one half of the sentence and taken up in the other.
    if len(places) != 1 or not _holds(norms, wanted.subject):
        return False
    before, behind = norms[: places[0]], norms[places[0] + len(wanted.value) :]
    names_predicate = any(_holds(norms, phrase) for phrase in wanted.phrases)
    if wanted.polarity is Polarity.NEGATIVE:
        return names_predicate and _tells_of_an_end(before, behind)
    if not (NEGATIONS - {"instead"}).isdisjoint(norms) or _is_left(before, behind):
        return False
    return _moved_to(before) or (names_predicate and _is_so_now(before, behind))


def _holds(norms: list[str], words: tuple[str, ...]) -> bool:
    return any(tuple(norms[at : at + len(words)]) == words for at in range(len(norms)))


def _tells_of_an_end(before: list[str], behind: list[str]) -> bool:
    negations = [norm for norm in (*before, *behind) if norm in NEGATIONS]
    if len(negations) != 1:
        return False
    no_longer = any(_holds([*before, *behind], words) for words in NO_LONGER)
    return no_longer or negations[0] in _ENDED or bool({"anymore", "any"} & set(behind[:1]))


def _is_left(before: list[str], behind: list[str]) -> bool:
    """Whether the words leave the value behind: "from release to main", "instead of release"."""
    leading = [norm for norm in before if norm not in DETERMINERS]
    from_to = leading[-1:] == ["from"] and not _TOWARDS.isdisjoint(behind)
    return from_to or leading[-2:] == ["instead", "of"] or leading[-1:] == ["than"]


def _moved_to(before: list[str]) -> bool:
    leading = [norm for norm in before if norm not in DETERMINERS]
    return not _MOVED.isdisjoint(before) and leading[-1] in _TOWARDS


def _is_so_now(before: list[str], behind: list[str]) -> bool:
    """Whether a "now" in the same clause says that it holds, and nothing there says that it is over."""
    clause = before
    for at, norm in enumerate(before):
        if norm in _CLAUSES:
            clause = before[at + 1 :]
    told = "now" in clause or behind[:1] == ["now"]
    return told and _OVER.isdisjoint(clause) and _OVER.isdisjoint(behind[:2])
