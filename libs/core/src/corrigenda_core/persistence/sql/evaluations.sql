-- What the commands of auditors read of reviews.

-- name: evaluations_of_team
-- purpose: every look of a team in the order of the commits, to be replayed
-- index: none
-- lock: none
SELECT e.conflict_id, e.revision, e.snapshot::text AS snapshot, e.decision
FROM case_evaluations AS e
WHERE e.team_id = %(team_id)s
ORDER BY e.revision, e.evaluation_id;

-- name: live_cases_of_team
-- purpose: the live cases of a team, the oldest first, with the team's present time
-- index: conflict_cases_live_key
-- lock: none
SELECT k.conflict_id, k.status, k.opened_at,
       greatest(c.closed_at, coalesce(t.driven_now, statement_timestamp())) AS team_now
FROM conflict_cases AS k
JOIN teams AS t ON t.team_id = %(team_id)s
JOIN team_clock AS c ON c.team_id = %(team_id)s
WHERE k.team_id = %(team_id)s AND k.status IN ('open', 'overdue')
ORDER BY k.opened_at, k.conflict_id;
