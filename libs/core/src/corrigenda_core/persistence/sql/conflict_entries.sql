-- Lists of team cases and of the caller's items, by age, as they were known at an instant. What is still open is little
-- and is read whole; what is closed grows for ever and is read in the order of an index, a page at a time, or by the ids
-- that a filter finds. Filters that are not asked for are NULL or false.

-- name: open_entries
-- purpose: a page of live cases and pending items, the oldest first; reads those that are open then or were closed since
-- index: conflict_cases_history_live_idx, review_items_history_pending_idx
-- lock: none
SELECT c.kind, c.entry_id, c.opened_at, c.total
FROM (
    SELECT e.kind, e.entry_id, e.opened_at, count(*) OVER () AS total
    FROM (
        SELECT 'case' AS kind, k.conflict_id AS entry_id, k.opened_at
        FROM conflict_cases_history AS k
        WHERE k.team_id = %(team_id)s AND k.status IN ('open', 'overdue')
          AND k.recorded_to > %(at)s AND k.recorded_from <= %(at)s
          AND %(with_cases)s
          AND k.kind = ANY(%(case_kinds)s) AND k.status = ANY(%(case_statuses)s)
          AND (%(predicate)s::text IS NULL OR k.predicate = %(predicate)s)
          AND (%(entity_id)s::uuid IS NULL OR k.subject_id = %(entity_id)s
               OR EXISTS (SELECT 1
                          FROM case_members_history AS m
                          JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
                          WHERE m.team_id = %(team_id)s AND m.conflict_id = k.conflict_id AND m.present
                            AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s
                            AND r.object_entity_id = %(entity_id)s))
          AND (NOT %(mine)s
               OR EXISTS (SELECT 1
                          FROM case_members_history AS m
                          WHERE m.team_id = %(team_id)s AND m.conflict_id = k.conflict_id AND m.present
                            AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s AND m.owner_id = %(profile_id)s))
        UNION ALL
        SELECT 'item', i.item_id, i.opened_at
        FROM review_items_history AS i
        WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.status = 'pending'
          AND i.recorded_to > %(at)s AND i.recorded_from <= %(at)s
          AND %(with_items)s
          AND i.kind = ANY(%(item_kinds)s) AND i.status = ANY(%(item_statuses)s)
          AND (%(predicate)s::text IS NULL OR i.predicate = %(predicate)s)
          AND (%(entity_id)s::uuid IS NULL OR i.subject_id = %(entity_id)s
               OR EXISTS (SELECT 1
                          FROM relationships AS r
                          WHERE r.team_id = %(team_id)s AND r.relationship_id = ANY(i.incoming || i.opposing)
                            AND r.object_entity_id = %(entity_id)s))
    ) AS e
    WHERE e.opened_at < %(opened_before)s
) AS c
WHERE (c.opened_at, c.entry_id) > (%(after)s, %(after_id)s::uuid)
ORDER BY c.opened_at, c.entry_id
LIMIT %(limit)s;

-- name: closed_entries
-- purpose: a page of closed cases and items, the oldest first, in the order of the indexes
-- index: conflict_cases_history_closed_idx, review_items_history_closed_idx
-- lock: none
(
    SELECT 'case' AS kind, k.conflict_id AS entry_id, k.opened_at
    FROM conflict_cases_history AS k
    WHERE k.team_id = %(team_id)s AND k.status IN ('resolved', 'dismissed')
      AND (k.opened_at, k.conflict_id) > (%(after)s, %(after_id)s::uuid) AND k.opened_at < %(opened_before)s
      AND k.recorded_to > %(at)s AND k.recorded_from <= %(at)s
      AND %(with_cases)s AND k.kind = ANY(%(case_kinds)s) AND k.status = ANY(%(case_statuses)s)
    ORDER BY k.opened_at, k.conflict_id
    LIMIT %(limit)s
)
UNION ALL
(
    SELECT 'item', i.item_id, i.opened_at
    FROM review_items_history AS i
    WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.status <> 'pending'
      AND (i.opened_at, i.item_id) > (%(after)s, %(after_id)s::uuid) AND i.opened_at < %(opened_before)s
      AND i.recorded_to > %(at)s AND i.recorded_from <= %(at)s
      AND %(with_items)s AND i.kind = ANY(%(item_kinds)s) AND i.status = ANY(%(item_statuses)s)
    ORDER BY i.opened_at, i.item_id
    LIMIT %(limit)s
)
ORDER BY opened_at, entry_id
LIMIT %(limit)s;

-- name: closed_entry_count
-- purpose: how many closed cases and items there are, asked once for a list
-- index: conflict_cases_history_closed_idx, review_items_history_closed_idx
-- lock: none
SELECT (
    SELECT count(*)
    FROM conflict_cases_history AS k
    WHERE k.team_id = %(team_id)s AND k.status IN ('resolved', 'dismissed') AND k.opened_at < %(opened_before)s
      AND k.recorded_to > %(at)s AND k.recorded_from <= %(at)s
      AND %(with_cases)s AND k.kind = ANY(%(case_kinds)s) AND k.status = ANY(%(case_statuses)s)
) + (
    SELECT count(*)
    FROM review_items_history AS i
    WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.status <> 'pending'
      AND i.opened_at < %(opened_before)s AND i.recorded_to > %(at)s AND i.recorded_from <= %(at)s
      AND %(with_items)s AND i.kind = ANY(%(item_kinds)s) AND i.status = ANY(%(item_statuses)s)
) AS total;

-- name: closed_entries_among
-- purpose: a page of closed cases among those that a filter has found, and of the caller's closed items that it lets pass
-- index: conflict_cases_history_pkey, review_items_history_closed_idx
-- lock: none
SELECT c.kind, c.entry_id, c.opened_at, c.total
FROM (
    SELECT e.kind, e.entry_id, e.opened_at, count(*) OVER () AS total
    FROM (
        SELECT 'case' AS kind, k.conflict_id AS entry_id, k.opened_at
        FROM conflict_cases_history AS k
        WHERE k.team_id = %(team_id)s AND k.conflict_id = ANY(%(among)s::uuid[])
          AND k.status IN ('resolved', 'dismissed') AND k.recorded_to > %(at)s AND k.recorded_from <= %(at)s
          AND %(with_cases)s
          AND k.kind = ANY(%(case_kinds)s) AND k.status = ANY(%(case_statuses)s)
          AND (%(predicate)s::text IS NULL OR k.predicate = %(predicate)s)
          AND (%(entity_id)s::uuid IS NULL OR k.subject_id = %(entity_id)s
               OR EXISTS (SELECT 1
                          FROM case_members_history AS m
                          JOIN relationships AS r ON r.team_id = %(team_id)s AND r.relationship_id = m.relationship_id
                          WHERE m.team_id = %(team_id)s AND m.conflict_id = k.conflict_id AND m.present
                            AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s
                            AND r.object_entity_id = %(entity_id)s))
          AND (NOT %(mine)s
               OR EXISTS (SELECT 1
                          FROM case_members_history AS m
                          WHERE m.team_id = %(team_id)s AND m.conflict_id = k.conflict_id AND m.present
                            AND m.recorded_from <= %(at)s AND m.recorded_to > %(at)s AND m.owner_id = %(profile_id)s))
        UNION ALL
        SELECT 'item', i.item_id, i.opened_at
        FROM review_items_history AS i
        WHERE i.team_id = %(team_id)s AND i.owner_id = %(profile_id)s AND i.status <> 'pending'
          AND i.recorded_to > %(at)s AND i.recorded_from <= %(at)s
          AND %(with_items)s
          AND i.kind = ANY(%(item_kinds)s) AND i.status = ANY(%(item_statuses)s)
          AND (%(predicate)s::text IS NULL OR i.predicate = %(predicate)s)
          AND (%(entity_id)s::uuid IS NULL OR i.subject_id = %(entity_id)s
               OR EXISTS (SELECT 1
                          FROM relationships AS r
                          WHERE r.team_id = %(team_id)s AND r.relationship_id = ANY(i.incoming || i.opposing)
                            AND r.object_entity_id = %(entity_id)s))
    ) AS e
    WHERE e.opened_at < %(opened_before)s
) AS c
WHERE (c.opened_at, c.entry_id) > (%(after)s, %(after_id)s::uuid)
ORDER BY c.opened_at, c.entry_id
LIMIT %(limit)s;

-- name: cases_of_predicate
-- purpose: every case about a predicate, whatever its state
-- index: conflict_cases_predicate_idx
-- lock: none
SELECT k.conflict_id
FROM conflict_cases AS k
WHERE k.team_id = %(team_id)s AND k.predicate = %(predicate)s;

-- name: cases_of_entity
-- purpose: every case about an entity as its subject, or with a member that points at it
-- index: conflict_cases_slot_idx, relationships_object_entity_id_idx, case_members_relationship_id_idx
-- lock: none
SELECT k.conflict_id
FROM conflict_cases AS k
WHERE k.team_id = %(team_id)s AND k.subject_id = %(entity_id)s
UNION
SELECT m.conflict_id
FROM relationships AS r
JOIN case_members AS m ON m.team_id = %(team_id)s AND m.relationship_id = r.relationship_id
WHERE r.team_id = %(team_id)s AND r.object_entity_id = %(entity_id)s;

-- name: cases_of_owner
-- purpose: every case in which a profile ever owned a member
-- index: case_members_owner_id_idx
-- lock: none
SELECT DISTINCT m.conflict_id
FROM case_members AS m
WHERE m.team_id = %(team_id)s AND m.owner_id = %(profile_id)s;
