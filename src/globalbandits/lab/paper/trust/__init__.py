"""The section "Can you trust it?": intervals, alarms and refutations in the worlds of the paper."""

import time

from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import Spec, load_model
from globalbandits.lab.paper.outcome import Outcome
from globalbandits.lab.paper.trust import changed_parameter, fixed_parameter, wrong_curve

_WORLDS = (fixed_parameter, changed_parameter, wrong_curve)
N_SIMULATIONS = sum(world.N_SIMULATIONS for world in _WORLDS)


def run(spec: Spec, size: Size) -> Outcome:
    """Run the worlds of Experiments 1, 3 and 4."""
    started = time.perf_counter()
    model = load_model(spec.model)
    parts = [world.run(spec, model, size) for world in _WORLDS]
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries={key: entry for part in parts for key, entry in part.entries.items()},
        grids=tuple(grid for part in parts for grid in part.grids),
        charts=tuple(chart for part in parts for chart in part.charts),
    )
