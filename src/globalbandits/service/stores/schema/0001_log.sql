-- The log. Times are microseconds since 1970 in UTC. Rows are added and never changed, but for
-- bandits.version, which is the number of the bandit's events.
CREATE TABLE bandits (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    seed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE settings (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    number INTEGER NOT NULL,
    from_version INTEGER NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bandit, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE writers (
    id INTEGER PRIMARY KEY,
    library TEXT NOT NULL,
    python TEXT NOT NULL,
    host TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE decisions (
    id TEXT PRIMARY KEY,
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    request_id TEXT,
    chosen INTEGER NOT NULL,
    shown INTEGER NOT NULL,
    version INTEGER NOT NULL,
    settings INTEGER NOT NULL,
    writer INTEGER NOT NULL REFERENCES writers (id),
    at INTEGER NOT NULL,
    deadline INTEGER,
    FOREIGN KEY (bandit, settings) REFERENCES settings (bandit, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX decisions_by_request ON decisions (bandit, request_id)
    WHERE request_id IS NOT NULL;
CREATE INDEX decisions_by_deadline ON decisions (deadline, id) WHERE deadline IS NOT NULL;

CREATE TABLE events (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('reward', 'default', 'retraction')),
    decision TEXT NOT NULL REFERENCES decisions (id),
    arm INTEGER NOT NULL,
    value REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bandit, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_by_decision ON events (decision, kind);

CREATE TABLE refusals (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    value REAL NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (bandit, decision, reason, value)
) STRICT;

CREATE TABLE snapshots (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    version INTEGER NOT NULL,
    settings INTEGER NOT NULL,
    library TEXT NOT NULL,
    kept INTEGER NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (bandit, version)
) STRICT, WITHOUT ROWID;
