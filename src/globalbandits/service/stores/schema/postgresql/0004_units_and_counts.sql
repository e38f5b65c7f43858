-- A decision may be for a unit, such as a visitor, and show the arm of an earlier decision of it.
ALTER TABLE decisions ADD COLUMN unit TEXT;
ALTER TABLE decisions ADD COLUMN follows TEXT;
CREATE INDEX decisions_by_unit ON decisions (bandit, unit, at)
    WHERE unit IS NOT NULL AND follows IS NULL;

-- A reward may be the sum of several, such as the sales of a day.
ALTER TABLE events ADD COLUMN n_rewards BIGINT NOT NULL DEFAULT 1;
