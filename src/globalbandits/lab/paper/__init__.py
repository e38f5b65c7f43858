"""The paper's four experiments: simulated, measured, and compared with its numbers."""

from globalbandits.lab.paper.experiment_spec import Spec, load_spec
from globalbandits.lab.paper.outcome import Chart, Grid, Outcome, count_verdicts
from globalbandits.lab.paper.reproduction import (
    EXPERIMENTS,
    check_request,
    run_experiment,
    run_trust,
    runs_to_do,
)
from globalbandits.lab.paper.verdicts import Entry, Published, Verdict

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
    "run_trust",
    "runs_to_do",
]
