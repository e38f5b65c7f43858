"""Dose-finding trials: designs, comparators, calibration, pathways, operating characteristics."""

from globalbandits.trial.calibration import sample_size, sensitivity, skeleton
from globalbandits.trial.comparators import BOIN, Keyboard, ThreePlusThree, benchmark
from globalbandits.trial.design import Design, crm

__all__ = [
    "BOIN",
    "Design",
    "Keyboard",
    "ThreePlusThree",
    "benchmark",
    "crm",
    "sample_size",
    "sensitivity",
    "skeleton",
]
