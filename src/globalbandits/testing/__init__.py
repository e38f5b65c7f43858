"""The contract of policies as a function: does a policy keep the rules of the engines?

>>> import globalbandits as gb
>>> gb.testing.check_policy(gb.UCB1())  # raises if a rule is broken
"""

from globalbandits.testing.checking import check_policy
from globalbandits.testing.rules import CONTRACT

__all__ = ["CONTRACT", "check_policy"]
