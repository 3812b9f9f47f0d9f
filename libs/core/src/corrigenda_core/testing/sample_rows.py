"""A team with at least one row in every table: two owners who disagree, and all that the schema keeps about it.

For tests that go over all tables. The rows are valid and fit together; their contents mean nothing beyond that.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date, timedelta
from uuid import UUID

from corrigenda_core.testing.sample_team import Connection, SampleTeam, insert_row, new_id, set_team

CONTENT = "Production deploys from main."
ZERO_HASH = bytes(32)


def write_sample_team(connection: Connection, *, team_id: UUID | None = None) -> SampleTeam:
    """Writes a sample team in the current transaction of a superuser, whose team it sets.

    The caller commits: deferred constraints are checked then.
    """
    sample = SampleTeam(connection=connection, team_id=team_id or new_id())
    with connection.pipeline():
        set_team(connection, sample.team_id)
        _write_team(sample)
        _write_evidence(sample)
        _write_relationships(sample)
        _write_decisions(sample)
        _write_case(sample)
        _write_review(sample)
        _write_search(sample)
        _write_erasure(sample)
    return sample


def _write_team(s: SampleTeam) -> None:
    s.insert(
        "teams",
        name="sample",
        review_period_days=7,
        review_start_minute=120,
        time_zone="UTC",
        trusts_declared_groups=False,
        clock_mode="driven",
        driven_now=s.recorded_at,
        version=1,
        created_at=s.recorded_at,
        opened_at="infinity",
    )
    insert_row(
        s.connection,
        "team_clock",
        {"team_id": s.team_id, "revision": 1, "closed_at": s.recorded_at, "ledger_head": ZERO_HASH},
    )
    for number, profile_id in enumerate((s.owner_a, s.owner_b)):
        s.insert("profiles", profile_id=profile_id, name=f"profile {number}")
    s.insert(
        "api_keys",
        key_id=s.key_id,
        profile_id=s.owner_a,
        label="sample",
        key_hash=s.key_hash,
        scopes=["read", "write"],
        created_at=s.recorded_at,
        expires_at="infinity",
        revoked_at="infinity",
    )
    s.insert(
        "ledger",
        prior_hash=ZERO_HASH,
        change_hash=ZERO_HASH,
        hash=ZERO_HASH,
        actor_kind="profile",
        actor_profile_id=s.owner_a,
        change_kind="sample",
    )
    s.insert(
        "idempotency_records",
        profile_id=s.owner_a,
        idempotency_key="sample",
        rpc="Remember",
        request_hash=ZERO_HASH,
        response=b"",
    )
    s.insert(
        "predicates",
        predicate="deploys_from",
        version=1,
        aliases=["ships from"],
        subject_kinds=[],
        object_kinds=[],
        value_types=[],
        unit="",
        relationship_kind="state",
        current_cardinality="one",
        supersession_basis="evidence_time",
        same_moment_policy="hold",
        start_granularity="instant",
        pii_class="",
        lifecycle="active",
    )
    s.insert("predicate_aliases", alias="ships from", predicate="deploys_from", active=True)


def _write_evidence(s: SampleTeam) -> None:
    s.insert("ingests", ingest_id=s.ingest_id, profile_id=s.owner_a, result=b"")
    s.insert(
        "evidence_fragments",
        fragment_id=s.fragment_id,
        ingest_id=s.ingest_id,
        author_id=s.owner_a,
        content=CONTENT,
        content_sha256=hashlib.sha256(CONTENT.encode()).digest(),
        source_type="conversation",
        claimed_authority="primary",
        supersedes_fragment_ids=[],
        derived_from_fragment_ids=[],
        inherited_labels=[f"author:{s.owner_a}"],
        labels=[],
        metadata="{}",
        scan_verdict="pass",
        scan_findings="[]",
    )
    s.insert(
        "evidence_occurrences",
        occurrence_id=new_id(),
        fragment_id=s.fragment_id,
        ingest_id=s.ingest_id,
        labels=[],
        metadata="{}",
    )
    s.insert(
        "sources",
        source_id=new_id(),
        source_group="sample",
        source_key="",
        version=1,
        speakers=[s.owner_a],
        authoritative_for_all=False,
        authoritative_for=["deploys_from"],
        record=False,
        lifecycle="active",
    )
    s.insert("source_states", source_key="sample", version=1, first_user=s.owner_a, current_revision="r1")
    s.insert(
        "fragment_retirements",
        fragment_id=s.fragment_id,
        reason="revision_superseded",
        actor_kind="profile",
        actor_profile_id=s.owner_a,
    )
    for entity_id, kind, name in (
        (s.subject_id, "environment", "production"),
        (s.main_id, "git_branch", "main"),
        (s.release_id, "git_branch", "release"),
    ):
        s.insert("entities", entity_id=entity_id, kind=kind, created_by=s.owner_a)
        s.insert(
            "entity_names",
            entity_id=entity_id,
            normal_name=name,
            name=name,
            is_primary=True,
            given_by=s.owner_a,
            is_confirmed=False,
        )
        s.insert("entity_contexts", entity_id=entity_id, context_key="system", context_value="sample")
    s.insert(
        "observations",
        observation_id=s.observation_id,
        ingest_id=s.ingest_id,
        author_id=s.owner_a,
        proposal_id="p1",
        ordinal=0,
        subject_ref="production",
        subject_phrase="Production",
        predicate_phrase="deploys from",
        object_ref="main",
        object_phrase="main",
        mentions="[]",
        subject_id=s.subject_id,
        object_entity_id=s.main_id,
        predicate="deploys_from",
        predicate_version=1,
        polarity="+",
        modality="statement",
        scope="",
        stated_from="-infinity",
        stated_to="infinity",
        spans=json.dumps([{"fragment_id": str(s.fragment_id), "start": 0, "end": len(CONTENT)}]),
        comment="",
    )
    s.insert(
        "verification_events",
        verification_id=new_id(),
        observation_id=s.observation_id,
        verdict="entailed",
        reason="sample",
        verifier="sample/1",
        bounds="[]",
    )


def _write_relationships(s: SampleTeam) -> None:
    s.insert(
        "statements",
        statement_id=s.observation_id,
        owner_id=s.owner_a,
        subject_id=s.subject_id,
        predicate="deploys_from",
        predicate_version=1,
        scope="",
        object_entity_id=s.main_id,
        object_key=f"entity:{s.main_id}",
        polarity="+",
        sequence=1000 * s.revision,
        record=False,
    )
    s.relationship(s.relationship_a, s.owner_a, s.main_id)
    s.relationship(s.relationship_b, s.owner_b, s.release_id)
    s.insert("carriages", statement_id=s.observation_id, relationship_id=s.relationship_a)
    s.insert(
        "supports",
        support_id=s.support_id,
        relationship_id=s.relationship_a,
        statement_id=s.observation_id,
        fragment_id=s.fragment_id,
        span_starts=[0],
        span_ends=[len(CONTENT)],
        near_duplicate_fragment_ids=[],
        evidence_verified=False,
    )
    s.insert(
        "support_decisions",
        support_id=s.support_id,
        kind="grant",
        authority="primary",
        granted_by_key=False,
        reason="sample",
        actor_kind="profile",
        actor_profile_id=s.owner_a,
    )


def _write_decisions(s: SampleTeam) -> None:
    s.insert(
        "review_items",
        item_id=s.item_id,
        version=1,
        kind="relationship",
        status="pending",
        owner_id=s.owner_a,
        reason="sample",
        subject_id=s.subject_id,
        predicate="deploys_from",
        scope="",
        incoming=[s.relationship_a],
        opposing=[],
        details="{}",
        opened_at=s.recorded_at,
    )
    s.insert(
        "decisions",
        decision_id=s.decision_id,
        kind="keep_both",
        actor_kind="profile",
        actor_profile_id=s.owner_a,
        item_id=s.item_id,
        item_version=1,
        target_ids=[s.relationship_a],
        statement_ids=[],
        reason="sample",
        details="[]",
    )
    s.insert(
        "timeline_decisions",
        decision_id=s.decision_id,
        entry=0,
        kind="facet",
        statement_id=s.observation_id,
        facet=0,
    )
    s.insert(
        "entity_merges",
        source_id=s.main_id,
        target_id=s.release_id,
        merged_by=s.owner_a,
        decision_id=s.decision_id,
    )
    s.insert(
        "observation_bindings",
        observation_id=s.observation_id,
        subject_id=s.subject_id,
        given_up=False,
        decision_id=s.decision_id,
    )
    s.insert(
        "cross_references",
        reference_id=s.reference_id,
        kind="corrects",
        source_id=s.relationship_b,
        target_id=s.relationship_a,
    )
    s.insert(
        "reference_decisions",
        reference_id=s.reference_id,
        active=True,
        reason="sample",
        actor_kind="profile",
        actor_profile_id=s.owner_a,
    )


def _write_case(s: SampleTeam) -> None:
    s.insert(
        "conflict_cases",
        conflict_id=s.conflict_id,
        kind="current_state",
        subject_id=s.subject_id,
        predicate="deploys_from",
        scope="",
        object_key="",
        status="open",
        version=1,
        opened_at=s.recorded_at,
        review_due_at=s.recorded_at + timedelta(days=7),
        first_contradiction_at=s.recorded_at,
    )
    for position_id, object_id, relationship_id, owner_id in (
        (s.position_a, s.main_id, s.relationship_a, s.owner_a),
        (s.position_b, s.release_id, s.relationship_b, s.owner_b),
    ):
        s.insert(
            "case_positions",
            conflict_id=s.conflict_id,
            position_id=position_id,
            version=1,
            position_key=f"entity:{object_id}",
            present=True,
            counted_groups=1,
            authoritative_groups=0,
            support_digest="",
            first_seen_at=s.recorded_at,
            last_seen_at=s.recorded_at,
        )
        s.insert(
            "case_members",
            conflict_id=s.conflict_id,
            position_id=position_id,
            relationship_id=relationship_id,
            version=1,
            relationship_version=1,
            owner_id=owner_id,
            present=True,
        )
    s.insert(
        "case_events",
        event_id=new_id(),
        conflict_id=s.conflict_id,
        resulting_status="open",
        version=1,
        actor_kind="profile",
        actor_profile_id=s.owner_b,
        action="opened",
        reason="sample",
        relationship_ids=[s.relationship_a, s.relationship_b],
        relationship_versions=[1, 1],
    )
    s.insert(
        "case_evaluations",
        evaluation_id=new_id(),
        conflict_id=s.conflict_id,
        case_version=1,
        policy_version="independent-sources/1",
        snapshot="{}",
        decision="{}",
    )


def _write_review(s: SampleTeam) -> None:
    s.insert(
        "case_lease",
        conflict_id=s.conflict_id,
        next_review_at=s.recorded_at + timedelta(days=1),
        claim_token=0,
        lease_expires_at="-infinity",
        attempts=0,
    )
    s.insert(
        "review_runs",
        run_id=s.run_id,
        kind="nightly",
        status="finished",
        local_date=date(2026, 6, 1),
        policy_version="independent-sources/1",
        claim_token=1,
        lease_expires_at="-infinity",
        requested_at=s.recorded_at,
        started_at=s.recorded_at,
        finished_at=s.recorded_at,
        **{
            f"{counter}_cases": 0
            for counter in ("examined", "resolved", "dismissed", "marked_overdue", "kept", "left", "failed")
        },
    )
    s.insert(
        "review_reservations",
        local_date=date(2026, 6, 1),
        policy_version="independent-sources/1",
        run_id=s.run_id,
        reserved_at=s.recorded_at,
    )
    s.insert(
        "alerts",
        alert_id=new_id(),
        kind="attempts_exhausted",
        conflict_id=s.conflict_id,
        reason="sample",
        details="{}",
        raised_at=s.recorded_at,
    )
    s.insert(
        "webhook_cursors",
        endpoint="sample",
        after_revision=0,
        after_id=new_id(),
        status="delivering",
        attempts=0,
        next_attempt_at="-infinity",
        lease_expires_at="-infinity",
        claim_token=0,
    )


def _write_search(s: SampleTeam) -> None:
    insert_row(s.connection, "text_bands", {"team_id": s.team_id, "band": -1, "fragment_id": s.fragment_id})
    s.insert("search_refresh_intents", fragment_id=s.fragment_id, reason="fragment_stored", consumed_at="infinity")
    s.connection.execute(
        "INSERT INTO search_documents (team_id, fragment_id, version, lexemes, recorded_from, recorded_to)"
        " VALUES (%s, %s, %s, team_lexemes(%s, %s), %s, 'infinity')",
        [
            s.team_id,
            s.fragment_id,
            s.revision,
            s.team_id,
            ["production", "deploys", "from", "main"],
            s.recorded_at,
        ],
    )


def _write_erasure(s: SampleTeam) -> None:
    """The records alone, of a text that no row of the sample holds."""
    erasure_id = new_id()
    s.insert(
        "erasures",
        erasure_id=erasure_id,
        fragment_id=s.fragment_id,
        fragment_ids=[s.fragment_id],
        reason="sample",
        erased_by=s.owner_a,
    )
    s.insert(
        "erased_texts",
        erasure_id=erasure_id,
        entry=0,
        table_name="evidence_fragments",
        row_key=[str(new_id())],
        column_name="content",
        entered=ZERO_HASH,
        tombstone="erased",
    )
