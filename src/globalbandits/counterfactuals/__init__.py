"""What other policies would earn in the markets that the evidence allows."""

from globalbandits.counterfactuals.what_if import WhatIf, what_if

__all__ = ["WhatIf", "what_if"]
