"""The indexer process: search documents and embeddings."""
