"""What it costs to analyse a model once, and to look the best arm up ever after."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import globalbandits as gb
from benchmarks import Row, median_seconds
from globalbandits.model.tables import find_cell

N_LARGE = 10_000
_MEGABYTE = 2**20
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


def pricing(n_arms: int) -> gb.RewardModel:
    """The paper's pricing model, its prices spread over 0.4 to 0.95."""
    return gb.RewardModel(
        lambda theta, price: price * (1 - price * theta) ** 2,
        np.linspace(0.4, 0.95, n_arms).tolist(),
    )


def analysed(n_arms: int) -> gb.RewardModel:
    """A model with everything `analyze` shows computed."""
    model = pricing(n_arms)
    _ = model.regions, model.dominated, model.holder, model.informativeness
    return model


def fan(n_regions: int) -> gb.RewardModel:
    """Tangents of a parabola: every arm is best somewhere, so there are as many regions."""
    touch = np.linspace(0.0, 1.0, n_regions).tolist()
    return gb.RewardModel(
        lambda theta, at: (1 + at * at / 4 + at / 2 * (theta - at) + theta) / 3, touch
    )


def measure_large() -> None:
    """In a process of its own: seconds and peak memory, printed as JSON."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
    start = time.perf_counter()
    model = analysed(N_LARGE)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
    report = {"seconds": seconds, "peak": peak, "before": before, "regions": len(model.regions)}
    print(json.dumps(report))


def run() -> list[Row]:
    """Time and memory of the analysis, and the look-up's cost in empty NumPy calls."""
    rows = [
        Row(
            name="12 arms analysed",
            value=1e3 * median_seconds(lambda: analysed(12)),
            unit="ms",
            target=100.0,
            note="build, regions, Hölder constants",
        )
    ]
    command = "from benchmarks.analyze import measure_large; measure_large()"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    large = json.loads(done.stdout)
    rows += [
        Row(
            name="10,000 arms analysed",
            value=large["seconds"],
            unit="s",
            target=5.0,
            note=f"{large['regions']:,} regions",
        ),
        Row(
            name="10,000 arms, peak memory",
            value=large["peak"] / _MEGABYTE,
            unit="MB",
            target=1024.0,
            note=f"whole process; {large['before'] / _MEGABYTE:.0f} MB before the analysis",
        ),
    ]
    return rows + look_ups()


def look_ups() -> list[Row]:
    """One look-up among 10 and among 10,000 regions, in units of an empty NumPy call."""
    scalar = np.zeros(())
    empty = median_seconds(partial(np.add, scalar, scalar), loops=20_000)
    rows = []
    costs: dict[str, list[float]] = {}
    for n_regions in (10, N_LARGE):
        model = fan(n_regions)
        assert len(model.regions) == n_regions
        for name, look_up in (
            ("cell of a parameter", partial(find_cell, model.tables.envelope)),
            ("model.best_arms", model.best_arms),
        ):
            cost = mean_cost(look_up)
            costs.setdefault(name, []).append(cost)
            rows.append(
                Row(
                    name=f"{name}, {n_regions:,} regions",
                    value=cost / empty,
                    unit="empty NumPy calls",
                    target=None,
                    note=f"{1e6 * cost:.2f} µs, not compiled",
                )
            )
    allowed = round(float(np.log(N_LARGE) / np.log(10)), 2)
    for name, (few, many) in costs.items():
        rows.append(
            Row(
                name=f"{name}, growth",
                value=many / few,
                unit="times",
                target=allowed,
                note="10,000 regions against 10; the target is the ratio of the logarithms",
            )
        )
    return rows


def mean_cost(look_up: Callable[[float], object]) -> float:
    """Seconds for one look-up, over random parameters."""
    thetas = np.random.default_rng(0).random(200).tolist()
    return median_seconds(lambda: [look_up(theta) for theta in thetas]) / len(thetas)
