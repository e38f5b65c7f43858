"""Simulations of what the paper may have meant where it leaves something open.

Run them with ``python -m benchmarks.paper_readings``.
"""

from benchmarks.paper_readings.readings import N_SIMULATIONS, load_readings, run_readings

__all__ = ["N_SIMULATIONS", "load_readings", "run_readings"]
