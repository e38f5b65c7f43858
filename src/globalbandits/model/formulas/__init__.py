"""Formulas: means and values written as text, which is parsed and never executed as code."""

from globalbandits.model.formulas.expression import Expression

__all__ = ["Expression"]
