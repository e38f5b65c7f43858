"""Dose-finding trials: designs, comparators, calibration, pathways, operating characteristics."""

from globalbandits.policies.structured.cohort_design import BOIN, Keyboard, ThreePlusThree
from globalbandits.trial.bound import benchmark
from globalbandits.trial.calibration import sample_size, sensitivity, skeleton
from globalbandits.trial.catalogue import blrm, crm, tite_crm
from globalbandits.trial.design import Design
from globalbandits.trial.tite import TITE

__all__ = [
    "BOIN",
    "TITE",
    "Design",
    "Keyboard",
    "ThreePlusThree",
    "benchmark",
    "blrm",
    "crm",
    "sample_size",
    "sensitivity",
    "skeleton",
    "tite_crm",
]
