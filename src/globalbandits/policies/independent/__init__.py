"""Policies that do not use the model's curves: arms are independent."""
