"""Generated from protos/; never edited by hand (dev.py generate)."""
