"""The fit itself: a population of groups that share one number each."""
