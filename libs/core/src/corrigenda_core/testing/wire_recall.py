"""Recall right after a write: asked again until the indexer, a process of its own, has seen what was written."""

from __future__ import annotations

import asyncio
from typing import Any

from corrigenda.recall.v1 import recall_service_pb2, result_pb2

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.02


async def current_recall(client: Any, request: recall_service_pb2.RecallRequest) -> recall_service_pb2.RecallResponse:
    """What is recalled once the indexer has seen everything that was written.

    Raises:
        TimeoutError: the search stays behind.
    """
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer: recall_service_pb2.RecallResponse = await client.recall.Recall(request)
            if result_pb2.DEGRADATION_SEARCH_BEHIND not in answer.degraded:
                return answer
            await asyncio.sleep(POLL_SECONDS)
