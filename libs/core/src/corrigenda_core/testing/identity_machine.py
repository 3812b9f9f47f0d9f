"""The team machine with corrections of identity among its commands, for the model in memory."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from corrigenda_core.domain.ids import EntityId
from corrigenda_core.testing.memory_twin import MemoryTwin
from corrigenda_core.testing.team_machine import TeamMachine, object_id_of, picked, rows_of
from corrigenda_core.testing.team_twin import PROFILES

_PICK = st.integers(min_value=0, max_value=10_000)


class IdentityMachine(TeamMachine):
    """The commands of the team machine, and two more."""

    def __init__(self) -> None:
        super().__init__(self._made)
        self._memories: list[MemoryTwin] = []
        self._entities = 0

    def _made(self) -> MemoryTwin:
        self._memories.append(MemoryTwin())
        return self._memories[-1]

    @precondition(lambda self: bool(rows_of(self.twins[0])))
    @rule(pick=_PICK, who=st.sampled_from(PROFILES), own=st.integers(0, 5), as_object=st.booleans())
    def split(self, pick: int, who: str, own: int, as_object: bool) -> None:
        """What a relationship stands on was about another entity, mostly as its owner says."""
        twin = self._memories[0]
        row = picked(rows_of(twin), pick)
        entity_id = EntityId(object_id_of(row)) if as_object else row.slot.subject_id
        self._entities += 1
        name = f"{entity_id.split(' ')[0]} {self._entities}"
        twin.split(row.owner_id if own else who, row, entity_id, name)

    @precondition(lambda self: bool(rows_of(self.twins[0])))
    @rule(pick=_PICK, other=_PICK, as_object=st.booleans())
    def merge_entities(self, pick: int, other: int, as_object: bool) -> None:
        """Two entities were one, as an owner says."""
        twin = self._memories[0]
        rows = rows_of(twin)
        ends = [EntityId(object_id_of(one)) if as_object else one.slot.subject_id for one in rows]
        known = list(dict.fromkeys(ends))
        twin.merge_entities(picked(rows, pick).owner_id, picked(ends, pick), picked(known, other))
