"""Every noise has exactly the mean it is asked for, by quadrature and by drawing."""

import math

import numpy as np
import pytest
from scipy import special, stats

from globalbandits.environments import (
    BernoulliNoise,
    BetaNoise,
    NoNoise,
    TruncatedNormalNoise,
)
from globalbandits.environments.truncated_normal import hazard_excess, normal_upper_quantile
from globalbandits.errors import ScenarioError

SMOOTH = {
    "beta": BetaNoise(),
    "none": NoNoise(),
    "normal, narrow": TruncatedNormalNoise(sd=0.01),
    "normal": TruncatedNormalNoise(sd=0.15),
    "normal, wide": TruncatedNormalNoise(sd=1.0),
}
ALL = {**SMOOTH, "bernoulli": BernoulliNoise()}
MEANS = [1e-6, 0.003, 0.1, 0.38, 0.5, 0.62, 0.9, 0.997, 1 - 1e-6]


def sample(noise, mean, uniforms):
    parameters = noise.parameters(1.0)
    shape = noise.rules.prepare(parameters, mean)
    return np.array([noise.rules.draw(parameters, shape, u) for u in uniforms])


def quadrature():
    """Gauss-Legendre on intervals graded towards both ends, where quantiles are steep."""
    steps = np.logspace(-13, -1, 25)
    edges = np.concatenate([[0.0], steps, np.linspace(0.15, 0.85, 11), 1 - steps[::-1], [1.0]])
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    at = (edges[:-1, None] + half + half * nodes).ravel()
    return at, (half * weights).ravel()


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("noise", SMOOTH.values(), ids=SMOOTH)
def test_mean_is_exact(noise, mean):
    at, weights = quadrature()
    # The rule itself is good to 1e-8: it meets u = 1 - 1e-14 where rounding cuts u.
    assert weights @ sample(noise, mean, at) == pytest.approx(mean, abs=1e-8 * min(mean, 1 - mean))


def test_mean_of_bernoulli_is_exact():
    noise = BernoulliNoise()
    parameters = noise.parameters(1.0)
    for mean in MEANS:
        shape = noise.rules.prepare(parameters, mean)
        # 1 just below the mean, 0 from it on.
        assert noise.rules.draw(parameters, shape, math.nextafter(mean, 0.0)) == 1.0
        assert noise.rules.draw(parameters, shape, mean) == 0.0


@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
def test_mean_of_many_draws(noise):
    uniforms = np.random.default_rng(11).random(20_000)
    for mean in (0.05, 0.4, 0.8):
        rewards = sample(noise, mean, uniforms)
        assert rewards.min() >= 0.0
        assert rewards.max() <= 1.0
        error = rewards.std() / math.sqrt(rewards.size)
        assert abs(rewards.mean() - mean) <= 4 * error + 1e-12


@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_ends_of_the_range_are_certain(noise, mean):
    assert sample(noise, mean, [0.0, 0.3, 1 - 2**-53]).tolist() == [mean] * 3


def test_beta_is_the_papers_distribution():
    uniforms = np.random.default_rng(5).random(4_000)
    rewards = sample(BetaNoise(), 0.3, uniforms)
    assert stats.kstest(rewards, stats.beta(1.0, 0.7 / 0.3).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.2), (0.02, 0.15), (0.9, 0.05), (0.45, 3.0)])
def test_truncated_normal_is_its_distribution(mean, sd):
    noise = TruncatedNormalNoise(sd=sd)
    location = noise.rules.prepare(noise.parameters(1.0), mean)
    known = stats.truncnorm(-location / sd, (1 - location) / sd, location, sd)
    assert known.mean() == pytest.approx(mean, abs=1e-9)
    at = np.linspace(0.001, 0.999, 97)
    assert sample(noise, mean, at) == pytest.approx(known.ppf(at), abs=1e-9)


def test_normal_quantile_against_scipy():
    p = np.concatenate([np.logspace(-300, -1, 301), np.linspace(0.001, 0.999, 999)])
    ours = np.array([normal_upper_quantile(value) for value in p])
    assert ours == pytest.approx(-special.ndtri(p), rel=2e-15, abs=2e-16)


def test_hazard_excess_against_scipy():
    for z in (30.0, 100.0, 1e4):
        hazard = 1.0 / (math.sqrt(math.pi / 2) * special.erfcx(z / math.sqrt(2)))
        assert z + hazard_excess(z) == pytest.approx(hazard, rel=1e-15)


def test_sd_is_in_the_units_of_the_rewards():
    assert TruncatedNormalNoise(sd=5.0).parameters(100.0).sd == 0.05


def test_wrong_sd():
    with pytest.raises(ScenarioError, match=r"sd must be positive, got 0"):
        TruncatedNormalNoise(sd=0)
    with pytest.raises(ScenarioError, match=r"sd must be at most 10, ten lengths .*, got 10.5"):
        TruncatedNormalNoise(sd=10.5).parameters(1.0)
