"""Fakes, factories and strategies that tests and tools share."""
