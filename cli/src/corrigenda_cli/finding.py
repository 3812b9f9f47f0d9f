"""Review items by their id: what a decision on one needs to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corrigenda_cli.asking import PAGE_SIZE_MAX, ask
from corrigenda_cli.calling import InputError

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

ITEM_KINDS = ("identity", "predicate", "relationship", "correction", "quarantine", "winner_withdrawn")
ITEM_STATUSES = ("pending", "resolved", "closed")


async def item_of(client: Client, item_id: str, *, pending: bool = True) -> Any:
    """One of the caller's review items; with ``pending`` only those that wait are looked through.

    Raises:
        InputError: the caller has none with this id.
    """
    fields: dict[str, Any] = {
        "statuses": ["pending"] if pending else list(ITEM_STATUSES),
        "page_size": PAGE_SIZE_MAX,
    }
    while True:
        page = await ask(client, "ListReviewItems", fields)
        for item in page.items:
            if item.item_id == item_id:
                return item
        if not page.next_page_token:
            raise InputError(f"you have no {'pending ' if pending else ''}question {item_id}")
        fields["page_token"] = page.next_page_token
