"""Policies for curves that are only roughly right: their posterior includes the curves' errors."""
