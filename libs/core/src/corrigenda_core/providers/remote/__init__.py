"""Adapters to model services that speak the OpenAI-compatible HTTP interface."""
