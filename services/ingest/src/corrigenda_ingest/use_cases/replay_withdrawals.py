"""Replays on a restored backup what was withdrawn after it was made: erased texts go again, ended keys end again.

By the same use cases as the first time, so that dependants follow and the ledger goes on. Done twice, it does nothing
the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2 as messages
from corrigenda_core.domain.actors import Caller, KeyScope
from corrigenda_core.domain.errors import Reason, Refusal
from corrigenda_core.domain.ids import FragmentId, KeyId, ProfileId, TeamId
from corrigenda_core.domain.time import Instant
from corrigenda_core.persistence.database import Row
from corrigenda_core.persistence.named_sql import Query, load_sql
from corrigenda_core.persistence.read_transaction import ReadRunner, ReadTransaction
from corrigenda_core.persistence.withdrawals import EndedKey, Withdrawal, WithdrawnText
from corrigenda_core.ports.deadline import NO_DEADLINE

from corrigenda_ingest.use_cases.erase_evidence import EraseEvidence
from corrigenda_ingest.use_cases.keys import Keys
from corrigenda_ingest.use_cases.list_keys import is_live

_NO_KEY = KeyId("00000000-0000-0000-0000-000000000000")


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What a replay did; ``nothing_to_do`` counts what the backup does not have, or has as it should be."""

    erasures: int = 0
    keys: int = 0
    nothing_to_do: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayWithdrawals:
    """The use case; ``now`` is the real time, which says whether a key has ended."""

    reader: ReadRunner
    erase: EraseEvidence
    keys: Keys
    now: Callable[[], Instant]

    async def __call__(self, withdrawals: Iterable[Withdrawal]) -> Replayed:
        """Replays them in their order.

        Raises:
            Refusal: OVERLOADED, STORE_UNAVAILABLE; what is done stays done, and the same call goes on from there.
        """
        replayed = Replayed()
        for withdrawal in withdrawals:
            match withdrawal:
                case WithdrawnText():
                    done = await self._erased(withdrawal)
                    replayed.erasures += done
                case EndedKey():
                    done = await self._ended(withdrawal)
                    replayed.keys += done
            replayed.nothing_to_do += not done
        return replayed

    async def _erased(self, withdrawn: WithdrawnText) -> bool:
        done = False
        for fragment_id in await self._restored(withdrawn):
            caller = await self._caller(withdrawn.team_id, withdrawn.erased_by)
            request = messages.EraseEvidenceRequest(
                idempotency_key=f"replay {withdrawn.erasure_id} {fragment_id}",
                fragment_id=fragment_id,
                reason=withdrawn.reason,
            )
            try:
                await self.erase(caller, request, NO_DEADLINE)
                done = True
            except Refusal as refusal:
                # A copy of the text that came just before in this loop took this one along.
                if refusal.reason is not Reason.EVIDENCE_ERASED:
                    raise
        return done

    async def _ended(self, ended: EndedKey) -> bool:
        now = self.now()
        query = load_sql("admin.sql").query("key_row", team_id=ended.team_id, key_id=ended.key_id)
        if ended.ends_at > now or not any(is_live(row, now) for row in await self._rows(ended.team_id, query)):
            return False
        caller = await self._caller(ended.team_id, None)
        # A key of its own for each time: a revoked key that is live again was brought back by one more restore.
        request = messages.RevokeKeyRequest(
            idempotency_key=f"replay {now.isoformat()} {ended.key_id}",
            key_id=ended.key_id,
            reason="revoked, or expired, before the backup was restored",
        )
        await self.keys.revoke(caller, request, NO_DEADLINE)
        return True

    async def _restored(self, withdrawn: WithdrawnText) -> list[FragmentId]:
        """Its fragments that hold their text, the one that was named first."""
        query = load_sql("withdrawals.sql").query(
            "restored_fragments", team_id=withdrawn.team_id, fragment_ids=list(withdrawn.fragment_ids)
        )
        restored = {row["fragment_id"] for row in await self._rows(withdrawn.team_id, query)}
        return [one for one in withdrawn.fragment_ids if one in restored]

    async def _caller(self, team_id: TeamId, wanted: ProfileId | None) -> Caller:
        """In whose name the records of the replay stand."""
        query = load_sql("withdrawals.sql").query("acting_profile", team_id=team_id, wanted=wanted)
        (row,) = await self._rows(team_id, query)
        return Caller(
            team_id=team_id,
            profile_id=row["profile_id"],
            key_id=_NO_KEY,
            scopes=frozenset({KeyScope.ADMIN}),
        )

    async def _rows(self, team_id: TeamId, query: Query) -> list[Row]:
        """The rows of one query; none of a team that came after the backup."""

        def read(transaction: ReadTransaction) -> list[Row]:
            return transaction.prefetched[query.name]

        try:
            return await self.reader.run(team_id, read, prefetch=[query], one_trip=True)
        except Refusal as refusal:
            if refusal.reason is Reason.RESOURCE_NOT_FOUND:
                return []
            raise
