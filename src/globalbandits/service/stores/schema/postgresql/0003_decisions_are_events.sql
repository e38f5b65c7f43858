-- Policies that count decisions learn them as events. A retracted reward can be corrected.
ALTER TABLE events DROP CONSTRAINT events_kind_check;
ALTER TABLE events ADD CONSTRAINT events_kind_check
    CHECK (kind IN ('decision', 'reward', 'default', 'retraction', 'correction'));
