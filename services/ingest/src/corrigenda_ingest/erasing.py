"""Finds out which words go with an erased text: those that nothing else gave, in every row that holds a copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from corrigenda_core.domain.ids import EntityId, FragmentId, IngestId, PredicateKey, StatementId
from corrigenda_core.domain.objects import Slot
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.erased_rows import Tombstones
from corrigenda_core.policy.erasure import ErasedWords, is_given_by, is_tombstone
from corrigenda_core.policy.normalisation import decide_text_form

_OWN_NAMES = ("proposal_id", "subject_ref", "object_ref")
_PHRASES = ("subject_phrase", "object_phrase", "value_display", "comment")

Answers = Mapping[str, list[Row]]


def slot_of(row: Row) -> Slot:
    """The slot in the columns of a row."""
    return Slot(subject_id=row["subject_id"], predicate=PredicateKey(row["predicate"]), scope=row["scope"])


def cited_ids(observation: Row) -> set[FragmentId]:
    """The texts that an observation cites."""
    return {FragmentId(span["fragment_id"]) for span in observation["spans"]}


@dataclass(frozen=True, kw_only=True)
class ErasedSpeech:
    """What was said in the erased texts, and by nothing else.

    Attributes:
        fragments: the rows of the erased texts.
        answers: the rows that the statements of ``erasure.sql`` have found so far, by statement.
        tombstones: what stands in the place of words.
    """

    fragments: list[Row]
    answers: Answers
    tombstones: Tombstones
    _forms: dict[str, str] = field(default_factory=dict)

    @cached_property
    def fragment_ids(self) -> set[FragmentId]:
        """The erased texts."""
        return {FragmentId(row["fragment_id"]) for row in self.fragments}

    @cached_property
    def ingest_ids(self) -> set[IngestId]:
        """The submissions that held one of them."""
        rows = (*self.fragments, *self.answers["erasure_occurrences"])
        return {IngestId(row["ingest_id"]) for row in rows}

    @cached_property
    def touched(self) -> list[Row]:
        """The observations that cite one of the texts."""
        return [row for row in self.answers["erasure_observations"] if cited_ids(row) & self.fragment_ids]

    @cached_property
    def affected_ids(self) -> list[StatementId]:
        """The observations whose statements stand otherwise afterwards: touched ones, and those that adopted a text."""
        rows = self.answers["erasure_observations"]
        touched = {row["observation_id"] for row in self.touched}
        return sorted(r["observation_id"] for r in rows if r["is_supported"] or r["observation_id"] in touched)

    @cached_property
    def entity_ids(self) -> list[EntityId]:
        """The entities that the touched observations speak of."""
        found = {row[name] for row in self.touched for name in ("subject_id", "object_entity_id")}
        return sorted(one for one in found if one is not None)

    @cached_property
    def _erased_forms(self) -> list[str]:
        return [self._form(row["content"]) for row in self.fragments]

    @cached_property
    def _living(self) -> dict[FragmentId, str]:
        return {
            FragmentId(row["fragment_id"]): self._form(row["content"]) for row in self.answers["erasure_living_texts"]
        }

    @cached_property
    def silenced(self) -> set[StatementId]:
        """The touched observations that no text speaks for any more."""
        return {
            row["observation_id"]
            for row in self.touched
            if not row["is_supported_elsewhere"] and not cited_ids(row) & self._living.keys()
        }

    def _form(self, text: str) -> str:
        if text not in self._forms:
            self._forms[text] = decide_text_form(text)
        return self._forms[text]

    def is_unsaid(self, observation: Row, words: str) -> bool:
        """Whether only the erased texts gave these words of a touched observation."""
        if observation["observation_id"] in self.silenced:
            return True
        cited = [self._living[one] for one in cited_ids(observation) & self._living.keys()]
        return not is_given_by(words, cited or self._living.values())

    def gone_phrases(self, observation: Row) -> list[str]:
        """The columns of a touched observation whose words only the erased texts gave."""
        silent = observation["observation_id"] in self.silenced
        # A registered predicate's phrase is the registry's, whoever used it.
        names = (*_PHRASES, *(() if observation["predicate"] is not None else ("predicate_phrase",)))
        names = (*names, *(_OWN_NAMES if silent else ()))
        return [name for name in names if observation[name] and self.is_unsaid(observation, observation[name])]

    @cached_property
    def slots(self) -> dict[Slot, ErasedWords]:
        """The slots in which an affected statement stands, with the words that each of them loses."""
        affected = set(self.affected_ids)
        by_slot: dict[Slot, list[Row]] = defaultdict(list)
        for row in self.answers["erasure_statements"]:
            by_slot[slot_of(row)].append(row)
        return {
            slot: self._slot_words(slot, rows)
            for slot, rows in by_slot.items()
            if any(row["statement_id"] in affected for row in rows)
        }

    def _slot_words(self, slot: Slot, rows: list[Row]) -> ErasedWords:
        silent = [row for row in rows if row["statement_id"] in self.silenced]
        living = [row for row in rows if row["living"]]
        living_keys = {row["object_key"] for row in living}
        spoken = {(row["object_key"], row["value_display"]) for row in living}
        erased = {r["object_key"]: r for r in silent if r["value_type"] is not None}
        values = {key: self.stone(row["value_canonical"]) for key, row in erased.items() if key not in living_keys}
        of_rows = [row for row in self.answers["erasure_relationships"] if slot_of(row) == slot]
        written = {(row["object_key"], row["value_display"]) for row in (*silent, *of_rows)}
        return ErasedWords(
            values=values,
            displays={
                (key, display): self.stone(display)
                for key, display in written
                if key in erased and display and (key in values or (key, display) not in spoken)
            },
            scope=self.stone(slot.scope) if slot.scope and silent and not living else None,
        )

    def stone(self, text: str) -> str:
        """What stands for words; a tombstone stands for itself."""
        return text if not text or is_tombstone(text) else self.tombstones.text(text)

    @cached_property
    def names(self) -> list[Row]:
        """The names of entities that only the erased texts gave."""
        phrases: dict[str, set[str]] = defaultdict(set)
        for row in self.answers["erasure_living_phrases"]:
            phrases[row["entity_id"]].add(self._form(row["phrase"]))
        return [
            row
            for row in self.answers["erasure_names"]
            if not is_tombstone(row["normal_name"])
            and row["normal_name"] not in phrases[row["entity_id"]]
            and self._is_gone(row["normal_name"], row)
        ]

    @cached_property
    def contexts(self) -> list[Row]:
        """The identity contexts that only the erased texts gave."""
        return [
            row
            for row in self.answers["erasure_contexts"]
            if not is_tombstone(row["context_value"]) and self._is_gone(row["context_value"], row)
        ]

    def _is_gone(self, words: str, row: Row) -> bool:
        """Whether nothing of the submission that gave the words is left to give them."""
        ingest_id = row["ingest_id"]
        if ingest_id is None:
            return is_given_by(words, self._erased_forms)
        if ingest_id not in self.ingest_ids:
            return not row["ingest_lives"]
        living = [
            self._living[FragmentId(one["fragment_id"])]
            for one in self.answers["erasure_living_texts"]
            if one["ingest_id"] == ingest_id
        ]
        if not living:
            return True
        return not is_given_by(words, living) and is_given_by(words, self._erased_forms)

    @cached_property
    def quoted_forms(self) -> set[str]:
        """The normal forms of all that is erased: what repeats one of them goes as well."""
        words: set[str] = {row["content"] for row in self.fragments}
        words |= {row[name] for row in self.touched for name in self.gone_phrases(row) if name not in _OWN_NAMES}
        words |= {row["name"] for row in self.names}
        for row in self.answers["erasure_statements"]:
            erased = self.slots.get(slot_of(row))
            if erased is not None and row["object_key"] in erased.values:
                words |= {row["value_canonical"], row["value_display"]}
        return {self._form(word) for word in words if word and not is_tombstone(word)}


def strings_of(value: Any) -> Iterable[str]:
    """Every text inside a JSON value, names of members included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield str(name)
            yield from strings_of(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_of(member)


Scrubbed = Callable[[str, bytes], bytes]
"""Takes the words out of a stored response: the full name of its request, and its bytes."""
