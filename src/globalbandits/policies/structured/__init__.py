"""Policies that use the model's curves and believe them."""

from globalbandits.policies.structured.grid_greedy import GridGreedy
from globalbandits.policies.structured.grid_plug_in import GridPlugIn
from globalbandits.policies.structured.grid_thompson import GridThompson
from globalbandits.policies.structured.ids import IDS
from globalbandits.policies.structured.ossb import OSSB
from globalbandits.policies.structured.regional_ucb import RegionalUCB
from globalbandits.policies.structured.ts_c import TSC
from globalbandits.policies.structured.ucb_c import UCBC
from globalbandits.policies.structured.ucb_s import UCBS

__all__ = [
    "IDS",
    "OSSB",
    "TSC",
    "UCBC",
    "UCBS",
    "GridGreedy",
    "GridPlugIn",
    "GridThompson",
    "RegionalUCB",
]
