"""Which subcommand reaches which method of the services: the one table of it, with a command line for each.

Every method can be called by `corrigenda call`; those that are not listed here have no command of their own.
"""

from __future__ import annotations

_ID, _OTHER = "01920000-0000-7000-8000-000000000001", "01920000-0000-7000-8000-000000000002"
_CLAIM = ("a text", "--subject", "environment:production", "--predicate", "deploys_from", "--object", "git_branch:main")

REACHED: dict[str, tuple[str, ...]] = {
    "IngestService/Remember": ("remember", *_CLAIM),
    "IngestService/RememberStream": ("remember", "--lines", "-"),
    "IngestService/PreflightRemember": ("preflight", *_CLAIM),
    "IngestService/GetPlacement": ("placements", "show", _ID),
    "IngestService/ResolvePlacement": ("placements", "decide", _ID, "retry_verification"),
    "IngestService/CorrectEntityResolution": ("entities", "merge", _ID, _OTHER),
    "IngestService/AdoptEvidence": ("adopt", _ID, _OTHER, "--quote", "a passage"),
    "IngestService/Forget": ("forget", "retract", _ID),
    "AdminService/GetTeam": ("teams", "show"),
    "AdminService/UpdateTeamPolicy": ("teams", "policy", "--review-period-days", "3"),
    "AdminService/CreateProfile": ("profiles", "create", "ada"),
    "AdminService/ListProfiles": ("profiles", "list"),
    "AdminService/CreateKey": ("keys", "create", _ID, "--scope", "read"),
    "AdminService/RotateKey": ("keys", "rotate", _ID),
    "AdminService/RevokeKey": ("keys", "revoke", _ID),
    "AdminService/ListKeys": ("keys", "list"),
    "AdminService/RegisterSource": ("sources", "register", "--group", "runbooks"),
    "AdminService/ListSources": ("sources", "list"),
    "AdminService/RegisterPredicate": ("predicates", "register", "deploys_from"),
    "AdminService/DriveClock": ("teams", "clock", "2026-03-01T00:00:00Z"),
    "AdminService/OpenTeam": ("teams", "open"),
    "AdminService/ScanConflicts": ("predicates", "scan", "deploys_from"),
    "AdminService/EraseEvidence": ("erase", _ID, "--reason", "asked for"),
    "AdminService/ListAlerts": ("alerts",),
    "ConflictService/ListConflicts": ("conflicts", "list"),
    "ConflictService/GetConflict": ("conflicts", "show", _ID),
    "ConflictService/ExplainConflict": ("conflicts", "explain", _ID),
    "ConflictService/GetCompetingFacts": ("entities", "disputes", _ID),
    "ConflictService/ResolveConflict": (
        *("conflicts", "resolve", _ID, "--keep-new", _OTHER),
        *("--expected-version", "1"),
    ),
    "ConflictService/RevertResolution": ("conflicts", "revert", _ID),
    "ConflictService/AutoResolve": ("conflicts", "auto", "--dry-run"),
    "ConflictService/WatchConflicts": ("conflicts", "watch", "--until-now"),
    "ConflictService/ReviewNow": ("review", "now"),
    "ConflictService/ListReviewRuns": ("review", "runs"),
    "ConflictService/ListReviewItems": ("items", "list"),
    "RecallService/Recall": ("recall", "production"),
    "RecallService/Trace": ("trace", _ID),
    "RecallService/Timeline": ("timeline", _ID),
    "RecallService/GetRelationship": ("relationships", "show", _ID),
    "RecallService/SearchEntities": ("entities", "list", "production"),
    "RecallService/ListPredicates": ("predicates", "list"),
    "RecallService/GetSourceHistory": ("sources", "history", "--group", "runbooks"),
    "RecallService/ListChanges": ("changes",),
}


def command_of(method: str) -> str:
    """The subcommand that reaches a method, such as ``conflicts list``; empty: only `corrigenda call` does."""
    line = REACHED.get(method, ())
    depth = 2 if line and line[0] not in _WITHOUT_ACTIONS else 1
    return " ".join(line[:depth])


_WITHOUT_ACTIONS = {
    "remember",
    "preflight",
    "adopt",
    "erase",
    "alerts",
    "recall",
    "trace",
    "timeline",
    "changes",
}
