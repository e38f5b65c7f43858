"""Means and values as texts: formulas that are read, checked and never executed as code."""

from globalbandits.model.formulas.expression import Expression

__all__ = ["Expression"]
