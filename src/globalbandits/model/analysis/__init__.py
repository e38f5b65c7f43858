"""The analysis of reward functions, computed once when a model is built."""
