"""The three worlds together: one section of the page."""

import time

from globalbandits.experiments.batches import Size
from globalbandits.experiments.outcome import Outcome
from globalbandits.experiments.specs import Spec, load_model
from globalbandits.experiments.trust import closing, moving, refuting

_PARTS = (closing, moving, refuting)
N_SIMULATIONS = sum(part.N_SIMULATIONS for part in _PARTS)


def run(spec: Spec, size: Size) -> Outcome:
    """What the rewards say in the worlds of Experiments 1, 3 and 4."""
    started = time.perf_counter()
    model = load_model(spec.model)
    parts = [part.run(spec, model, size) for part in _PARTS]
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries={key: entry for part in parts for key, entry in part.entries.items()},
        grids=tuple(grid for part in parts for grid in part.grids),
        charts=tuple(chart for part in parts for chart in part.charts),
    )
