"""Named SQL files, one per aggregate; `named_sql` loads them."""
