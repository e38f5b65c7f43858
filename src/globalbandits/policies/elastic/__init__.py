"""Policies for curves that are only roughly right: errors of the curves are part of the belief."""
