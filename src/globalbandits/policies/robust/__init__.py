"""Policies for curves that may be wrong, and for decisions that must be careful."""
