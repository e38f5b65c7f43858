"""Random arguments of an environment's parts give a working part or our error.

More inputs than here: GLOBALBANDITS_FUZZ=20000 pytest tests/environments/test_fuzz.py
"""

import datetime
import decimal
import fractions
import json
import math
import os
import random

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.environments import Bias, Drift, Noise
from globalbandits.errors import ScenarioError

N_INPUTS = int(os.environ.get("GLOBALBANDITS_FUZZ", "400"))
MODEL = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])


class Odd:
    def __float__(self):
        raise ZeroDivisionError

    def __index__(self):
        raise MemoryError

    def __repr__(self):
        raise RuntimeError("no words")


NUMBERS = [0, -1, 1, 2, 3, 7, 10**18, 2**63, -(2**63), 10**400, -(10**5000), 2**1024]
NUMBERS += [0.0, -0.0, 0.1, 0.4, 0.5, 0.9, 1.0, -0.3, 1e-310, 5e-324, 1e-100, 1e100, 1e308, -1e308]
NUMBERS += [math.nan, math.inf, -math.inf, 1 - 2.0**-53, 3.7, 1e6]
NUMBERS += [np.float32(0.5), np.float64(0.25), np.int64(3), np.uint8(2), np.float16(1e4)]
NUMBERS += [fractions.Fraction(1, 3), decimal.Decimal("0.4"), decimal.Decimal("sNaN")]
NUMBERS += [fractions.Fraction(10**400, 3), decimal.Decimal("1e400")]
STRANGE = ["", "0.5", "reflect", "clip", "x" * 5000, b"ab", bytearray(b"a"), None, True, False, 1j]
STRANGE += [np.True_, np.complex128(1j), np.str_("0.5"), np.datetime64("2020-01-01"), object, Odd()]
STRANGE += [datetime.timedelta(1), print, Ellipsis, NotImplemented, {0.5}, frozenset({2, 3}), {}]
STRANGE += [
    {"kind": "beta"},
    {1: 2},
    range(2, 5),
    memoryview(b"ab"),
    np.array(0.5),
    np.zeros((2, 2)),
]
STRANGE += [np.array(["a", "b"]), np.array([None, 1], object), np.array([]), np.array([0.5, 0.2])]
BUILDERS = {
    gb.RandomWalk: ("drift_time", "up", "boundary"),
    gb.LinearDrift: ("rate", "boundary"),
    gb.SinusoidalDrift: ("amplitude", "period", "boundary"),
    gb.Jumps: ("times", "values"),
    gb.GivenPath: ("values",),
    gb.UniformBias: ("size",),
    gb.FixedBias: ("values",),
    gb.TruncatedNormalNoise: ("sd",),
    gb.SaleNoise: ("amounts",),
}


def any_value(rng, depth=0):
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(NUMBERS)
    if kind < 0.7 or depth > 2:
        return rng.choice(STRANGE)
    if kind < 0.75:
        return rng.choice(["reflect", "clip"])
    length = rng.choice([0, 1, 2, 3, 3, 3, 4])
    values = [
        any_value(rng, depth + 1) if rng.random() < 0.2 else rng.random() for _ in range(length)
    ]
    if kind < 0.85:
        values = sorted(rng.sample(range(1, 9), length))
    return rng.choice([list, tuple, list])(values)


def any_part(rng):
    """A part with random arguments."""
    builder = rng.choice(list(BUILDERS))
    given = {name: any_value(rng) for name in BUILDERS[builder]}
    for name in ("boundary", "up"):  # mostly left out, or nothing would be built
        if name in given and rng.random() < 0.7:
            del given[name]
    if rng.random() < 0.15:
        family = (
            Noise if issubclass(builder, Noise) else Bias if issubclass(builder, Bias) else Drift
        )
        spec = {"kind": builder.kind, **given}
        if rng.random() < 0.3:
            spec[rng.choice(["kind", "size", 5, None])] = any_value(rng)
        if rng.random() < 0.2:
            spec = any_value(rng)
        return family.from_dict(spec)
    return builder(**given)


def use(part, rng):
    """Everything a simulation does with a part."""
    assert repr(part)
    assert hash(part) == hash(part)
    json.dumps(part.to_dict())
    uniforms = [0.0, rng.random(), 1 - 2.0**-53]
    if isinstance(part, Drift):
        gb.Environment(MODEL, 0.4, drift=part)
        track = part.track(MODEL.domain, 0.4)
        for time in (2, 3, 10**6, 2**40):
            for u in uniforms:
                assert 0.0 <= part.rules.move(track, time, rng.random(), u) <= 1.0
    elif isinstance(part, Noise):
        gb.Environment(MODEL, 0.4, noise=part)
        parameters = part.parameters(MODEL)
        for mean in (0.0, rng.random(), 1.0):
            shape = part.rules.prepare(parameters, 1, mean)
            for u in uniforms:
                assert 0.0 <= part.rules.draw(parameters, 1, shape, u) <= 1.0
    else:
        env = gb.Environment(MODEL, 0.4, bias=part)
        means = env.true_means(env.shifts(np.random.default_rng(0)))
        assert ((means >= 0.0) & (means <= 1.0)).all()


def attempt(call, error):
    """The result of a call, or its error message."""
    try:
        return call(), ""
    except error as raised:
        return None, str(raised)


def test_random_parts_work_or_raise_our_error():
    rng = random.Random(11)
    n_built = n_used = 0
    for _ in range(N_INPUTS):
        part, words = attempt(lambda: any_part(rng), ScenarioError)
        if part is not None:
            n_built += 1
            _, words = attempt(lambda part=part: use(part, rng), ScenarioError)
            n_used += words == ""
        assert words == "" or " must " in words
        assert len(words) < 1_000
    assert N_INPUTS * 0.05 < n_used < n_built < N_INPUTS * 0.8


def test_random_environments_work_or_raise_our_error():
    rng = random.Random(12)
    n_built = 0
    for _ in range(N_INPUTS):
        parts = [gb.BetaNoise(), gb.RandomWalk(drift_time=9), gb.UniformBias(0.1), None]
        given = {
            name: any_value(rng) if rng.random() < 0.1 else rng.choice(parts)
            for name in ("noise", "drift", "bias")
        }
        given["theta"] = any_value(rng) if rng.random() < 0.7 else rng.random()
        given["model"] = any_value(rng) if rng.random() < 0.1 else MODEL
        env, words = attempt(lambda given=given: gb.Environment(**given), ScenarioError)
        if env is None:
            assert " must " in words
        else:
            n_built += 1
            json.dumps(env.to_dict())
    assert n_built > 0


@pytest.mark.parametrize("name", ["horizon", "runs", "seed", "checkpoints", "spacing", "first_run"])
def test_random_arguments_of_a_simulation_work_or_raise_our_error(name):
    rng = random.Random(13)
    env = gb.Environment(MODEL, 0.4)
    for _ in range(min(N_INPUTS // 10, 500)):
        value = any_value(rng)
        if isinstance(value, (int, np.integer)) and 100 < value < 2**60:
            continue  # taken as it is, and worked on
        given = {"horizon": 4, "runs": 1, "checkpoints": 2, name: value}
        result, words = attempt(
            lambda given=given: gb.simulate(env, [gb.UCB1()], **given), gb.SimulationError
        )
        assert result is not None or f"{name} must " in words
