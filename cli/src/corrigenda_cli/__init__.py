"""The corrigenda command."""
