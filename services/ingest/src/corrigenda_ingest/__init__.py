"""The ingest service: owner-authored writes and administration."""
