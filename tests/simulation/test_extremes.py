"""Compiled code stays inside its memory for any input, and impossible values are reported."""

import dataclasses
import math
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling import engine
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Drift, DriftRules, Noise, NoiseRules
from globalbandits.errors import SimulationError
from globalbandits.lab.league import league_policies
from globalbandits.policies import WAGP
from tests.policies.ours import our_policies
from tests.simulation.worlds import pricing, records_of

EXTREMES = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, 0.5, -0.0, 2.0)


class Parameters(NamedTuple):
    values: np.ndarray


def prepare_wild(parameters, arm, mean):
    return mean


def draw_wild(parameters, arm, shape, u):
    return parameters.values[int(u * parameters.values.shape[0])]


@dataclasses.dataclass(frozen=True)
class WildNoise(Noise):
    """Rewards that no noise should draw."""

    values: tuple = EXTREMES
    rules = NoiseRules(prepare_wild, draw_wild)

    def parameters(self, model):
        return Parameters(np.array(self.values))


def move_wild(track, time, theta, u):
    return track.values[int(u * track.values.shape[0])]


@dataclasses.dataclass(frozen=True)
class WildDrift(Drift):
    """A parameter that does not stay in its domain."""

    values: tuple = EXTREMES
    rules = DriftRules(move_wild)

    def track(self, domain, theta):
        return Parameters(np.array(self.values))


def all_policies():
    """One policy of each kind, with the parameters of the league where it plays there."""
    return our_policies() | {policy.kind: policy for policy in league_policies().values()}


def play_extremes(policy, interpreted):
    """Play a world of extremes; return the error message, or "nothing"."""
    env = gb.Environment(pricing().model, 0.4, noise=WildNoise())
    try:
        n_steps = 60 if interpreted else 200
        records_of(env, [policy], n_steps, runs=2, engine=Engine(interpreted=interpreted))
    except SimulationError as error:
        return str(error)
    return "nothing"


def main():
    """Every policy, in plain Python and compiled; for a process that may crash."""
    np.seterr(all="ignore")
    for kind, policy in all_policies().items():
        for interpreted in (True, False):
            try:
                said = play_extremes(policy, interpreted)
            except (SimulationError, Warning) as error:
                said = repr(error)
            if not (said.startswith(("WildNoise must draw", f"{policy.label} must select"))):
                print(kind, interpreted, said)
    print("survived")


def test_extreme_rewards_in_every_policy():
    script = "from tests.simulation.test_extremes import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "survived\n", done.stderr


@pytest.mark.parametrize("interpreted", [True, False])
def test_impossible_rewards_are_reported(interpreted):
    for value, shown in ((math.nan, "nan"), (math.inf, "inf"), (1.1, r"1\.1"), (-0.5, r"-0\.5")):
        env = gb.Environment(pricing().model, 0.4, noise=WildNoise((value,)))
        message = rf"WildNoise must draw rewards in \[0, 1\], got {shown} for arm \d"
        with pytest.raises(SimulationError, match=message):
            records_of(env, [WAGP()], 5, engine=Engine(interpreted=interpreted))


@pytest.mark.parametrize("interpreted", [True, False])
def test_parameters_that_leave_the_domain_are_reported(interpreted):
    for value in EXTREMES[:5]:
        env = gb.Environment(pricing().model, 0.4, drift=WildDrift((value,)))
        message = rf"WildDrift must stay in the domain \[0, 1\], got {value!r} at time \d"
        with pytest.raises(SimulationError, match=message.replace("+", r"\+")):
            records_of(env, [WAGP()], 5, engine=Engine(interpreted=interpreted))


def raise_sometimes(parameters, arm, shape, u):
    if u > 0.9:
        raise ValueError("a draw that fails")
    return 0.5


@dataclasses.dataclass(frozen=True)
class Failing(WildNoise):
    rules = NoiseRules(prepare_wild, raise_sometimes)


@pytest.mark.parametrize("interpreted", [True, False])
def test_an_error_in_a_noise_is_raised(interpreted):
    env = gb.Environment(pricing().model, 0.4, noise=Failing())
    with pytest.raises(ValueError, match="a draw that fails"):
        records_of(env, [WAGP()], 200, engine=Engine(interpreted=interpreted))


def draw_not_compilable(parameters, arm, shape, u):
    return eval("0.5")


@dataclasses.dataclass(frozen=True)
class WordyNoise(WildNoise):
    rules = NoiseRules(prepare_wild, draw_not_compilable)


def test_a_noise_that_cannot_be_compiled(monkeypatch):
    monkeypatch.setattr(engine, "_WARNED", set())
    env = gb.Environment(pricing().model, 0.4, noise=WordyNoise())
    with pytest.warns(RuntimeWarning, match="WordyNoise cannot be compiled and runs in plain"):
        records = records_of(env, [WAGP()], 30)
    assert records.pulls.sum() == 30


LOOK_UPS = """
import math
import numpy as np
import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.evidence.histogram import add, empty, place
from globalbandits.model.tables import (
    choose_in_cell, evaluate, evaluate_segment, find_cell, find_segment, is_inside, largest_value,
    suboptimality_distance, value_of,
)

NUMBERS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, 0.5, 2.0]
NUMBERS += [np.nextafter(0.0, -1.0), np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1e-300]
NUMBERS = np.array(NUMBERS)


def look_up(tables, histogram, rng, numbers, out):
    for i in range(numbers.shape[0]):
        x = numbers[i]
        for arm in range(tables.n_arms):
            at = 0
            for curves in (tables.mean, tables.inverse, tables.worth, tables.value):
                segment = find_segment(curves, arm, x)
                out[i, arm, at] = evaluate(curves, arm, x)
                out[i, arm, at + 1] = segment
                out[i, arm, at + 2] = is_inside(curves, segment, x)
                out[i, arm, at + 3] = evaluate_segment(curves, segment, x)
                at += 4
            out[i, arm, at] = value_of(tables, arm, x)
            for j in range(numbers.shape[0]):
                out[i, arm, at + 1] = largest_value(tables, arm, x, numbers[j])
            cell = find_cell(tables.envelope, x)
            out[i, arm, at + 2] = cell
            out[i, arm, at + 3] = choose_in_cell(tables.envelope, cell, rng)
            out[i, arm, at + 4] = suboptimality_distance(tables, x)
            knot, share = place(x, 8)
            out[i, arm, at + 5] = knot
            out[i, arm, at + 6] = share
            add(histogram, arm, x, 1.0)


models = [
    gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8]),
    gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8],
                   value=lambda mean, arm: -abs(mean - 0.25)),
    gb.RewardModel.from_functions([lambda t: t**2, lambda t: 1 - t**0.5]),
]
for model in models:
    found = []
    for engine in (Engine(interpreted=True), Engine()):
        out = np.zeros((len(NUMBERS), model.n_arms, 32))
        histogram = empty(model.n_arms)
        data = (model.tables, histogram, np.random.default_rng(1), NUMBERS, out)
        with np.errstate(all="ignore"):
            engine.bind(look_up, "look_up", data)()
        assert engine.interpreted or not engine.slow
        assert np.isfinite(histogram.counts).all()
        found.append((out, histogram.counts))
    for plain, compiled in zip(*found):
        # A nan has no sign that anybody relies on.
        assert np.array_equal(np.isnan(plain), np.isnan(compiled))
        assert np.nan_to_num(plain).tobytes() == np.nan_to_num(compiled).tobytes()
print("survived")
"""


def test_extremes_in_every_look_up():
    # With a check of every index: an index out of range is an error even where it hits memory.
    done = subprocess.run(
        [sys.executable, "-c", LOOK_UPS],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
    )
    assert done.stdout == "survived\n", done.stderr
