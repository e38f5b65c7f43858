"""The contract of policies as a function: does a policy keep the rules of the engines?

>>> import globalbandits as gb
>>> gb.testing.check_policy(gb.UCB1())  # raises if a rule is broken
"""

from globalbandits.testing.policy_check import CONTRACT, check_policy

__all__ = ["CONTRACT", "check_policy"]
