-- What commits changed of cases and of an owner's items, in the order of the commits.

-- name: last_watched_revision
-- purpose: the commit with which a message ends, so that it holds whole commits: that of the change that fills it
-- index: case_events_revision_idx, review_items_history_revision_idx
-- lock: none
SELECT max(c.revision) AS revision
FROM (
    SELECT u.revision
    FROM (
        (
            SELECT v.revision
            FROM case_events AS v
            WHERE v.team_id = %(team_id)s AND v.revision > %(after)s AND v.revision <= %(revision)s
            ORDER BY v.revision
            LIMIT %(limit)s
        )
        UNION ALL
        (
            SELECT i.revision
            FROM review_items_history AS i
            WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s
              AND i.revision > %(after)s AND i.revision <= %(revision)s
            ORDER BY i.revision
            LIMIT %(limit)s
        )
    ) AS u
    ORDER BY u.revision
    LIMIT %(limit)s
) AS c;

-- name: watched_events
-- purpose: the events of cases that some commits recorded
-- index: case_events_revision_idx
-- lock: none
SELECT v.event_id, v.conflict_id, k.kind, k.subject_id, k.predicate, k.scope, v.prior_status, v.resulting_status,
       v.version, v.actor_kind, v.actor_profile_id, p.name AS actor_name, v.action, v.reason, v.policy_version,
       v.time_basis, v.relationship_ids, v.relationship_versions, v.revision, v.recorded_at
FROM case_events AS v
JOIN conflict_cases AS k ON k.team_id = %(team_id)s AND k.conflict_id = v.conflict_id
LEFT JOIN profiles AS p ON p.team_id = %(team_id)s AND p.profile_id = v.actor_profile_id
WHERE v.team_id = %(team_id)s AND v.revision > %(after)s AND v.revision <= %(upto)s
  AND (NOT %(mine)s
       OR EXISTS (SELECT 1
                  FROM case_members AS m
                  WHERE m.team_id = %(team_id)s AND m.conflict_id = v.conflict_id AND m.owner_id = %(profile_id)s))
ORDER BY v.revision, v.event_id;

-- name: watched_items
-- purpose: the versions of an owner's items that some commits recorded
-- index: review_items_history_revision_idx
-- lock: none
SELECT i.item_id, i.version, i.kind, i.status, i.reason, i.revision, i.recorded_from AS recorded_at
FROM review_items_history AS i
WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.revision > %(after)s AND i.revision <= %(upto)s
ORDER BY i.revision, i.item_id;
