-- Policies that count decisions learn them as events.
-- A reward after a retraction is a correction. A decision may have several of both, but it leaves the
-- state "open" only once. SQLite cannot change a CHECK or drop a UNIQUE, so two tables are rebuilt.
CREATE TABLE events_next (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('decision', 'reward', 'default', 'retraction', 'correction')),
    decision TEXT NOT NULL REFERENCES decisions (id),
    arm INTEGER NOT NULL,
    value REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bandit, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO events_next SELECT bandit, seq, kind, decision, arm, value, at FROM events;
DROP TABLE events;
ALTER TABLE events_next RENAME TO events;
CREATE UNIQUE INDEX events_by_decision ON events
    (decision, kind, (CASE WHEN kind IN ('decision', 'reward', 'default') THEN 0 ELSE seq END));

-- A deleted bandit keeps its rows until they are pruned. Its name is free for a new one.
CREATE TABLE bandits_next (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    seed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
INSERT INTO bandits_next SELECT id, tenant, name, spec, seed, version, at, NULL FROM bandits;
DROP TABLE bandits;
ALTER TABLE bandits_next RENAME TO bandits;
CREATE UNIQUE INDEX bandits_by_name ON bandits (tenant, name) WHERE deleted_at IS NULL;

-- The decisions of one bandit among thousands: their number by arm, and the latest.
CREATE INDEX decisions_by_bandit ON decisions (bandit, id, shown);
