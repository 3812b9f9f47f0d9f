"""Keys, scopes and the authenticated caller."""
