-- The probability with which the shown arm was chosen; NULL if it was not computed. It follows from the
-- log, and `globalbandits replay --probabilities` derives it for older decisions.
ALTER TABLE decisions ADD COLUMN probability REAL;
