"""What a fit is worth: tests, scores, standard errors, forecasts and the verdict."""
