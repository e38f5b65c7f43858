"""Paths of the parameter: where they go, and that they never leave the domain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.environments import (
    Drift,
    GivenPath,
    Jumps,
    LinearDrift,
    RandomWalk,
    SinusoidalDrift,
)
from globalbandits.environments.drift import keep_inside
from globalbandits.errors import ScenarioError


def path(drift, theta, n, domain=(0.0, 1.0), seed=0):
    uniforms = np.random.default_rng(seed).random(n)
    track = drift.track(domain, theta)
    thetas = [theta]
    for time in range(2, n + 1):
        thetas.append(drift.rules.move(track, time, thetas[-1], uniforms[time - 1]))
    return np.array(thetas)


def test_walk_steps_up_with_the_given_probability():
    n = 10_000
    thetas = path(RandomWalk(drift_time=1e6, up=0.6), 0.5, n)
    steps = np.diff(thetas)
    assert np.abs(steps) == pytest.approx(1e-6, rel=1e-6)
    error = math.sqrt(0.24 / n)
    assert abs((steps > 0).mean() - 0.6) <= 4 * error


def test_walk_is_reflected():
    thetas = path(RandomWalk(drift_time=3, up=0.999), 0.9, 4)
    assert thetas[:3] == pytest.approx([0.9, 2 - 0.9 - 1 / 3, 0.9])


def test_walk_is_clipped():
    thetas = path(RandomWalk(drift_time=3, up=0.999, boundary="clip"), 0.9, 4)
    assert thetas.tolist() == [0.9, 1.0, 1.0, 1.0]


def test_line():
    assert path(LinearDrift(rate=-0.25), 0.5, 6) == pytest.approx([0.5, 0.25, 0, 0.25, 0.5, 0.75])
    clipped = path(LinearDrift(rate=-0.25, boundary="clip"), 0.5, 5)
    assert clipped == pytest.approx([0.5, 0.25, 0, 0, 0])


def test_wave():
    thetas = path(SinusoidalDrift(amplitude=0.4, period=40), 0.5, 81)
    assert thetas == pytest.approx(0.5 + 0.4 * np.sin(2 * np.pi * np.arange(81) / 40))


def test_jumps():
    thetas = path(Jumps(times=[3, 5], values=[0.9, 0.1]), 0.4, 6)
    assert thetas.tolist() == [0.4, 0.4, 0.9, 0.9, 0.1, 0.1]


def test_given_path():
    values = [0.5, 0.1, 0.7]
    assert path(GivenPath(values=values), 0.5, 3).tolist() == values


@given(
    theta=st.floats(-1e6, 1e6),
    low=st.floats(-100, 100),
    length=st.floats(1e-3, 100),
    reflect=st.booleans(),
)
def test_nothing_leaves_the_domain(theta, low, length, reflect):
    high = low + length
    kept = keep_inside(theta, low, high, reflect)
    assert low <= kept <= high
    if low <= theta <= high:
        assert kept == theta


def test_a_reflected_point_is_as_far_inside_as_it_was_outside():
    assert keep_inside(1.3, 0.0, 1.0, True) == pytest.approx(0.7)
    assert keep_inside(-0.2, 0.0, 1.0, True) == pytest.approx(0.2)
    assert keep_inside(2.3, 0.0, 1.0, True) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomWalk(drift_time=0), "drift_time must be positive, got 0"),
        (lambda: RandomWalk(drift_time=9, up=1), "up must lie strictly between 0 and 1, got 1"),
        (
            lambda: RandomWalk(drift_time=9, boundary="wrap"),
            "boundary must be 'reflect' or 'clip', got 'wrap'",
        ),
        (lambda: LinearDrift(rate=math.nan), "rate must be finite, got nan"),
        (lambda: SinusoidalDrift(amplitude=1, period=-2), "period must be positive, got -2"),
        (lambda: Jumps(times=[5, 5], values=[0, 1]), r"times must increase, got \(5, 5\)"),
        (lambda: Jumps(times=[1], values=[0]), "times must be at least 2, got 1"),
        (
            lambda: Jumps(times=[5], values=[0, 1]),
            r"values must be 1, one a time, got \(0.0, 1.0\)",
        ),
        (lambda: GivenPath(values=[]), r"values must be at least one, got \(\)"),
        (
            lambda: GivenPath(values=[0.5, 1.5]).track((0.0, 1.0), 0.5),
            r"values must lie in the domain \[0, 1\], got 1.5",
        ),
        (
            lambda: GivenPath(values=[0.5]).track((0.0, 1.0), 0.4),
            "values must start with the environment's theta 0.4, got 0.5",
        ),
        (
            lambda: Jumps(times=[9], values=[-1]).track((0.0, 1.0), 0.4),
            r"values must lie in the domain \[0, 1\], got -1.0",
        ),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()


def test_specs_from_dicts():
    for drift in (
        RandomWalk(drift_time=100, up=0.6, boundary="clip"),
        LinearDrift(rate=0.1),
        SinusoidalDrift(amplitude=0.1, period=10),
        Jumps(times=[4], values=[0.2]),
        GivenPath(values=[0.1]),
    ):
        assert Drift.from_dict(drift.to_dict()) == drift
