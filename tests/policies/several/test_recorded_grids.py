"""Ridge grids of many densities are the recorded ones.

`recorded_grids.json` holds one number for each array of a grid. The densities are drawn: with few
rewards and with many, one mode and several, arms without rewards, curves that contradict each
other, exceptions, and all kinds of priors. A change that is meant to change the grids records them
again: ``python -m tests.policies.several.test_recorded_grids``.
"""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.policies.shared import ridge_grid, ridge_posterior
from globalbandits.policies.shared.divergence import negative_entropy
from tests.policies.checksums import checksum, numbers_of

RECORD = Path(__file__).with_name("recorded_grids.json")
RECORDED = json.loads(RECORD.read_text()) if RECORD.exists() else {}
N_CASES = 60

UNIT = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
CURVES = {
    "logit": (lambda a, b, p: 1.0 / (1.0 + np.exp((0.3 + 3.0 * b) * p - 5.0 * a + 1.0)), UNIT),
    "wave": (lambda a, b, p: 0.5 + 0.35 * np.cos(6.3 * a) * np.cos(4.0 * b * p), UNIT),
    "flat": (lambda a, b, p: 0.2 + 0.2 * a * p + 0.003 * b, UNIT),
    "product": (lambda a, b, p: 0.02 + 0.96 * a * b**p, {"a": (0.1, 1.0), "b": (0.2, 1.0)}),
    "power": (lambda a, b, p: a * (p + 0.6) ** -b, {"a": (0.1, 0.9), "b": (0.05, 4.0)}),
}
SOLID = (
    lambda a, b, c, p: c / (1.0 + np.exp((0.3 + 3.0 * b) * p - 5.0 * a + 1.0)),
    {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.3, 1.0)},
)


@cache
def model_of(name):
    mean, domain = SOLID if name == "solid" else CURVES[name]
    return gb.VectorModel(mean, [0.5, 1.0, 2.0], domain=domain)


def draw_prior(rng, domain):
    """No prior, a normal one or a lognormal one."""
    kind = rng.integers(3)
    if kind == 0:
        return None
    logs = [name for name, (low, _) in domain.items() if low > 0 and kind == 2]
    mean = {name: low + (high - low) * rng.random() for name, (low, high) in domain.items()}
    mean |= {name: math.log(mean[name]) for name in logs}
    sd = {name: 10 ** rng.uniform(-2.0, 0.0) for name in domain}
    return gb.NormalPrior(mean=mean, sd=sd, correlation=rng.uniform(-0.9, 0.9), log=logs)


def draw_density(rng, model):
    """The evidence of rewards, which may contradict the curves, and of exceptions."""
    n_arms = model.n_arms
    density = ridge_grid.no_density(n_arms)
    n_rewards = 10 ** rng.uniform(0.0, 6.0, n_arms) * (rng.random(n_arms) < 0.8)
    means = model.means(model.from_unit(rng.random(len(model.parameters))))
    noise = rng.normal(size=n_arms) / np.sqrt(1.0 + n_rewards) + (rng.random() < 0.3) * 0.1
    density.weights[:] = np.round(n_rewards)
    density.own[:] = np.clip(means + noise * np.sqrt(means * (1.0 - means)), 0.0, 1.0)
    density.entropies[:] = [negative_entropy(own) for own in density.own]
    if rng.random() < 0.5:
        density.odds[:] = rng.uniform(-6.0, 0.0, n_arms)
        density.far_odds[:] = rng.uniform(-9.0, -1.0, n_arms)
        density.wide[:] = density.weights / 10 ** rng.uniform(0.5, 2.0, n_arms)
        density.far_precisions[:] = 10 ** rng.uniform(0.0, 1.5, n_arms)
    return density


def record_of(grid):
    return {name: checksum(numbers_of(part)) for name, part in grid._asdict().items()}


def lay_flat(seed):
    rng = np.random.default_rng(seed)
    model = model_of(list(CURVES)[seed % len(CURVES)])
    prior = draw_prior(rng, model.domain)
    prior = None if prior is None else model.with_prior(prior)
    unit = None if prior is None else ridge_posterior.unit_prior(prior)
    box = ridge_grid.build_box(model.tables, n_slices=7, n_inner=3, prior=unit)
    grid = ridge_grid.no_grid(box)
    ridge_grid.lay_grid(box, draw_density(rng, model), grid)
    return record_of(grid)


def lay_solid(seed):
    rng = np.random.default_rng(seed)
    model = model_of("solid")
    prior = draw_prior(rng, model.domain)
    prior = None if prior is None else ridge_posterior.unit_prior(model.with_prior(prior))
    box = ridge_grid.build_box(model.tables, n_slices=3, n_inner=3, prior=prior)
    grid = ridge_grid.no_grid(box)
    density = draw_density(rng, model)
    low, high = ridge_grid.find_window(box, density, grid)
    for part in (0.3, 0.6):
        ridge_grid.lay_sheet(box, density, grid, low + part * (high - low), high - low)
    return record_of(grid) | {"window": low + 2.0 * high}


CASES = {f"flat {seed}": (lay_flat, seed) for seed in range(N_CASES)}
CASES |= {f"solid {seed}": (lay_solid, seed) for seed in range(3)}


@pytest.mark.parametrize("name", CASES)
def test_a_grid_is_the_recorded_one(name):
    lay, seed = CASES[name]
    assert lay(seed) == pytest.approx(RECORDED[name], rel=1e-9, abs=1e-5)


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(lay(seed))}" for name, (lay, seed) in CASES.items()]
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
