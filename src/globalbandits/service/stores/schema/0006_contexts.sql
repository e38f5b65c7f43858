-- The context of a decision, for a model with contexts, and the arms that its request allowed (a
-- JSON list of indices; NULL for all). An event has the context of its decision.
ALTER TABLE decisions ADD COLUMN context TEXT;
ALTER TABLE decisions ADD COLUMN allowed TEXT;
ALTER TABLE events ADD COLUMN context TEXT;
