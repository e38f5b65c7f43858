-- Who may use the service. Only a hash of a token's secret is kept.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
