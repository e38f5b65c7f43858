-- Policies that count decisions learn them as events.
-- A reward after a retraction is a correction. A decision may have several of both, but it leaves the
-- state "open" only once. Old rows satisfy the new rule, so they are not checked again.
ALTER TABLE events DROP CONSTRAINT events_kind_check;
ALTER TABLE events ADD CONSTRAINT events_kind_check
    CHECK (kind IN ('decision', 'reward', 'default', 'retraction', 'correction')) NOT VALID;
DROP INDEX events_by_decision;
CREATE UNIQUE INDEX events_by_decision ON events
    (decision, kind, (CASE WHEN kind IN ('decision', 'reward', 'default') THEN 0 ELSE seq END));

-- A deleted bandit keeps its rows until they are pruned. Its name is free for a new one.
ALTER TABLE bandits ADD COLUMN deleted_at BIGINT;
ALTER TABLE bandits DROP CONSTRAINT bandits_tenant_name_key;
CREATE UNIQUE INDEX bandits_by_name ON bandits (tenant, name) WHERE deleted_at IS NULL;

-- The decisions of one bandit among thousands: their number by arm, and the latest.
CREATE INDEX decisions_by_bandit ON decisions (bandit, id) INCLUDE (shown);
