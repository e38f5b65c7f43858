"""Policies of other bandit libraries in our simulator, and our policies in theirs.

Each module needs the library that it is named after.
"""
