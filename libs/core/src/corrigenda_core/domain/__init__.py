"""Frozen values of the domain; no I/O, no clock, no randomness."""
