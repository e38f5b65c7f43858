"""Policies that do not use the model: every arm learns for itself."""
