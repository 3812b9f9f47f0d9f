"""Protocols that shells implement: stores, clock, ids, providers."""
