"""Verifier, extractor, judge and embedder: local defaults and adapters."""
