"""Independence: which supports of a position count as one witness, and which count for nobody."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from corrigenda_core.domain.evidence import Authority, Support
from corrigenda_core.domain.ids import FragmentId, PositionId, ProfileId, SupportId
from corrigenda_core.domain.snapshots import Component, Exclusion, ExclusionReason, SnapshotPosition, Witnesses

SHINGLE_LENGTH_CHARACTERS = 5


def decide_inherited_labels(
    *,
    author: ProfileId,
    source_group: str | None,
    source_key: str | None,
    trusts_declared_groups: bool,
    registered_labels: Collection[str],
    origin_labels: Iterable[str],
) -> tuple[str, ...]:
    """The labels that a fragment inherits at ingest, beside those of its own group and key (R6.1).

    Args:
        author: who wrote the fragment.
        source_group: the declared group, if any.
        source_key: the declared source key, if any.
        trusts_declared_groups: the team's policy.
        registered_labels: ``group:x`` and ``key:y`` that a registry entry lets the author speak for.
        origin_labels: all labels (`decide_labels`) of the fragments that it is adopted or derived from.

    Returns:
        The labels to record, sorted. A declared group or key that nobody granted the author adds the author's own
        label: whoever invents groups stays one witness.
    """
    labels = set(origin_labels)
    declared = _own_labels(source_group, source_key)
    if not trusts_declared_groups and any(label not in registered_labels for label in declared):
        labels.add(decide_author_label(author))
    return tuple(sorted(labels))


def decide_labels(support: Support) -> tuple[str, ...]:
    """All labels of a support: its group and key, the author if it has neither, and the inherited ones."""
    own = _own_labels(support.source_group, support.source_key) or [decide_author_label(support.author)]
    return (*own, *support.inherited_labels)


def _own_labels(source_group: str | None, source_key: str | None) -> list[str]:
    labels = []
    if source_group is not None:
        labels.append(f"group:{source_group}")
    if source_key is not None:
        labels.append(f"key:{source_key}")
    return labels


def decide_author_label(author: ProfileId) -> str:
    """The label that every text of an author has in common."""
    return f"author:{author}"


def is_near_duplicate(text: str, other: str) -> bool:
    """Whether two texts in normal form are near-duplicates: Jaccard of their 5-character shingles at least 0.9.

    A text shorter than a shingle is one shingle of its own; an empty normal form resembles nothing.
    """
    return _resemble(_shingles(text), _shingles(other))


def decide_near_duplicates(text: str, candidates: Collection[tuple[FragmentId, str]]) -> tuple[FragmentId, ...]:
    """The fragments among ``candidates`` (id and normal form) that ``text`` is a near-duplicate of, sorted."""
    if not candidates:
        return ()
    shingles = _shingles(text)
    return tuple(sorted(fragment_id for fragment_id, other in candidates if _resemble(shingles, _shingles(other))))


def _shingles(text: str) -> frozenset[str]:
    last_start = max(len(text) - SHINGLE_LENGTH_CHARACTERS, 0)
    return frozenset(text[start : start + SHINGLE_LENGTH_CHARACTERS] for start in range(last_start + 1) if text)


def _resemble(shingles: frozenset[str], others: frozenset[str]) -> bool:
    common = len(shingles & others)
    return common > 0 and 10 * common >= 9 * (len(shingles) + len(others) - common)


Mark = tuple[str, str]
"""What two supports may have in common: a kind (``label``, ``hash``, ``fragment``) and its value."""


@dataclass(frozen=True, slots=True)
class _Voice:
    """An effective support, the side it stands on, and the marks that it may share with others.

    ``copy_marks`` are those that make two different fragments copies of each other: the text, and the fragments that
    they are, or come from. A near-duplicate is a copy inside a position only, so its marks are kept apart.
    """

    side: PositionId
    support: Support
    labels: tuple[Mark, ...]
    copy_marks: tuple[Mark, ...]
    near_marks: tuple[Mark, ...]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Everything that joins it with others of its position."""
        return self.labels + self.copy_marks + self.near_marks


def decide_witnesses(positions: Iterable[SnapshotPosition]) -> Witnesses:
    """Counts the witnesses of every position: each counted component and each exclusion with its reason (R6.4).

    Profiles, relationships, copies, summaries, adoptions and repeated revisions add nothing to a count: they end up
    inside the component that is there already.

    Returns:
        Every effective support exactly once, in a component or in an exclusion; the order of the input leaves no trace.
    """
    voices = _voices(positions)
    shared = _found_on_two_sides(voices)
    copies = _copies_of_other_side(voices)
    components, exclusions = [], []
    for voice in voices:
        if voice.support.support_id in copies:
            exclusions.append(_exclusion([voice], ExclusionReason.COPY_OF_OTHER_SIDE))
    for joined in _join([voice for voice in voices if voice.support.support_id not in copies]):
        if shared and any(mark in shared for voice in joined for mark in (*voice.labels, _own_fragment(voice.support))):
            exclusions.append(_exclusion(joined, ExclusionReason.ON_BOTH_SIDES))
        else:
            components.append(_component(joined))
    exclusions.sort(key=lambda exclusion: (exclusion.position_id, exclusion.support_ids))
    return Witnesses(components=tuple(components), exclusions=tuple(exclusions))


def decide_independent_groups(supports: Iterable[Support]) -> int:
    """How many witnesses the effective supports of one relationship are, when no other position is looked at."""
    alone = PositionId("")
    return len(_join([_voice(alone, support) for support in supports if support.effective]))


def _voices(positions: Iterable[SnapshotPosition]) -> list[_Voice]:
    """The effective supports by position and id: whatever is built from them in one pass comes out in that order."""
    effective = [
        (position.position_id, support.support_id, support)
        for position in positions
        for member in position.members
        for support in member.supports
        if support.effective
    ]
    effective.sort(key=lambda entry: entry[:2])
    return [_voice(side, support) for side, _, support in effective]


def _voice(side: PositionId, support: Support) -> _Voice:
    copy_marks = [_own_fragment(support), *(("fragment", origin) for origin in support.derived_from_fragment_ids)]
    if support.adopted_from_fragment_id is not None:
        copy_marks.append(("fragment", support.adopted_from_fragment_id))
    if support.content_hash is not None:
        copy_marks.append(("hash", support.content_hash))
    return _Voice(
        side=side,
        support=support,
        labels=tuple(("label", label) for label in decide_labels(support)),
        copy_marks=tuple(copy_marks),
        near_marks=tuple(("fragment", near) for near in support.near_duplicate_fragment_ids),
    )


def _own_fragment(support: Support) -> Mark:
    return ("fragment", support.fragment_id)


def _found_on_two_sides(voices: Iterable[_Voice]) -> set[Mark]:
    """The labels and fragments found on two positions: they count for neither (R6.3).

    They are noted before the copies of the other side are taken out, so that nobody clears an own label by copying.
    """
    side_of: dict[Mark, PositionId] = {}
    return {
        mark
        for voice in voices
        for mark in (*voice.labels, _own_fragment(voice.support))
        if side_of.setdefault(mark, voice.side) != voice.side
    }


def _copies_of_other_side(voices: Iterable[_Voice]) -> set[SupportId]:
    """The supports that copy an earlier recorded text of another position; only the later one is out.

    An old witness is not silenced by whoever copies it later. The links are direct ones, and all pairs are judged on
    the same list: an excluded copy still excludes what was copied from it later.
    """
    sharing: dict[Mark, list[_Voice]] = {}
    for voice in voices:
        for mark in voice.copy_marks:
            sharing.setdefault(mark, []).append(voice)
    copies = set()
    for group in (voices_of_mark for voices_of_mark in sharing.values() if len(voices_of_mark) > 1):
        group.sort(key=lambda voice: (voice.support.recorded_at, voice.support.fragment_id))
        for place, later in enumerate(group):
            fragment_id = later.support.fragment_id
            if any(
                earlier.side != later.side and earlier.support.fragment_id != fragment_id
                for earlier in islice(group, place)
            ):
                copies.add(later.support.support_id)
    return copies


def _join(voices: Sequence[_Voice]) -> list[list[_Voice]]:
    """The components: voices of one position joined, over any number of steps, by an equal label or a copy link (R6.2).

    A fragment joins what is, copies or comes from it also where it stands outside the case or has lost its effect.
    """
    parents = list(range(len(voices)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first_with: dict[tuple[PositionId, Mark], int] = {}
    for index, voice in enumerate(voices):
        for mark in voice.marks:
            parents[root(index)] = root(first_with.setdefault((voice.side, mark), index))
    joined: dict[int, list[_Voice]] = {}
    for index, voice in enumerate(voices):
        joined.setdefault(root(index), []).append(voice)
    return list(joined.values())


def _component(joined: Sequence[_Voice]) -> Component:
    return Component(
        position_id=joined[0].side,
        support_ids=tuple(voice.support.support_id for voice in joined),
        authoritative=any(voice.support.authority is Authority.AUTHORITATIVE for voice in joined),
    )


def _exclusion(joined: Sequence[_Voice], reason: ExclusionReason) -> Exclusion:
    return Exclusion(
        position_id=joined[0].side,
        support_ids=tuple(voice.support.support_id for voice in joined),
        reason=reason,
    )
