"""The error codes that the schema's own nets raise; class ZC is free for applications (SQL leaves I to Z to them).

`migrations/sql` raises them, `failures` maps them, tests expect them.
"""

IMMUTABLE_ROW = "ZC001"
"""UPDATE, DELETE or TRUNCATE on a table whose rows are written once."""
LIFECYCLE_REFUSED = "ZC002"
"""A change of state that the row's lifecycle, or the writing role's part in it, does not allow."""
HISTORY_BROKEN = "ZC003"
"""A version, a revision, a recorded time or a clock that does not go on from the last one."""
INSTANT_NOT_REACHED = "ZC004"
"""An instant that the team's clock has not reached was to be settled."""
TEAM_NOT_SET = "ZC005"
"""The transaction has not said which team it serves, or that team has no clock."""
