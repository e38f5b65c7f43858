"""The analysis of models with several unknown numbers, in unit coordinates of their box."""
