"""The analysis of reward functions: what is computed once, when a model is built."""
