"""A run to step through: what policies play, see and believe, round by round, on one page."""

from globalbandits.simulation.stepping.watching import Watch, watch

__all__ = ["Watch", "watch"]
