"""The contract of policies as a function: is my policy one that learner and simulator can trust?

>>> import globalbandits as gb
>>> gb.testing.check_policy(gb.UCB1())  # says nothing when every rule is kept
"""

from globalbandits.testing.checking import check_policy
from globalbandits.testing.rules import CONTRACT

__all__ = ["CONTRACT", "check_policy"]
