"""The laboratory on top of the library: the paper's experiments, the league, trials, reports."""
