"""The judge by rule: equal normal forms, plain changes that came later, and doubt about everything else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from corrigenda_core.domain.ids import ItemId, RelationshipId
from corrigenda_core.domain.judging import JudgedSide, JudgeQuestion, Verdict
from corrigenda_core.domain.objects import Polarity
from corrigenda_core.domain.time import KnownBound
from corrigenda_core.policy.judging import decide_verdict
from corrigenda_core.ports.providers import ProviderFailed
from corrigenda_core.providers.judge_local import LocalJudge
from corrigenda_core.testing.slots import day, exactly, month

OLD, NEW = RelationshipId("old"), RelationshipId("new")


def side(
    row_id: RelationshipId,
    value: str,
    text: str = "",
    *,
    witness: datetime | None = None,
    start: KnownBound | None = None,
    stated: datetime | None = None,
    polarity: Polarity = Polarity.POSITIVE,
) -> JudgedSide:
    return JudgedSide(
        relationship_id=row_id,
        value=value,
        polarity=polarity,
        start=start,
        end=None,
        stated_start=stated,
        witness_at=witness or day("1 Jun"),
        recorded_at=day("2 Jun"),
        excerpts=(text,) if text else (),
    )


def question(incoming: JudgedSide, opposing: JudgedSide) -> JudgeQuestion:
    return JudgeQuestion(
        item_id=ItemId("i"),
        item_version=1,
        incoming=incoming,
        opposing=opposing,
        subject="production",
        predicate="deploys_from",
    )


def changed(text: str, value: str = "release", **more: Any) -> JudgeQuestion:
    given = side(NEW, value, text, **{"witness": day("1 Jul"), **more})
    return question(given, side(OLD, "main", "production deploys from main"))


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Release", "release", True),
        ("ｒｅｌｅａｓｅ", "release", True),
        ("re lease", "release", False),
        ("release", "main", False),
        ("\u200b", "\u200b", False),
    ],
)
async def test_equal_normal_forms_are_the_same(first: str, second: str, same: bool) -> None:
    asked = question(side(NEW, first), side(OLD, second))
    judgement = decide_verdict(asked, await LocalJudge().judge(asked))
    assert (judgement.verdict is Verdict.SAME) is same
    assert judgement.problem == ""


async def test_what_one_side_denies_is_not_the_same() -> None:
    asked = question(side(NEW, "main", polarity=Polarity.NEGATIVE), side(OLD, "main"))
    assert (await LocalJudge().judge(asked)).verdict == Verdict.UNSURE


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("production now deploys from release", True),
        ("Good news: as of today production now deploys from the release.", True),
        ("production deploys from release now", True),
        ("production moved to release", True),
        ("production switched from main to release", True),
        ("We migrated production to the release", True),
        ("From now on production deploys from release.", True),
        ("Hello. production now deploys from release. Bye.", True),
        # No change is told of, or not to this value, or not of this subject.
        ("production deploys from release", False),
        ("production moved from release to main", False),
        ("production now deploys from main instead of release", False),
        ("production deploys from main rather than release now", False),
        ("production deployed from release, now it deploys from main", False),
        ("until now production deploys from release", False),
        ("staging now deploys from release", False),
        ("production now mirrors release", False),
        ("production now deploys from release and release", False),
        ("", False),
        # It is not plainly said.
        ("does production now deploy from release?", False),
        ("production will now deploy from release", False),
        ("maybe production now deploys from release", False),
        ("Bob says production now deploys from release", False),
        ('the sign read "production now deploys from release"', False),
        ("production now never deploys from release", False),
        ("production has not moved to release", False),
        ("please make sure production moved to release", False),
        ("production now nicht deploys from release", False),
        ("production now deploys from release " + "again " * 200, False),
    ],
)
async def test_a_plain_change_that_came_later_replaces(text: str, told: bool) -> None:
    asked = changed(text)
    answer = await LocalJudge().judge(asked)
    judgement = decide_verdict(asked, answer)
    assert judgement.problem == ""
    assert (judgement.verdict, answer.kept_id) == ((Verdict.KEEP_NEW, NEW) if told else (Verdict.UNSURE, None))
    assert answer.excerpt is None or answer.excerpt in text


@pytest.mark.rule("R4.18")
@pytest.mark.parametrize(
    ("times", "later"),
    [
        ({"witness": day("1 Jul")}, True),
        ({"witness": day("1 Jun")}, False),
        ({"witness": day("1 May")}, False),
        ({"witness": day("1 Jul"), "start": exactly("2 Jun")}, True),
        ({"witness": day("1 Jul"), "start": exactly("1 Mar")}, False),
        ({"witness": day("1 Jul"), "start": month("Jun")}, False),
        ({"witness": day("1 Jul"), "stated": day("1 Mar")}, False),
        ({"witness": day("1 Jul"), "stated": day("2 Jun")}, True),
    ],
)
async def test_only_what_came_later_replaces(times: dict[str, Any], later: bool) -> None:
    answer = await LocalJudge().judge(changed("production now deploys from release", **times))
    assert (answer.verdict == Verdict.KEEP_NEW) is later


async def test_what_was_there_may_be_the_later_one() -> None:
    asked = question(
        side(NEW, "main", "production deploys from main", witness=day("1 May")),
        side(OLD, "release", "production now deploys from release", witness=day("1 Jun")),
    )
    answer = await LocalJudge().judge(asked)
    assert (answer.verdict, answer.kept_id) == (Verdict.KEEP_NEW, OLD)


async def test_a_known_start_of_the_other_side_counts_as_a_whole() -> None:
    given = side(NEW, "release", "production now deploys from release", witness=day("15 Jun"))
    for start, verdict in ((month("Jun"), Verdict.UNSURE), (month("May"), Verdict.KEEP_NEW)):
        asked = question(given, side(OLD, "main", start=start))
        assert (await LocalJudge().judge(asked)).verdict == verdict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("production no longer deploys from main", True),
        ("production stopped deploying from main", True),
        ("production does not deploy from main anymore", True),
        ("production does not deploy from main", False),
        ("production never no longer deploys from main", False),
        ("production deploys from main", False),
    ],
)
async def test_an_end_replaces_what_it_ends(text: str, told: bool) -> None:
    asked = changed(text, value="main", polarity=Polarity.NEGATIVE)
    answer = await LocalJudge().judge(asked)
    assert (answer.verdict == Verdict.KEEP_NEW) is told


async def test_rules_are_not_asked_twice() -> None:
    with pytest.raises(ProviderFailed):
        await LocalJudge().judge(changed("production now deploys from release"), problems=("no",))
