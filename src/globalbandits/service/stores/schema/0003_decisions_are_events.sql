-- Policies that count decisions learn them as events. A retracted reward can be corrected.
CREATE TABLE events_with_decisions (
    bandit INTEGER NOT NULL REFERENCES bandits (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('decision', 'reward', 'default', 'retraction', 'correction')),
    decision TEXT NOT NULL REFERENCES decisions (id),
    arm INTEGER NOT NULL,
    value REAL NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bandit, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO events_with_decisions SELECT * FROM events;
DROP TABLE events;
ALTER TABLE events_with_decisions RENAME TO events;
CREATE UNIQUE INDEX events_by_decision ON events (decision, kind);
