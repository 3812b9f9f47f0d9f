"""References between an owner's own rows: each is said once, however often the timeline is folded again."""

from __future__ import annotations

import pytest
from corrigenda_core.domain.relationships import ReferenceKind
from corrigenda_core.testing.slot_ledger import SlotLedger
from corrigenda_core.testing.slots import predicate


@pytest.mark.rule("R4.10")
def test_a_row_that_ends_another_again_is_not_said_to_replace_it_twice() -> None:
    ledger = SlotLedger(predicate())
    for line in ("main 1 Jan", "release 1 Mar", "trunk 1 Feb"):
        ledger.place(line)
    ledger.retract("s2")
    assert ledger.rows()[:2] == ["main 1 Jan..1 Mar superseded", "release 1 Mar.. active"]
    main, release, trunk = (ledger.row_id(name) for name in ("s0", "s1", "s2"))
    replacing = [(r.source_id, r.target_id) for r in ledger.view.references if r.kind is ReferenceKind.REPLACES]
    assert replacing == [(release, main), (trunk, main)]
