CREATE TABLE webhook_cursors (
    team_id UUID NOT NULL,
    endpoint TEXT NOT NULL,
    after_revision BIGINT NOT NULL,
    after_id UUID NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt_at TIMESTAMP WITH TIME ZONE NOT NULL,
    lease_expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    delivered_at TIMESTAMP WITH TIME ZONE,
    claim_token BIGINT NOT NULL,
    problem TEXT,
    CONSTRAINT webhook_cursors_pkey PRIMARY KEY (team_id, endpoint),
    CONSTRAINT webhook_cursors_status_check CHECK (status IN ('delivering', 'parked')),
    CONSTRAINT webhook_cursors_endpoint_check CHECK (octet_length(endpoint) BETWEEN 1 AND 64),
    CONSTRAINT webhook_cursors_after_revision_check CHECK (after_revision >= 0),
    CONSTRAINT webhook_cursors_attempts_check CHECK (attempts >= 0),
    CONSTRAINT webhook_cursors_problem_check CHECK ((attempts > 0) = (problem IS NOT NULL)),
    CONSTRAINT webhook_cursors_parked_check CHECK (status = 'delivering' OR attempts > 0),
    CONSTRAINT webhook_cursors_team_id_fkey FOREIGN KEY(team_id) REFERENCES teams (team_id)
);

COMMENT ON TABLE webhook_cursors IS 'How far a webhook endpoint was told, and who is telling it.';
COMMENT ON COLUMN webhook_cursors.endpoint IS 'what the notifier''s configuration calls it; neither its URL nor its secret is kept';
COMMENT ON COLUMN webhook_cursors.after_revision IS 'with the next one: what was told last; 0 before the first';
COMMENT ON COLUMN webhook_cursors.after_id IS 'an event or an item';
COMMENT ON COLUMN webhook_cursors.attempts IS 'how often the message that follows has failed';
COMMENT ON COLUMN webhook_cursors.next_attempt_at IS 'real time, like the two that follow; -infinity: at once';
COMMENT ON COLUMN webhook_cursors.lease_expires_at IS '-infinity: not leased';
COMMENT ON COLUMN webhook_cursors.delivered_at IS 'when something was told last';
COMMENT ON COLUMN webhook_cursors.claim_token IS 'fencing token: rises with every claim';
COMMENT ON COLUMN webhook_cursors.problem IS 'why the last attempt failed, as a code';
