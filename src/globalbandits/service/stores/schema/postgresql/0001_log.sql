-- The log, as in SQLite: the same tables and columns. Texts that are compared or ordered are so byte
-- by byte. The row of a bandit is rewritten with every commit; room on its page keeps that cheap.
CREATE TABLE bandits (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    spec TEXT NOT NULL,
    seed BIGINT NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);

CREATE TABLE settings (
    bandit BIGINT NOT NULL REFERENCES bandits (id),
    number BIGINT NOT NULL,
    from_version BIGINT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bandit, number)
);

CREATE TABLE writers (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    library TEXT NOT NULL,
    python TEXT NOT NULL,
    host TEXT NOT NULL,
    at BIGINT NOT NULL
);

CREATE TABLE decisions (
    id TEXT COLLATE "C" PRIMARY KEY,
    bandit BIGINT NOT NULL REFERENCES bandits (id),
    request_id TEXT COLLATE "C",
    chosen BIGINT NOT NULL,
    shown BIGINT NOT NULL,
    version BIGINT NOT NULL,
    settings BIGINT NOT NULL,
    writer BIGINT NOT NULL REFERENCES writers (id),
    at BIGINT NOT NULL,
    deadline BIGINT,
    FOREIGN KEY (bandit, settings) REFERENCES settings (bandit, number)
);
CREATE UNIQUE INDEX decisions_by_request ON decisions (bandit, request_id)
    WHERE request_id IS NOT NULL;
CREATE INDEX decisions_by_deadline ON decisions (deadline, id) WHERE deadline IS NOT NULL;

CREATE TABLE events (
    bandit BIGINT NOT NULL REFERENCES bandits (id),
    seq BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('reward', 'default', 'retraction')),
    decision TEXT COLLATE "C" NOT NULL REFERENCES decisions (id),
    arm BIGINT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bandit, seq)
);
CREATE UNIQUE INDEX events_by_decision ON events (decision, kind);

CREATE TABLE refusals (
    bandit BIGINT NOT NULL REFERENCES bandits (id),
    decision TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    at BIGINT NOT NULL,
    arrival BIGINT GENERATED ALWAYS AS IDENTITY,
    UNIQUE (bandit, decision, reason, value)
);

CREATE TABLE snapshots (
    bandit BIGINT NOT NULL REFERENCES bandits (id),
    version BIGINT NOT NULL,
    settings BIGINT NOT NULL,
    library TEXT NOT NULL,
    kept BIGINT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (bandit, version)
);
