"""The only code that knows SQL."""
