"""The policies of the paper."""

from globalbandits.policies.paper.buw import BUW
from globalbandits.policies.paper.nonstationary_wagp import NonStationaryWAGP
from globalbandits.policies.paper.wagp import WAGP

__all__ = ["BUW", "WAGP", "NonStationaryWAGP"]
