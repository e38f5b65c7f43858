"""A history as counts, sums and sums of squares per group and arm."""

from globalbandits.fitting.panel.panel import Panel

__all__ = ["Panel"]
