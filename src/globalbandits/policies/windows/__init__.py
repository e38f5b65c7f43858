"""Policies that forget, for means that change."""

from globalbandits.policies.windows.discounted_ucb import DiscountedUCB
from globalbandits.policies.windows.sliding_window_ucb import SlidingWindowUCB

__all__ = ["DiscountedUCB", "SlidingWindowUCB"]
