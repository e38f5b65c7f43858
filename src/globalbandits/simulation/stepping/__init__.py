"""One run to step through, round by round, on an HTML page."""

from globalbandits.simulation.stepping.watching import Watch, watch

__all__ = ["Watch", "watch"]
