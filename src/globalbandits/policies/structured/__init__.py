"""Policies that use the model's curves and believe them."""
