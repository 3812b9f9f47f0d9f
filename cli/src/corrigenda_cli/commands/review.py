"""`corrigenda review`: replays what the reviewer decided, and previews what it would decide under another setting.

Both read the tables as the auditor's role, in one snapshot, and change nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from corrigenda_cli.database_source import NoDatabase, add_database_options, database_url, id_argument
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command
from corrigenda_cli.reviewing import add_reviewing_parsers

if TYPE_CHECKING:
    import psycopg
    from corrigenda_core.domain.snapshots import CaseDecision
    from corrigenda_core.persistence.evaluation_reading import LiveCase, StoredEvaluation
    from corrigenda_core.policy.case_preview import PreviewedChange

ROLE = "corrigenda_auditor"
DIFFERENCES_SHOWN = 20
_TEAM = "0192f0c4-6f6e-7c52-8f06-f852339d0772"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `review replay` and `review preview`."""
    actions = add_command(
        subparsers,
        "review",
        summary="have conflicts reviewed, replay past decisions, or preview other settings",
        examples=["corrigenda review now --wait 20", "corrigenda review runs"],
    ).add_subparsers(metavar="action", required=True)
    add_reviewing_parsers(actions)

    replay = add_command(
        actions,
        "replay",
        summary="decide every stored look again and compare",
        description="Decides every look of a team again, from the snapshot that was kept with it, and compares with "
        "what was decided then, byte by byte. Exit status 0: all are the same; 1: one differs; 2: it could not be "
        "looked at. --emit writes the stored snapshots or decisions as lines instead: what `corrigenda policy "
        "evaluate` answers to the ones are the others.",
        examples=[
            f"corrigenda review replay --team {_TEAM} --directory .corrigenda",
            f"corrigenda review replay --team {_TEAM} --emit snapshots",
        ],
    )
    _add_source(replay)
    replay.add_argument("--emit", choices=["snapshots", "decisions"], help="write what is stored, a line for each look")
    replay.set_defaults(run=run_replay)

    preview = add_command(
        actions,
        "preview",
        summary="show what would be decided on live conflicts under another setting",
        description="Decides every live conflict of a team twice: as it is, and with what is given here. Nothing is "
        "stored. A deadline of an open conflict is never moved: --review-period-days shows what another period would "
        "have brought.",
        examples=[f"corrigenda review preview --team {_TEAM} --review-period-days 3"],
    )
    _add_source(preview)
    preview.add_argument("--review-period-days", type=int, metavar="N", help="count deadlines anew: 1..30 days")
    preview.add_argument("--at", type=_instant, metavar="TIME", help="look at this time, such as 2026-03-01T00:00:00Z")
    preview.add_argument(
        "--trust-declared-groups", action="store_true", help="count every declared source group as a witness"
    )
    preview.add_argument("--all", action="store_true", help="also list conflicts on which nothing would change")
    preview.set_defaults(run=run_preview)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--team", type=id_argument, metavar="ID", required=True, help="the team")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_database_options(parser, ROLE)


def run_replay(options: argparse.Namespace) -> int:
    """Replays, or emits what is stored."""
    from corrigenda_core.domain.ids import TeamId
    from corrigenda_core.persistence.evaluation_reading import stored_evaluations

    def replay(connection: psycopg.Connection[tuple[object, ...]]) -> int:
        looks = stored_evaluations(connection, TeamId(options.team))
        return _emit(looks, options.emit) if options.emit else _replay(looks, as_json=options.json)

    return _in_snapshot(options, replay)


def _emit(looks: Iterable[StoredEvaluation], what: str) -> int:
    from corrigenda_core.policy.decision_codec import encode_stored_decision
    from corrigenda_core.policy.snapshot_codec import decode_snapshot, encode_snapshot

    for look in looks:
        if what == "snapshots":
            line = encode_snapshot(decode_snapshot(look.snapshot))
        else:
            line = encode_stored_decision(look.decision)
        sys.stdout.write(line + "\n")
    return ExitStatus.DONE


def _replay(looks: Iterable[StoredEvaluation], *, as_json: bool) -> int:
    from corrigenda_core.policy.decision_codec import encode_evaluation, encode_stored_evaluation
    from corrigenda_core.policy.snapshot_codec import decode_snapshot
    from corrigenda_core.policy.team_conflict import decide_case

    count, differing = 0, 0
    shown: list[dict[str, object]] = []
    for look in looks:
        count += 1
        try:
            replayed = encode_evaluation(decide_case(decode_snapshot(look.snapshot)))
            stored = encode_stored_evaluation(look.decision)
        except ValueError as error:
            replayed, stored = "", f"cannot be replayed: {error}"
        if replayed != stored:
            differing += 1
            if len(shown) < DIFFERENCES_SHOWN:
                shown.append({"conflict_id": look.conflict_id, "revision": look.revision, "stored": stored})
    if as_json:
        print(json.dumps({"looks": count, "same": count - differing, "different": differing, "differences": shown}))
    else:
        print(f"{count} looks replayed: {count - differing} the same, {differing} different")
        for one in shown:
            print(f"  conflict {one['conflict_id']} at revision {one['revision']}: {one['stored']}")
    return ExitStatus.FAILED if differing else ExitStatus.DONE


def run_preview(options: argparse.Namespace) -> int:
    """Previews every live conflict."""
    from corrigenda_core.domain.ids import TeamId
    from corrigenda_core.persistence.evaluation_reading import live_cases
    from corrigenda_core.policy.case_preview import PreviewedChange

    try:
        change = PreviewedChange(
            review_period_days=options.review_period_days,
            at=options.at,
            trusts_declared_groups=options.trust_declared_groups,
        )
    except ValueError as error:
        return _cannot_tell(str(error))

    def preview(connection: psycopg.Connection[tuple[object, ...]]) -> int:
        rows = [_previewed(case, change) for case in live_cases(connection, TeamId(options.team))]
        changed = [row for row in rows if row["now"] != row["previewed"]]
        listed = rows if options.all else changed
        if options.json:
            print(json.dumps({"conflicts": len(rows), "changed": len(changed), "listed": listed}))
        else:
            print(f"{len(rows)} live conflicts: {len(changed)} would be decided otherwise")
            for row in listed:
                print(f"  {row['conflict_id']} ({row['status']}): {_words(row['now'])} -> {_words(row['previewed'])}")
        return ExitStatus.DONE

    return _in_snapshot(options, preview)


def _previewed(case: LiveCase, change: PreviewedChange) -> dict[str, object]:
    from corrigenda_core.policy.case_preview import decide_preview

    both = decide_preview(case.snapshot, case.opened_at, change)
    return {
        "conflict_id": case.conflict_id,
        "status": case.status,
        "now": _fields(both.now),
        "previewed": _fields(both.previewed),
    }


def _fields(decision: CaseDecision) -> dict[str, object]:
    from corrigenda_core.domain.explanations import winner_of

    return {"outcome": decision.outcome.value, "reason": decision.reason.value, "winner": winner_of(decision)}


def _words(decision: Any) -> str:
    winner = f" for {decision['winner']}" if decision["winner"] else ""
    return f"{decision['outcome']}{winner} ({decision['reason']})"


def _in_snapshot(options: argparse.Namespace, work: Callable[[psycopg.Connection[tuple[object, ...]]], int]) -> int:
    """Does the work in one snapshot of a role that sees every team."""
    import psycopg

    try:
        url = database_url(options, ROLE)
    except NoDatabase as problem:
        return _cannot_tell(str(problem))
    try:
        with psycopg.connect(url) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if connection.execute(
                "SELECT rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone() != (True,):
                return _cannot_tell(f"this role does not see every team; connect as {ROLE}")
            if connection.execute("SELECT 1 FROM teams WHERE team_id = %s", [options.team]).fetchone() is None:
                return _cannot_tell("there is no such team")
            return work(connection)
    except psycopg.Error as problem:
        return _cannot_tell(str(problem).strip())


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-03-01T00:00:00Z") from None
    if instant.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no zone: write 2026-03-01T00:00:00Z")
    return instant.astimezone(UTC)


def _cannot_tell(reason: str) -> int:
    print(f"corrigenda review: {reason}", file=sys.stderr)
    return ExitStatus.USAGE
