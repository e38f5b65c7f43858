"""Experiments with the library: the paper's experiments, the league, trials and their reports."""
