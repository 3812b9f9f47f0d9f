"""Lists every row that holds a copy of erased words, table by table, with the tombstone of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corrigenda_core.persistence import tables
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.erased_rows import ErasedRows, json_of, json_text
from corrigenda_core.policy.erasure import ERASED, ErasedWords, decide_erased_key, is_quoting
from sqlalchemy import Table

from corrigenda_ingest.erasing import ErasedSpeech, Scrubbed, slot_of, strings_of

_IDS = re.compile(r"\s*([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*)*")
_NOTHING = ErasedWords(values={}, displays={})

Columns = dict[str, tuple[object, str]]


@dataclass(frozen=True, kw_only=True)
class ErasedCopies:
    """Collects the copies of one erasure; ``scrubbed`` takes the words out of a stored response."""

    speech: ErasedSpeech
    scrubbed: Scrubbed
    rows: ErasedRows = field(default_factory=ErasedRows)

    def collected(self) -> ErasedRows:
        """Everything that is to be replaced."""
        self._fragments()
        self._observations()
        self._names()
        self._statements()
        self._relationships()
        self._cases()
        self._evaluations()
        self._items()
        self._decisions()
        self._responses()
        return self.rows

    def _add(self, table: Table, key: Iterable[object], columns: Columns) -> None:
        """Adds the columns that will read otherwise, if there are any."""
        changed = {name: (old, stone) for name, (old, stone) in columns.items() if old != stone}
        if changed:
            self.rows.add(table, list(key), changed)

    def _fragments(self) -> None:
        stones = self.speech.tombstones
        for row in self.speech.fragments:
            columns: Columns = {"content": (row["content"], stones.text(row["content"]))}
            for name in ("content_sha256", "normal_sha256"):
                if row[name] is not None:
                    columns[name] = (bytes(row[name]), f"\\x{stones.keyed_hash(row['content']).hex()}")
            columns |= self._json("metadata", row["metadata"])
            self._add(tables.evidence_fragments, [row["fragment_id"]], columns)
        for row in self.speech.answers["erasure_occurrences"]:
            key = [row["occurrence_id"]]
            self._add(tables.evidence_occurrences, key, self._json("metadata", row["metadata"]))

    def _observations(self) -> None:
        observed: dict[str, Columns] = defaultdict(dict)
        bound = {row["statement_id"] for row in self.speech.answers["erasure_statements"]}
        for row in self.speech.touched:
            names = self.speech.gone_phrases(row)
            # What is bound to a slot keeps the slot's value and scope, for as long as the slot does.
            if row["observation_id"] not in bound:
                is_gone = row["observation_id"] in self.speech.silenced or "value_display" in names
                names += [name for name in ("value_canonical", "scope") if row[name] and is_gone]
            observed[row["observation_id"]] |= {name: self._stone(row[name]) for name in names}
            observed[row["observation_id"]] |= self._document("mentions", row["mentions"], self._is_unsaid(row))
        for row in self.speech.answers["erasure_statements"]:
            erased = self._words(row)
            if row["object_key"] in erased.values and row["observed_canonical"] is not None:
                observed[row["statement_id"]]["value_canonical"] = self._stone(row["observed_canonical"])
            if erased.scope is not None:
                observed[row["statement_id"]]["scope"] = self._stone(row["observed_scope"])
        for observation_id, columns in observed.items():
            self._add(tables.observations, [observation_id], columns)
        for row in self.speech.answers["erasure_verdicts"]:
            if row["observation_id"] in self.speech.silenced or self._is_quoting(row["reason"]):
                columns = {"reason": self._stone(row["reason"])} if row["reason"] else {}
                self._add(tables.verification_events, [row["verification_id"]], columns)

    def _names(self) -> None:
        for row in self.speech.names:
            form = self._stone(row["normal_name"])
            columns = {"normal_name": form, "name": self._stone(row["name"])}
            self._add(tables.entity_names, [row["entity_id"], form[1], row["given_by"]], columns)
        for row in self.speech.contexts:
            value = self._stone(row["context_value"])
            key = [row["entity_id"], row["context_key"], value[1]]
            self._add(tables.entity_contexts, key, {"context_value": value})

    def _statements(self) -> None:
        for row in self.speech.answers["erasure_statements"]:
            self._add(tables.statements, [row["statement_id"], row["revision"]], self._spoken(row))
        for row in self.speech.answers["erasure_closings"]:
            self._add(tables.transitions, [row["transition_id"]], self._keyed(row, "closing_object_key"))
        for row in self.speech.answers["erasure_decided_closings"]:
            key = [row["decision_id"], row["entry"]]
            self._add(tables.timeline_decisions, key, self._keyed(row, "closing_object_key"))

    def _relationships(self) -> None:
        for row in self.speech.answers["erasure_relationships"]:
            columns = self._spoken(row)
            self._add(tables.relationships_history, [row["relationship_id"], row["version"]], columns)
            if row["version"] == row["current_version"]:
                self._add(tables.relationships, [row["relationship_id"]], columns)

    def _cases(self) -> None:
        for row in self.speech.answers["erasure_cases"]:
            columns = self._keyed(row, "object_key") | self._scoped(row)
            self._add(tables.conflict_cases_history, [row["conflict_id"], row["revision"]], columns)
            if row["revision"] == row["current_revision"]:
                self._add(tables.conflict_cases, [row["conflict_id"]], columns)
        for row in self.speech.answers["erasure_positions"]:
            columns, key = self._keyed(row, "position_key"), [row["conflict_id"], row["position_id"]]
            self._add(tables.case_positions_history, [*key, row["version"]], columns)
            if row["version"] == row["current_version"]:
                self._add(tables.case_positions, key, columns)

    def _evaluations(self) -> None:
        for row in self.speech.answers["erasure_evaluations"]:
            read = set(strings_of(json_of(row["snapshot"])))
            columns: Columns = {}
            if read & self.speech.fragment_ids or any(map(self._is_quoting, read)):
                columns |= self._json("snapshot", row["snapshot"])
            if any(map(self._is_quoting, strings_of(json_of(row["decision"])))):
                columns |= self._json("decision", row["decision"])
            self._add(tables.case_evaluations, [row["evaluation_id"]], columns)

    def _items(self) -> None:
        for row in self.speech.answers["erasure_items"]:
            columns = self._scoped(row) if row["subject_id"] is not None else {}
            is_about = row["fragment_id"] in self.speech.fragment_ids or row["statement_id"] in self.speech.silenced
            columns |= self._document("details", row["details"], (lambda _: True) if is_about else self._is_quoting)
            self._add(tables.review_items_history, [row["item_id"], row["version"]], columns)
            if row["version"] == row["current_version"]:
                self._add(tables.review_items, [row["item_id"]], columns)

    def _decisions(self) -> None:
        for row in self.speech.answers["erasure_decisions"]:
            columns: Columns = {}
            only_silenced = bool(row["statement_ids"]) and set(row["statement_ids"]) <= self.speech.silenced
            if row["reason"] and (only_silenced or self._is_quoting(row["reason"])):
                columns["reason"] = self._stone(row["reason"])
            columns |= self._document("details", row["details"], self._is_quoting)
            self._add(tables.decisions, [row["decision_id"]], columns)

    def _responses(self) -> None:
        for row in self.speech.answers["erasure_responses"]:
            old = bytes(row["response"])
            key = [row["profile_id"], row["idempotency_key"]]
            self._bytes(tables.idempotency_records, key, "response", old, self.scrubbed(row["rpc"], old))
        for row in self.speech.answers["erasure_results"]:
            old = bytes(row["result"])
            scrubbed = self.scrubbed("corrigenda.ingest.v1.RememberRequest", old)
            self._bytes(tables.ingests, [row["ingest_id"]], "result", old, scrubbed)

    def _bytes(self, table: Table, key: list[object], column: str, old: bytes, scrubbed: bytes) -> None:
        if scrubbed != old:
            self._add(table, key, {column: (old, f"\\x{scrubbed.hex()}")})

    def _spoken(self, row: Row) -> Columns:
        """The columns of a statement or a relationship: its value and its scope."""
        erased = self._words(row)
        columns = self._keyed(row, "object_key") | self._scoped(row)
        if row["object_key"] in erased.values:
            columns["value_canonical"] = (row["value_canonical"], erased.values[row["object_key"]])
        display = erased.displays.get((row["object_key"], row["value_display"]))
        if display is not None:
            columns["value_display"] = (row["value_display"], display)
        return columns

    def _keyed(self, row: Row, column: str) -> Columns:
        return {column: (row[column], decide_erased_key(row[column], self._words(row)))}

    def _scoped(self, row: Row) -> Columns:
        erased = self._words(row)
        return {} if erased.scope is None else {"scope": (row["scope"], erased.scope)}

    def _words(self, row: Row) -> ErasedWords:
        return self.speech.slots.get(slot_of(row), _NOTHING)

    def _json(self, name: str, text: str) -> Columns:
        value = json_of(text)
        if not value or (isinstance(value, Mapping) and value.keys() == {ERASED}):
            return {}
        return {name: (value, self.speech.tombstones.json(text))}

    def _document(self, name: str, text: str, is_gone: Callable[[str], bool]) -> Columns:
        """A document with tombstones for its words: what reads it still finds its members, and the ids in them."""
        value = json_of(text)
        stoned = self._stoned(value, lambda words: not _is_ids(words) and is_gone(words))
        return {name: (value, json_text(stoned))} if stoned != value else {}

    def _stoned(self, value: Any, is_gone: Callable[[str], bool]) -> Any:
        if isinstance(value, Mapping):
            # What kind of thing a mention names is no name of it.
            return {name: member if name == "kind" else self._stoned(member, is_gone) for name, member in value.items()}
        if isinstance(value, list):
            return [self._stoned(member, is_gone) for member in value]
        if not isinstance(value, str):
            return value
        if value.startswith(("[", "{")):
            # A document inside a document: the mentions that a question asks about.
            try:
                return json_text(self._stoned(json_of(value), is_gone))
            except ValueError:
                pass
        return self.speech.stone(value) if is_gone(value) else value

    def _is_unsaid(self, observation: Row) -> Callable[[str], bool]:
        return lambda words: self.speech.is_unsaid(observation, words)

    def _stone(self, text: str) -> tuple[object, str]:
        return text, self.speech.stone(text)

    def _is_quoting(self, text: str) -> bool:
        return is_quoting(text, self.speech.quoted_forms)


def _is_ids(words: str) -> bool:
    return _IDS.fullmatch(words) is not None
