"""Every noise has exactly the given mean, by quadrature and by drawing."""

import math

import numpy as np
import pytest
from scipy import special, stats

from globalbandits.environments import (
    ArcsineBetaNoise,
    BernoulliNoise,
    BetaNoise,
    MirroredBetaNoise,
    NoNoise,
    ScaledCoinNoise,
    TruncatedNormalNoise,
)
from globalbandits.environments.noises.truncated_normal import hazard_excess, normal_upper_quantile
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

UNIT = RewardModel.from_functions([lambda theta: theta])
SMOOTH = {
    "beta": BetaNoise(),
    "mirrored beta": MirroredBetaNoise(),
    "arcsine beta": ArcsineBetaNoise(),
    "none": NoNoise(),
    "normal, narrow": TruncatedNormalNoise(sd=0.01),
    "normal": TruncatedNormalNoise(sd=0.15),
    "normal, wide": TruncatedNormalNoise(sd=1.0),
}
ALL = {**SMOOTH, "bernoulli": BernoulliNoise(), "scaled coin": ScaledCoinNoise(0.3)}
MEANS = [1e-6, 0.003, 0.1, 0.38, 0.5, 0.62, 0.9, 0.997, 1 - 1e-6]


def sample(noise, mean, uniforms):
    parameters = noise.parameters(UNIT)
    shape = noise.rules.prepare(parameters, 0, mean)
    return np.array([noise.rules.draw(parameters, 0, shape, u) for u in uniforms])


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
    parameters = noise.parameters(UNIT)
    for mean in MEANS:
        shape = noise.rules.prepare(parameters, 0, mean)
        # 1 just below the mean, 0 from it on.
        assert noise.rules.draw(parameters, 0, shape, math.nextafter(mean, 0.0)) == 1.0
        assert noise.rules.draw(parameters, 0, shape, mean) == 0.0


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
    location = noise.rules.prepare(noise.parameters(UNIT), 0, mean)
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
    hundred = RewardModel.from_functions([lambda t: 100 * t], reward_range=(0, 100))
    assert TruncatedNormalNoise(sd=5.0).parameters(hundred).sd == 0.05


def test_wrong_sd():
    with pytest.raises(ScenarioError, match=r"sd must be positive, got 0"):
        TruncatedNormalNoise(sd=0)
    with pytest.raises(ScenarioError, match=r"sd must be at most 10, ten lengths .*, got 10.5"):
        TruncatedNormalNoise(sd=10.5).parameters(UNIT)
    with pytest.raises(ScenarioError, match=r"sd must be at least 1e-300 \(NoNoise .*got 1e-310"):
        TruncatedNormalNoise(sd=1e-310).parameters(UNIT)


@pytest.mark.parametrize("sd", [1e-300, 1e-100, 1e-9, 1e-4, 10.0])
def test_truncated_normal_of_any_width(sd):
    at, weights = quadrature()
    for mean in (1e-200, 1e-140, 1e-20, 1e-5, 0.3, 0.5, 0.8, 1 - 1e-10):
        rewards = sample(TruncatedNormalNoise(sd=sd), mean, [*at, 0.0, 1 - 2.0**-53])
        assert ((rewards >= 0.0) & (rewards <= 1.0)).all()
        exact = 0.0 if mean < 1e-150 else mean
        assert weights @ rewards[:-2] == pytest.approx(exact, rel=1e-7, abs=1e-15)


@pytest.mark.parametrize("mean", [1e-6, 1e-3, 0.1, 0.38, 0.5, 0.9, 0.997, 1 - 1e-6])
def test_arcsine_against_scipy(mean):
    at = np.concatenate([np.random.default_rng(8).random(60), [1e-12, 0.5, 1 - 1e-9, 1 - 2.0**-53]])
    known = special.betaincinv(mean, 1 - mean, at)
    assert sample(ArcsineBetaNoise(), mean, at) == pytest.approx(known, abs=1e-9)


def test_arcsine_is_an_arcsine_at_one_half():
    at = np.linspace(0.0, 1 - 2.0**-53, 101)
    exact = np.sin(np.pi * at / 2) ** 2
    assert sample(ArcsineBetaNoise(), 0.5, at) == pytest.approx(exact, abs=1e-15, rel=1e-13)


def test_arcsine_with_a_mean_close_to_the_lower_end():
    # P(1 - reward <= y) = -mean log(1 - y), to first order in a small mean.
    tail = 2.0**-53
    reward = sample(ArcsineBetaNoise(), 1e-12, [1 - tail])[0]
    assert reward == pytest.approx(math.exp(-tail / 1e-12), rel=1e-12)


def test_mirrored_beta_is_the_mirror_image():
    at = np.linspace(0.001, 0.999, 97)
    for mean in (0.1, 0.38, 0.9):
        mirrored = sample(MirroredBetaNoise(), mean, at)
        assert mirrored == pytest.approx(1 - sample(BetaNoise(), 1 - mean, at), abs=1e-15)
        known = stats.beta(mean / (1 - mean), 1.0).ppf(at)
        assert mirrored == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("mean", MEANS)
def test_scaled_bernoulli_noise_has_the_given_share_of_the_variance(mean):
    noise = ScaledCoinNoise(0.3)
    parameters = noise.parameters(UNIT)
    high, low = (noise.rules.draw(parameters, 0, mean, u) for u in (0.0, mean))
    assert mean * high + (1 - mean) * low == pytest.approx(mean, rel=1e-12)
    variance = mean * (high - mean) ** 2 + (1 - mean) * (low - mean) ** 2
    assert variance == pytest.approx(0.3 * mean * (1 - mean), rel=1e-9)


def test_scaled_bernoulli_noise_has_a_share_per_arm():
    model = RewardModel.from_functions([lambda theta: theta, lambda theta: 1 - theta])
    noise = ScaledCoinNoise([0.0, 1.0])
    parameters = noise.parameters(model)
    assert [noise.rules.draw(parameters, arm, 0.4, 0.1) for arm in (0, 1)] == [0.4, 1.0]


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (1.5, "share must lie in [0, 1], got 1.5"),
        ([0.1, -0.1], "share must lie in [0, 1], got -0.1"),
        ([0.1, 0.2, 0.3], "share must be one number, or 1, one per arm, got (0.1, 0.2, 0.3)"),
        ("a", "share must be a number, got 'a'"),
    ],
)
def test_wrong_shares_are_refused(share, message):
    with pytest.raises(ScenarioError) as error:
        ScaledCoinNoise(share).parameters(UNIT)
    assert message in str(error.value)
