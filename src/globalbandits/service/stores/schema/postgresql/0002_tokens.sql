-- Who may use the service. Only a hash of a token's secret is kept.
CREATE TABLE tokens (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    sha256 TEXT COLLATE "C" NOT NULL,
    label TEXT NOT NULL,
    at BIGINT NOT NULL,
    expires_at BIGINT
);
