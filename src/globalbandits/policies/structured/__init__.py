"""Policies that use the model's curves and assume that they are right."""
