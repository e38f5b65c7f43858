"""Extreme floats: typed errors when a part is made, and no crash later."""

import math
import subprocess
import sys

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments import Bias, Drift, Noise
from globalbandits.environments.drift import keep_inside
from globalbandits.errors import ScenarioError

MODEL = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
HUGE = 10**400


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: gb.RandomWalk(drift_time=1e-310),
            "drift_time must be at least 1e-100, got 1e-310",
        ),
        (
            lambda: gb.SinusoidalDrift(amplitude=0.1, period=1e-310),
            "period must be at least 1e-100, got 1e-310",
        ),
        (
            lambda: gb.LinearDrift(rate=1e308),
            r"rate must lie between -1e\+100 and 1e\+100, got 1e\+308",
        ),
        (
            lambda: gb.LinearDrift(rate=-1e308),
            r"rate must lie between -1e\+100 and 1e\+100, got -1e\+308",
        ),
        (
            lambda: gb.SinusoidalDrift(amplitude=1e308, period=9),
            r"amplitude must lie between -1e\+100 and 1e\+100, got 1e\+308",
        ),
        (lambda: gb.UniformBias(1e308), r"size must lie between -1e\+100 and 1e\+100, got 1e\+308"),
        (lambda: gb.RandomWalk(drift_time=HUGE), "drift_time must be finite, got 1000"),
        (lambda: gb.RandomWalk(drift_time=9, up=HUGE), "up must be finite, got 1000"),
        (lambda: gb.LinearDrift(rate=-HUGE), "rate must be finite, got -1000"),
        (
            lambda: gb.SinusoidalDrift(amplitude=HUGE, period=1),
            "amplitude must be finite, got 1000",
        ),
        (lambda: gb.SinusoidalDrift(amplitude=1, period=HUGE), "period must be finite, got 1000"),
        (lambda: gb.Jumps(times=[HUGE], values=[0.1]), f"times must be at most {2**63 - 1}, got 1"),
        (lambda: gb.Jumps(times=[5], values=[HUGE]), "values must be finite, got 1000"),
        (lambda: gb.GivenPath(values=[HUGE]), "values must be finite, got 1000"),
        (lambda: gb.UniformBias(HUGE), "size must be finite, got 1000"),
        (lambda: gb.FixedBias([HUGE]), "values must be finite, got 1000"),
        (lambda: gb.TruncatedNormalNoise(sd=HUGE), "sd must be finite, got 1000"),
        (lambda: gb.SaleNoise(amounts=[HUGE]), "amounts must be finite, got 1000"),
        (lambda: gb.Environment(MODEL, HUGE), "theta must be finite, got 1000"),
        (lambda: gb.Environment(MODEL, math.inf), "theta must be finite, got inf"),
    ],
)
def test_a_number_too_large_is_named(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gb.FixedBias(0.1), "values must be a list of numbers, got 0.1"),
        (lambda: gb.FixedBias({0.1, 0.2}), r"values must be a list of numbers, got \{0"),
        (lambda: gb.FixedBias(b"ab"), "values must be a list of numbers, got b'ab'"),
        (lambda: gb.FixedBias([1j]), "values must be a number, got 1j"),
        (lambda: gb.GivenPath(values={0.1: 1}), "values must be a list of numbers, got {0.1: 1}"),
        (lambda: gb.GivenPath(values=np.array(0.1)), "values must be a list of numbers, got array"),
        (lambda: gb.Jumps(times=5, values=[0.1]), "times must be a list of time steps, got 5"),
        (lambda: gb.Jumps(times={5}, values=[0.1]), "times must be a list of time steps, got .5.$"),
        (
            lambda: gb.LinearDrift(rate=0.1, boundary=["clip"]),
            r"boundary must be 'reflect' or 'clip', got \['clip'\]",
        ),
        (
            lambda: gb.LinearDrift(rate=0.1, boundary=np.array(["clip", "clip"])),
            "boundary must be 'reflect' or 'clip', got array",
        ),
        (
            lambda: Noise.from_dict(5),
            "a noise spec must be a dict with the key 'kind', or a name, got 5",
        ),
        (lambda: Noise.from_dict({"kind": ["beta"]}), r"noise must be one of .*, got \['beta'\]"),
        (
            lambda: Bias.from_dict({"kind": "uniform"}),
            "a bias spec must have the parameter 'size' of uniform, got {}",
        ),
        (
            lambda: Drift.from_dict({"kind": "linear", 5: 1}),
            "parameter of linear must be one of boundary, rate, got 5",
        ),
    ],
)
def test_what_is_no_number_or_no_list_is_named(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()


@pytest.mark.parametrize("reflect", [True, False])
def test_a_domain_keeps_everything_but_nan(reflect):
    for low, high in [(0.0, 1.0), (-1e308, 5e307), (5e-324, 1e-300), (-8e307, 8e307)]:
        for theta in [-math.inf, -1.7e308, -1.0, 0.0, 5e-324, 1e100, 1.7e308, math.inf]:
            assert low <= keep_inside(theta, low, high, reflect) <= high
        assert math.isnan(keep_inside(math.nan, low, high, reflect))


@pytest.mark.parametrize(
    "drift",
    [
        gb.RandomWalk(drift_time=1e-100),
        gb.LinearDrift(rate=1e100),
        gb.LinearDrift(rate=-1e100, boundary="clip"),
        gb.SinusoidalDrift(amplitude=-1e100, period=1e-100),
    ],
    ids=repr,
)
def test_extreme_drifts_stay_in_the_domain(drift):
    track = drift.track((0.0, 1.0), 0.5)
    theta = 0.5
    for time in [2, 3, 10**6, 2**40]:
        for u in (0.0, 1 - 2.0**-53):
            theta = drift.rules.move(track, time, theta, u)
            assert 0.0 <= theta <= 1.0


def test_a_path_is_not_read_beyond_its_end():
    path = gb.GivenPath(values=[0.5, 0.25])
    assert path.rules.move(path.track((0.0, 1.0), 0.5), 2**40, 0.5, 0.0) == 0.25


SCRIPT = """
import math
import numpy as np
import globalbandits as gb
from globalbandits.compiling.engine import Engine

NUMBERS = [0.0, 5e-324, 1e-310, 1e-155, 1e-20, 0.3, 0.5, 1 - 2.0**-53, 1.0, 2.0, 1e308]
NUMBERS = np.array(NUMBERS + [-x for x in NUMBERS] + [math.inf, -math.inf, math.nan])
UNIFORMS = np.array([0.0, 2.0**-53, 0.1, 0.5, 0.9, 1 - 2.0**-53])
model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])


def noise_loop(prepare, draw):
    def loop(parameters, numbers, uniforms, out):
        for i in range(numbers.shape[0]):
            for j in range(uniforms.shape[0]):
                shape = prepare(parameters, 1, float(numbers[i]))
                out[i, j] = draw(parameters, 1, shape, float(uniforms[j]))
    return loop


def drift_loop(move):
    def loop(track, numbers, uniforms, out):
        for i in range(numbers.shape[0]):
            for j in range(uniforms.shape[0]):
                out[i, j] = move(track, 2 + 10**j, float(numbers[i]), float(uniforms[j]))
    return loop


def both(loop, data):
    results = []
    for engine in (Engine(interpreted=True), Engine()):
        out = np.full((len(NUMBERS), len(UNIFORMS)), 7.0)
        engine.bind(loop, "loop", (data, NUMBERS, UNIFORMS, out))()
        assert not engine.slow or engine.interpreted
        results.append(out)
    plain, compiled = results
    known = ~np.isnan(plain)
    assert (known == ~np.isnan(compiled)).all(), (data, plain, compiled)
    assert plain[known].tobytes() == compiled[known].tobytes(), (data, plain, compiled)
    assert ((plain[known] >= 0.0) & (plain[known] <= 1.0)).all(), (data, plain)
    return plain


noises = [gb.BetaNoise(), gb.MirroredBetaNoise(), gb.ArcsineBetaNoise(), gb.BernoulliNoise()]
noises += [gb.TruncatedNormalNoise(sd=sd) for sd in (1e-300, 0.1, 10.0)]
for noise in [*noises, gb.SaleNoise()]:
    out = both(noise_loop(*noise.rules), noise.parameters(model))
    inside = (NUMBERS >= 0.0) & (NUMBERS <= 1.0)
    assert not np.isnan(out[inside]).any(), noise
drifts = [
    gb.RandomWalk(drift_time=1e-100), gb.RandomWalk(drift_time=9, boundary="clip"),
    gb.LinearDrift(rate=1e100), gb.SinusoidalDrift(amplitude=1e100, period=1e-100),
    gb.Jumps(times=[12, 10**5], values=[0.1, 0.2]), gb.GivenPath(values=[0.5, 0.2]),
]
for drift in drifts:
    if isinstance(drift, gb.Jumps):  # which leaves theta alone between its times
        NUMBERS = np.array([0.0, 0.5, 1.0, math.nan])
    both(drift_loop(drift.rules.move), drift.track((0.0, 1.0), 0.5))
print("survived")
"""


def test_compiled_noises_and_drifts_agree_with_plain_python_on_extreme_input():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout == "survived\n", done.stderr
