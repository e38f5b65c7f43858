"""The paper's four experiments: simulated, measured, and judged against what it prints."""

from globalbandits.experiments.entries import Entry
from globalbandits.experiments.outcome import Chart, Grid, Outcome, count_verdicts
from globalbandits.experiments.running import (
    EXPERIMENTS,
    check_request,
    run_experiment,
    run_readings,
    run_trust,
    runs_to_do,
)
from globalbandits.experiments.specs import Spec, load_spec
from globalbandits.experiments.verdicts import Published, Verdict

__all__ = [
    "EXPERIMENTS",
    "Chart",
    "Entry",
    "Grid",
    "Outcome",
    "Published",
    "Spec",
    "Verdict",
    "check_request",
    "count_verdicts",
    "load_spec",
    "run_experiment",
    "run_readings",
    "run_trust",
    "runs_to_do",
]
