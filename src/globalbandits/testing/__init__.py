"""Tests for your own policies: `check_policy` checks the rules that all policies must keep.

>>> import globalbandits as gb
>>> gb.testing.check_policy(gb.UCB1())  # raises if a rule is broken
"""

from globalbandits.testing.policy_check import CONTRACT, check_policy

__all__ = ["CONTRACT", "check_policy"]
