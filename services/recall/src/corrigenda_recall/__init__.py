"""The recall service: read-only answers on both time axes, and the indexer process."""
